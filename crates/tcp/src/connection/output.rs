//! A segment leaves.

use daybreak_units::Instant;

use super::{Connection, Mode, State};
use crate::sender::Outgoing;
use crate::{Ecn, Flags, Header, Segment, SynOptions};

/// IPv4 header without options.
const IP_HEADER: u32 = 20;

impl Connection {
    /// Writes the next segment into `self.out`; false when there is none.
    #[inline(always)]
    pub(super) fn output(&mut self) -> bool {
        if self.sender.has_ready() {
            self.write_ready();
            return true;
        }
        match self.mode {
            Mode::Quiet => self.output_ack() || self.wait(Instant::NEVER),
            Mode::Open => self.output_open(),
            Mode::Unusual => self.output_unusual(),
        }
    }

    /// All that a sender without data may have to send.
    #[inline(always)]
    fn output_ack(&mut self) -> bool {
        if self.receiver.ack_pending() {
            self.write_ack();
            return true;
        }
        false
    }

    /// Nothing is to be sent until the sender's deadline, or the receiver's.
    #[inline(always)]
    fn wait(&mut self, sender: Instant) -> bool {
        self.deadline = sender.min(self.receiver.poll_timeout());
        false
    }

    #[inline(never)]
    fn output_open(&mut self) -> bool {
        if self.sender.is_quiet() {
            self.mode = Mode::Quiet;
            return self.output_ack() || self.wait(Instant::NEVER);
        }
        if !self.ack_fields_cached {
            self.sender.reserve_options(self.receiver.sack_option_len());
        }
        if let Some(outgoing) = self.sender.next_outgoing() {
            self.write_data(outgoing);
            return true;
        }
        self.output_ack() || self.wait(self.sender.deadline())
    }

    /// The handshake, its last step, and a closed connection.
    #[cold]
    fn output_unusual(&mut self) -> bool {
        if self.receiver.earlier_ack_pending() {
            self.write_earlier_ack();
            return true;
        }
        if self.third_due {
            self.third_due = false;
            self.mode = Mode::Open;
            self.write_ack();
            return true;
        }
        if let Some(reply) = self.reply.take() {
            self.out = *reply;
            self.ack_fields_cached = false;
            self.measure();
            self.count_host_queue();
            return true;
        }
        if self.state == State::Closed {
            self.deadline = Instant::NEVER;
            return false;
        }
        if self.state == State::TimeWait {
            return self.output_ack() || self.wait(Instant::NEVER);
        }
        if self.sender.is_synchronised() {
            self.mode = Mode::Open;
            return self.output_open();
        }
        if self.handshake.is_due && matches!(self.state, State::SynSent | State::SynReceived) {
            self.out = self.send_syn();
            self.measure();
            self.count_host_queue();
            return true;
        }
        self.wait(self.sender.deadline())
    }

    #[inline]
    fn write_data(&mut self, outgoing: Outgoing) {
        self.write_common(outgoing.seq);
        let out = &mut self.out;
        out.len = outgoing.len;
        if outgoing.push {
            out.flags = out.flags.with(Flags::PSH);
        }
        let (ecn, cwr) = self.sender.take_ecn(outgoing.is_new && outgoing.len > 0);
        out.ecn = ecn;
        if cwr {
            out.flags = out.flags.with(Flags::CWR);
        }
        self.receiver.on_data_sent(self.sender.clock().now);
        if outgoing.fin {
            self.out.flags = self.out.flags.with(Flags::FIN);
            self.step_closing(false, false);
        }
        self.measure();
        self.count_host_queue();
    }

    /// The next full segment of a burst.
    #[inline(never)]
    fn write_ready(&mut self) {
        if self.sender.begins_burst() {
            self.begin_ready();
        } else if self.ack_fields_cached {
            self.out.flags = Flags(self.out.flags.0 & (Flags::ACK.0 | Flags::ECE.0));
        } else {
            self.write_new_acknowledgement();
            self.measure();
        }
        let (seq, push) = self.sender.push_ready();
        self.out.seq = seq;
        if push {
            self.out.flags = self.out.flags.with(Flags::PSH);
        }
        self.count_host_queue();
    }

    #[inline]
    fn begin_ready(&mut self) {
        self.write_common(0);
        self.out.len = self.sender.mss();
        if self.sender.ecn().active {
            self.out.ecn = Ecn::Ect0;
        }
        self.receiver.on_data_sent(self.sender.clock().now);
        self.measure();
    }

    #[inline(never)]
    fn write_ack(&mut self) {
        if !self.repeats_acknowledgement(self.sender.snd_nxt()) {
            self.write_acknowledgement();
        }
        self.sender.note_departure();
        self.measure();
        self.count_host_queue();
    }

    /// An ACK with the state before the last segment.
    #[cold]
    fn write_earlier_ack(&mut self) {
        let ts_val = if self.timestamps { self.sender.clock().timestamp } else { 0 };
        self.out = Segment::from(Header {
            seq: self.sender.snd_nxt(),
            ecn: self.sender.ecn().control,
            ts_val,
            ..Header::default()
        });
        self.receiver.fill_earlier_ack(&mut self.out);
        self.ack_fields_cached = false;
        self.measure();
        self.count_host_queue();
    }

    /// Sequence number, timestamp and acknowledgement; no payload.
    #[inline(always)]
    fn write_common(&mut self, seq: u64) {
        if !self.repeats_acknowledgement(seq) {
            self.write_new_acknowledgement();
        }
    }

    /// Sequence number and timestamp; the acknowledgement as well, if it is that of the last segment. False otherwise.
    #[inline(always)]
    fn repeats_acknowledgement(&mut self, seq: u64) -> bool {
        let out = &mut self.out;
        out.seq = seq;
        out.len = 0;
        out.ecn = self.sender.ecn().control;
        out.ts_val = if self.timestamps { self.sender.clock().timestamp } else { 0 };
        if self.ack_fields_cached && !self.receiver.ack_pending() {
            // No data has come since the last segment: only the timestamp to echo may be newer.
            out.flags = Flags(out.flags.0 & (Flags::ACK.0 | Flags::ECE.0));
            out.ts_ecr = if self.timestamps { self.receiver.ts_recent() } else { 0 };
            return true;
        }
        out.syn = SynOptions::default();
        false
    }

    /// [`Connection::write_acknowledgement`] out of line: a sender whose peer sends nothing seldom needs it.
    #[inline(never)]
    fn write_new_acknowledgement(&mut self) {
        self.write_acknowledgement();
    }

    /// The receiver's ACK, without anything else.
    #[inline(always)]
    fn write_acknowledgement(&mut self) {
        self.out.flags = Flags::default();
        self.out.sack_count = 0;
        let repeats = self.receiver.fill_ack(&mut self.out);
        self.ack_fields_cached = repeats;
        if self.ack_fields_cached {
            // No blocks take room from the segments that follow.
            self.sender.reserve_options(0);
        }
    }

    /// The length of what is in `out`.
    #[inline]
    fn measure(&mut self) {
        self.out_bytes = IP_HEADER + self.out.header_len() + self.out.len;
    }

    #[inline]
    fn count_host_queue(&mut self) {
        self.sender.on_nic_queued(self.out_bytes);
    }
}
