//! A segment arrives (RFC 9293, section 3.10.7).

use super::{Connection, Mode, State, timing};
use crate::receiver::SenderProgress;
use crate::{Flags, Header, Segment};

/// A page of memory in Linux.
const PAGE: u64 = 4_096;

impl Connection {
    #[inline(always)]
    pub(super) fn input(&mut self, segment: &Segment) {
        let is_usual = segment.flags.0 & (Flags::SYN.0 | Flags::RST.0 | Flags::FIN.0) == 0;
        if self.is_predicted_data(segment) {
            return self.input_predicted(segment);
        }
        let was_established = self.state == State::Established;
        if was_established && self.sender.is_plain(segment) && self.receiver.accepts_next(segment) {
            // The sender is not quiet, since something is out, and has not sent its FIN.
            self.receiver.note_echo(segment);
            return self.sender.on_plain_ack(segment);
        }
        let is_open = was_established || self.sender.is_synchronised();
        if (is_open && is_usual) || self.input_unusual(segment) {
            self.input_synchronised(segment, was_established);
        }
    }

    /// Its acknowledgement repeats the one before it.
    #[inline(always)]
    fn input_predicted(&mut self, segment: &Segment) {
        self.ack_fields_cached = false;
        let sender = &self.sender;
        self.delivered += self.receiver.on_predicted(sender.clock().now, segment, || timing(sender));
        if self.receiver.earlier_ack_pending() {
            // It goes before all else.
            self.mode = Mode::Unusual;
        }
    }

    /// The connection is over: whatever comes now is no connection's.
    pub(super) fn end(&mut self) {
        self.mode = Mode::Unusual;
        self.sender.desynchronise();
    }

    /// `was_established` is false for what completes the handshake, and once one side has closed.
    #[inline(always)]
    fn input_synchronised(&mut self, segment: &Segment, was_established: bool) {
        let now = self.sender.clock().now;
        let sender = &self.sender;
        let progress = || SenderProgress { una: sender.snd_una(), window: sender.snd_wnd(), rto: sender.rto() };
        if !segment.flags.contains(Flags::ACK) {
            // RFC 9293, section 3.10.7.4: if the ACK bit is off, drop the segment.
            return;
        }
        let is_too_old = self.sender.is_too_old(segment.ack, self.is_opener);
        if segment.ack > sender.snd_nxt() || is_too_old {
            // It acknowledges what was never sent, or so little that it may be a guess (RFC 5961, section 5.2): nothing of
            // it counts, but that it may lie outside the window. Linux 6.1 answers the former only when one side has closed,
            // and Linux 7.3 always.
            if !self.receiver.check(now, segment, &progress()) {
                self.ack_fields_cached = false;
            } else if is_too_old || self.state != State::Established || self.profile.answers_unsent {
                self.challenge();
            }
            return;
        }
        if !self.receiver.accept(now, segment, progress) {
            self.ack_fields_cached = false;
            return;
        }
        if segment.sack_count == 0 && (self.mode == Mode::Quiet || self.sender.is_quiet()) {
            self.sender.on_quiet_ack(segment);
        } else {
            let is_next = was_established && self.receiver.is_predicted_next(segment);
            self.sender.on_ack(segment, is_next && (segment.len == 0 || self.has_memory_for(segment)));
        }
        if was_established && !self.has_closed_first() {
            // Linux 6.1 measures by no other segment: see the dialogues `handshake_not_measured` and `fin_wait_not_measured`.
            self.receiver.measure_rtt(now, segment);
        }
        let fin = segment.flags.contains(Flags::FIN);
        if (segment.len > 0 || fin) && !self.is_beyond_the_fin(segment) {
            self.ack_fields_cached = false;
            if self.has_closed_first() {
                self.receiver.answer_fin();
            }
            let sender = &self.sender;
            let received = self.receiver.on_data(now, segment, || timing(sender));
            self.delivered += received.delivered;
            if self.receiver.earlier_ack_pending() {
                // It goes before all else.
                self.mode = Mode::Unusual;
            }
            if received.fin {
                self.step_closing(false, true);
            }
        }
        if self.sender.fin_sent() {
            self.step_closing(self.sender.fin_acked(), false);
        }
    }

    /// The application has closed, and the peer has not. In Linux 6.1 the connection is in FIN-WAIT-1 already when the FIN
    /// waits behind data.
    fn has_closed_first(&self) -> bool {
        match self.state {
            State::Established => self.sender.has_closed(),
            State::FinWait1 | State::FinWait2 => true,
            _ => false,
        }
    }

