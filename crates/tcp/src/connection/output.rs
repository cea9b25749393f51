//! A segment leaves.

use daybreak_units::Instant;

use super::{Connection, State};
use crate::sender::Outgoing;
use crate::{Ecn, Flags, Segment};

impl Connection {
    #[inline]
    pub(super) fn output(&mut self) -> Option<Segment> {
        let segment = if self.sender.is_synchronised && self.state != State::Closed {
            self.output_synchronised()
        } else {
            self.output_handshake()
        };
        match &segment {
            Some(segment) if self.sender.counts_host_queue() => {
                self.sender.on_nic_queued(20 + segment.header_len() + segment.len);
            }
            Some(_) => {}
            None => self.update_deadline(),
        }
        segment
    }

    #[inline]
    fn output_synchronised(&mut self) -> Option<Segment> {
        if self.handshake.take_third() {
            return Some(self.pure_ack());
        }
        if !self.sender.is_quiet()
            && let Some(outgoing) = self.sender.next_outgoing()
        {
            return Some(self.data_segment(outgoing));
        }
        if self.receiver.ack_pending() {
            return Some(self.pure_ack());
        }
        None
    }

    fn output_handshake(&mut self) -> Option<Segment> {
        (self.handshake.is_due && matches!(self.state, State::SynSent | State::SynReceived))
            .then(|| self.send_syn())
    }

    #[inline]
    fn data_segment(&mut self, outgoing: Outgoing) -> Segment {
        let mut segment = Segment { seq: outgoing.seq, len: outgoing.len, ..Segment::default() };
        if self.timestamps {
            segment.ts_val = self.sender.clock.timestamp;
        }
        if outgoing.push {
            segment.flags = segment.flags.with(Flags::PSH);
        }
        if self.sender.ecn.active && outgoing.is_new {
            segment.ecn = Ecn::Ect0;
            if std::mem::take(&mut self.sender.ecn.cwr_due) {
                segment.flags = segment.flags.with(Flags::CWR);
            }
        }
        if outgoing.fin {
            segment.flags = segment.flags.with(Flags::FIN);
            self.step_closing(false, false);
        }
        let now = self.sender.clock.now;
        self.receiver.fill_ack(now, &mut segment);
        self.receiver.on_data_sent(now);
        self.sender.counters.segments += 1;
        segment
    }

    #[inline]
    fn pure_ack(&mut self) -> Segment {
        let mut segment = Segment { seq: self.sender.snd_nxt, ..Segment::default() };
        if self.timestamps {
            segment.ts_val = self.sender.clock.timestamp;
        }
        self.receiver.fill_ack(self.sender.clock.now, &mut segment);
        segment
    }

    #[inline]
    fn update_deadline(&mut self) {
        self.deadline = if self.state == State::Closed {
            Instant::NEVER
        } else {
            self.sender.deadline().min(self.receiver.poll_timeout())
        };
    }
}
