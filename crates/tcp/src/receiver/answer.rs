//! What is answered: the acknowledgement on each outgoing segment, with its window, blocks and echoes.

use daybreak_units::Instant;

use super::sack_list::{Dsack, SackList};
use super::{Receiver, SACK_BLOCKS, SenderTiming};
use crate::{Flags, Segment};

impl Receiver {
    /// The delayed-ACK or SACK-compression timer; harmless when early.
    pub fn on_timeout(&mut self, now: Instant, timing: SenderTiming) {
        self.ack_pending |= self.policy.on_timeout(now, timing.rto);
    }

    /// When [`Receiver::on_timeout`] wants to be called.
    #[inline]
    pub fn poll_timeout(&self) -> Instant {
        self.policy.deadline()
    }

    /// An ACK must go out now.
    #[inline]
    pub fn ack_pending(&self) -> bool {
        self.ack_pending
    }

    /// Asks for an ACK at once: a challenge ACK, the third step of the handshake.
    pub fn request_ack(&mut self) {
        self.ack_pending = true;
    }

    /// Puts the acknowledgement on any outgoing segment but a SYN: the ACK flag, `ack`, `window`,
    /// SACK and DSACK blocks, `ts_ecr` and ECE. Takes note that an ACK was sent: nothing is pending
    /// or delayed afterwards. `ts_val` is the sender's. True when the next segment will carry the same, the
    /// timestamp apart, if nothing arrives before.
    #[inline(always)]
    pub fn fill_ack(&mut self, segment: &mut Segment) -> bool {
        let before_read = std::mem::take(&mut self.offer_settled);
        if !before_read {
            self.settle_offer();
        }
        // Another may follow this one.
        self.ack_pending = std::mem::take(&mut self.update_follows);
        segment.flags = segment.flags.with(Flags::ACK);
        if self.negotiated.ecn && self.echo.is_on {
            segment.flags = segment.flags.with(Flags::ECE);
        }
        segment.ack = self.rcv_nxt;
        segment.window = self.window.offered();
        if self.negotiated.timestamps {
            segment.ts_ecr = self.ts_recent;
        }
        let has_blocks = self.has_blocks;
        if has_blocks {
            self.report_blocks(segment);
        }
        self.policy.on_ack_sent();
        if has_blocks {
            self.enter_late_block();
        }
        self.may_be_repeated(segment, before_read)
    }

    /// The window of an ACK that nothing has decided on before.
    #[inline(never)]
    fn settle_offer(&mut self) {
        let (candidate, crowded) = self.window.candidate(self.memory(), self.policy.rcv_mss());
        if crowded {
            self.policy.leave_quick_mode();
        }
        self.window.offer(self.rcv_nxt, candidate);
    }

    /// Puts the blocks on a segment; a DSACK is reported once.
    #[inline(never)]
    fn report_blocks(&mut self, segment: &mut Segment) {
        self.sacks.write(self.dsack, SACK_BLOCKS[usize::from(self.negotiated.timestamps)], segment);
        self.dsack = Dsack::default();
        if self.fin_seq < self.rcv_nxt {
            self.sacks = SackList::default();
        }
        self.has_blocks = !self.sacks.is_empty();
    }

    /// Adds the block that waited for an ACK with the older ones, and the growth of the window by its segment, both of
    /// which the next ACK reports.
    #[inline(never)]
    fn enter_late_block(&mut self) {
        let Some((block, growth)) = self.joins_after_ack.take() else { return };
        self.has_blocks = true;
        self.sacks.report(block);
        if let Some(growth) = growth {
            self.grow(growth);
        }
        self.make_room_ahead();
    }

    /// Our side has closed: the peer's FIN is acknowledged at once.
    pub(crate) fn answer_fin(&mut self) {
        self.answers_fin = true;
    }

    /// Data was sent (not a pure ACK): for the choice between delayed and quick ACKs (pingpong mode).
    #[inline]
    pub fn on_data_sent(&mut self, now: Instant) {
        self.policy.on_data_sent(now);
    }

    /// Bytes of SACK blocks that the next segment would carry, option header included; the sender
    /// must leave them out of its payload.
    #[inline]
    pub fn sack_option_len(&self) -> u32 {
        if !self.has_blocks {
            return 0;
        }
        let blocks = self.sacks.carried(self.dsack, SACK_BLOCKS[usize::from(self.negotiated.timestamps)]);
        if blocks == 0 { 0 } else { 4 + 8 * u32::from(blocks) }
    }
}
