//! A segment arrives (RFC 9293, section 3.10.7).

use super::{Connection, State};
use crate::{Flags, Segment};

impl Connection {
    #[inline]
    pub(super) fn input(&mut self, segment: &Segment) {
        if self.sender.is_synchronised && segment.flags.0 & (Flags::SYN.0 | Flags::RST.0 | Flags::FIN.0) == 0 {
            self.input_synchronised(segment);
        } else {
            self.input_unusual(segment);
        }
    }

    #[inline]
    fn input_synchronised(&mut self, segment: &Segment) {
        let now = self.sender.clock.now;
        if !self.receiver.accept(now, segment) {
            self.acknowledged = false;
            return;
        }
        if self.sender.is_quiet() && segment.sack_count == 0 {
            self.sender.on_quiet_ack(segment);
        } else if self.sender.is_plain(segment) {
            self.sender.on_plain_ack(segment);
        } else if segment.flags.contains(Flags::ACK) {
            self.sender.on_ack(segment);
        }
        let fin = segment.flags.contains(Flags::FIN);
        if segment.len > 0 || fin {
            self.acknowledged = false;
            let timing = self.timing();
            let received = self.receiver.on_data(now, segment, timing);
            self.delivered += received.delivered;
            if received.fin {
                if matches!(self.state, State::FinWait1 | State::FinWait2) {
                    // Nothing of ours will carry this acknowledgement.
                    self.receiver.request_ack();
                }
                self.step_closing(false, true);
            }
        }
        if self.sender.fin_sent {
            let fin_acked = self.sender.snd_una > self.sender.buffer.write_seq;
            self.step_closing(fin_acked, false);
        }
    }

    /// Segments of the handshake, FINs and resets.
    #[cold]
    fn input_unusual(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            self.reset();
            return;
        }
        match self.state {
            State::Closed => {}
            State::Listen => self.on_syn(segment),
            State::SynSent => self.on_syn_ack(segment),
            State::SynReceived => {
                if segment.flags.contains(Flags::SYN) {
                    // Our SYN-ACK was lost, or is late.
                    self.handshake.is_due = true;
                } else if segment.flags.contains(Flags::ACK) && segment.ack >= 1 {
                    self.sender.snd_wnd = segment.window;
                    self.sender.max_window = segment.window;
                    self.finish_handshake(segment);
                    self.input_synchronised(segment);
                }
            }
            _ if segment.flags.contains(Flags::SYN) => self.receiver.request_ack(),
            _ => self.input_synchronised(segment),
        }
    }

    /// The peer gave up.
    fn reset(&mut self) {
        if self.state != State::Listen {
            self.state = State::Closed;
            self.unusual = true;
            self.sender.clear_timer();
        }
    }
}