    /// Data when the peer has sent its FIN: Linux 6.1 passes over what is behind it, and resets the connection for what
    /// begins before it and goes beyond (RFC 9293, section 3.10.7.4: this should not occur).
    #[inline]
    fn is_beyond_the_fin(&mut self, segment: &Segment) -> bool {
        if !matches!(self.state, State::CloseWait | State::Closing | State::LastAck) {
            return false;
        }
        let next = self.receiver.rcv_nxt();
        if segment.seq < next && segment.seq + u64::from(segment.len) > next {
            self.answer_with_reset(segment);
            self.reset();
            return true;
        }
        segment.seq >= next
    }

    /// The next data in order that carries nothing else: Linux 6.1 does not look at its acknowledgement (header prediction),
    /// or that changes nothing.
    #[inline(always)]
    fn is_predicted_data(&self, segment: &Segment) -> bool {
        segment.len > 0
            && segment.flags.0 & !Flags::PSH.0 == Flags::ACK.0
            && self.state == State::Established
            && self.sender.says_nothing_new(segment)
            && self.receiver.is_predicted(segment)
            && (self.mode == Mode::Quiet || self.has_memory_for(segment))
    }

    /// Header prediction takes data only where its buffer fits into what is left of the pages that the socket has set
    /// aside: in Linux 6.1 it has as many as what it holds needs, that is what is sent and not acknowledged, and what lies
    /// in the receive buffer.
    #[inline(never)]
    fn has_memory_for(&self, segment: &Segment) -> bool {
        let held = self.sender.memory() + self.receiver.memory();
        !self.sender.has_closed() && self.receiver.cost_of(segment.len) <= held.next_multiple_of(PAGE) - held
    }

    /// Segments of the handshake, FINs and resets. True when the segment is then taken like any other.
    #[cold]
    fn input_unusual(&mut self, segment: &Segment) -> bool {
        self.outlive_time_wait();
        let is_reset = segment.flags.contains(Flags::RST);
        match self.state {
            State::Closed => self.answer_with_reset(segment),
            State::Listen if is_reset => {}
            State::Listen if segment.flags.contains(Flags::ACK) => self.answer_with_reset(segment),
            State::Listen => self.on_syn(segment),
            State::SynSent => self.input_syn_sent(segment),
            State::SynReceived => return self.input_syn_received(segment),
            State::TimeWait => self.input_time_wait(segment),
            _ if is_reset => self.input_reset(segment),
            _ if segment.flags.contains(Flags::SYN) => self.challenge(),
            _ => return true,
        }
        false
    }

    /// RFC 9293, section 3.10.7.3.
    fn input_syn_sent(&mut self, segment: &Segment) {
        if !segment.flags.contains(Flags::ACK) {
            return;
        }
        if segment.ack != 1 {
            // The peer may remember an older connection. Linux 6.1 does not wait long before it tries again.
            self.retry_syn();
            self.answer_with_reset(segment);
        } else if segment.flags.contains(Flags::RST) {
            self.reset();
        } else {
            self.on_syn_ack(segment);
        }
    }

    /// RFC 5961, section 3.2: only a reset at the very number that is expected next counts at once. Linux 6.1 takes one
    /// behind everything that it has reported by SACK, and one at the number of the peer's FIN, as well.
    fn input_reset(&mut self, segment: &Segment) {
        let closing = matches!(self.state, State::CloseWait | State::Closing | State::LastAck);
        let next = self.receiver.rcv_nxt();
        let is_next = segment.seq == next || (closing && segment.seq + 1 == next);
        if is_next || self.receiver.last_sacked() == Some(segment.seq) {
            self.reset();
        } else if self.receiver.is_in_window(segment) {
            self.challenge();
        }
    }

    /// A challenge ACK, but not two in half a second (RFC 5961, section 7).
    fn challenge(&mut self) {
        if self.receiver.may_challenge(self.sender.clock().now) {
            self.ack_fields_cached = false;
            self.receiver.request_ack();
        }
    }

    /// No connection is there for this segment (RFC 9293, section 3.10.7.1).
    pub(super) fn answer_with_reset(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        let reply = if segment.flags.contains(Flags::ACK) {
            Segment::from(Header { seq: segment.ack, flags: Flags::RST, ..Header::default() })
        } else {
            let ack = segment.seq + segment.sequence_len();
            Segment::from(Header { ack, flags: Flags::RST.with(Flags::ACK), ..Header::default() })
        };
        self.reply = Some(Box::new(reply));
    }

    /// The peer gave up.
    fn reset(&mut self) {
        self.state = State::Closed;
        self.sender.reset();
        self.end();
    }
}
