//! A segment arrives (RFC 9293, section 3.10.7).

use super::{Connection, Mode, State, timing};
use crate::receiver::SenderProgress;
use crate::{Flags, Segment};

impl Connection {
    #[inline(always)]
    pub(super) fn input(&mut self, segment: &Segment) {
        let is_usual = segment.flags.0 & (Flags::SYN.0 | Flags::RST.0 | Flags::FIN.0) == 0;
        if self.is_predicted_data(segment) {
            return self.input_predicted(segment);
        }
        if self.state == State::Established && self.sender.is_plain(segment) && self.receiver.accepts_next(segment) {
            // The sender is not quiet, since something is out, and has not sent its FIN.
            return self.sender.on_plain_ack(segment);
        }
        let is_open = self.state == State::Established || self.sender.is_synchronised();
        if (is_open && is_usual) || self.input_unusual(segment) {
            self.input_synchronised(segment);
        }
    }

    /// Its acknowledgement says what the one before it said.
    #[inline(always)]
    fn input_predicted(&mut self, segment: &Segment) {
        self.acknowledged = false;
        let sender = &self.sender;
        self.delivered += self.receiver.on_predicted(sender.clock().now, segment, || timing(sender));
        if self.receiver.earlier_ack_pending() {
            // It goes before all else.
            self.mode = Mode::Unusual;
        }
    }

    #[inline(always)]
    fn input_synchronised(&mut self, segment: &Segment) {
        let now = self.sender.clock().now;
        let sender = &self.sender;
        let progress = || SenderProgress { una: sender.snd_una(), window: sender.snd_wnd(), rto: sender.rto() };
        if segment.ack > sender.snd_nxt() {
            // It acknowledges what was never sent: nothing of it counts (RFC 9293, section 3.10.7.4), but that it may lie
            // outside the window.
            if !self.receiver.check(now, segment, &progress()) {
                self.acknowledged = false;
            }
            return;
        }
        if !self.receiver.accept(now, segment, progress) {
            self.acknowledged = false;
            return;
        }
        if segment.sack_count == 0 && (self.mode == Mode::Quiet || self.sender.is_quiet()) {
            self.sender.on_quiet_ack(segment);
        } else if segment.flags.contains(Flags::ACK) {
            self.sender.on_ack(segment);
        }
        let fin = segment.flags.contains(Flags::FIN);
        if (segment.len > 0 || fin) && !self.is_beyond_fin(segment) {
            self.acknowledged = false;
            let sender = &self.sender;
            let received = self.receiver.on_data(now, segment, || timing(sender));
            self.delivered += received.delivered;
            if self.receiver.earlier_ack_pending() {
                // It goes before all else.
                self.mode = Mode::Unusual;
            }
            if received.fin {
                if matches!(self.state, State::FinWait1 | State::FinWait2) {
                    // Nothing of ours will carry this acknowledgement.
                    self.receiver.request_ack();
                }
                self.step_closing(false, true);
            }
        }
        if self.sender.fin_sent() {
            self.step_closing(self.sender.fin_acked(), false);
        }
    }

    /// Data behind the peer's FIN: Linux 6.1 passes over it.
    #[inline]
    fn is_beyond_fin(&self, segment: &Segment) -> bool {
        self.state != State::Established
            && matches!(self.state, State::CloseWait | State::Closing | State::LastAck)
            && segment.seq >= self.receiver.rcv_nxt()
    }

    /// The next data in order that says nothing else: Linux 6.1 does not look at its acknowledgement (header prediction),
    /// but at that of the first data, for which its socket has no memory set aside yet.
    #[inline(always)]
    fn is_predicted_data(&self, segment: &Segment) -> bool {
        segment.len > 0
            && segment.flags.0 & !Flags::PSH.0 == Flags::ACK.0
            && self.state == State::Established
            && self.sender.says_nothing_new(segment)
            && self.receiver.is_predicted(segment)
    }

    /// Segments of the handshake, FINs and resets. True when the segment is then taken like any other.
    #[cold]
    fn input_unusual(&mut self, segment: &Segment) -> bool {
        if segment.flags.contains(Flags::RST) {
            self.reset();
            return false;
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
                    self.finish_handshake(segment);
                    return true;
                }
            }
            _ if segment.flags.contains(Flags::SYN) => self.receiver.request_ack(),
            _ => return true,
        }
        false
    }

    /// The peer gave up.
    fn reset(&mut self) {
        if self.state != State::Listen {
            self.state = State::Closed;
            self.mode = Mode::Unusual;
            self.sender.reset();
        }
    }
}
