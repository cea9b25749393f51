//! A segment arrives in SYN-RECEIVED (RFC 9293, section 3.10.7.4).
//!
//! Linux 6.1 has no socket yet but a request, which looks at a segment in this order: the first SYN again, a wrong
//! acknowledgement, timestamp and window, RST, another SYN, and only then the ACK that it waits for.

use super::Connection;
use crate::{Flags, Header, Segment};

impl Connection {
    /// True when the handshake is done, and the segment is then taken like any other.
    pub(super) fn input_syn_received(&mut self, segment: &Segment) -> bool {
        let has = |flag: Flags| segment.flags.contains(flag);
        let is_old = self.receiver.is_older(segment);
        let is_first_syn = segment.seq + 1 == self.receiver.rcv_nxt();
        if has(Flags::SYN) && !has(Flags::RST) && !has(Flags::ACK) && is_first_syn && !is_old {
            // Our SYN-ACK was lost, or is late.
            if self.may_answer() {
                self.handshake.is_due = true;
            }
            return false;
        }
        if has(Flags::ACK) && segment.ack != 1 {
            self.answer_with_reset(segment);
            return false;
        }
        let has_wrong_echo =
            self.profile.checked_echo && self.timestamps && self.handshake.echoes_no_syn_ack(segment.ts_ecr);
        if is_old || has_wrong_echo || !self.receiver.is_in_first_window(segment) {
            let is_data = segment.sequence_len() > 0 && !has(Flags::SYN);
            if !has(Flags::RST) && (is_data || self.may_answer()) {
                self.repeat_acknowledgement();
            }
            return false;
        }
        self.receiver.take_timestamp(segment);
        if has(Flags::RST) || (has(Flags::SYN) && !is_first_syn) {
            self.answer_with_reset(segment);
            self.listen_again();
            return false;
        }
        if has(Flags::ACK) {
            self.finish_handshake(segment);
        }
        has(Flags::ACK)
    }

    /// Of a segment that makes no sense, not twice in half a second.
    fn may_answer(&mut self) -> bool {
        self.receiver.may_challenge(self.sender.clock().now)
    }

    /// The acknowledgement of the SYN-ACK, without a SYN.
    fn repeat_acknowledgement(&mut self) {
        let mut reply = Segment::from(Header {
            seq: 1,
            flags: Flags::ACK,
            ts_val: if self.timestamps { self.sender.clock().timestamp } else { 0 },
            ..Header::default()
        });
        self.receiver.fill_request_ack(&mut reply);
        self.reply = Some(Box::new(reply));
    }
}
