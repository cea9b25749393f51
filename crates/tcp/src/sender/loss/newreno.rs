//! Recovery without SACK (RFC 6582): each duplicate ACK stands for one segment that has left the
//! network. The count of SACKed segments is then an estimate, and no record is marked.

use crate::congestion::CaState;
use crate::sender::Sender;
use crate::sender::finding::{Ack, AckFlags};
use crate::sender::flight::Sent;

impl Sender {
    /// A duplicate ACK: one segment more has arrived somewhere above the hole.
    pub(crate) fn count_duplicate(&mut self) {
        let before = self.path.tally.sacked_out();
        if self.path.tally.count_duplicate() {
            self.reordering_without_sack(0);
        }
        self.path.delivery.delivered += u64::from(self.path.tally.sacked_out().saturating_sub(before));
    }

    /// The degree follows what is out, also below what it was (Linux 6.1).
    fn reordering_without_sack(&mut self, more: u32) {
        let path = &mut self.path;
        path.reordering.degree = (path.tally.packets_out() + more).min(self.settings.max_reordering);
        path.reordering.seen += 1;
        self.counters.reordering_seen += 1;
    }

    /// `acked` segments were acknowledged cumulatively: all but one of them had been counted.
    pub(crate) fn uncount_duplicates(&mut self, acked: u32) {
        if acked > 0 {
            let path = &mut self.path;
            path.delivery.delivered += u64::from(acked.saturating_sub(path.tally.sacked_out()).max(1));
        }
        if self.path.tally.uncount_duplicates(acked) {
            self.reordering_without_sack(acked);
        }
    }

    /// The first segment is lost after enough duplicates, and after a partial ACK in Recovery (RFC
    /// 6582, section 3.2 step 3).
    pub(crate) fn newreno_mark_lost(&mut self, ack: &Ack) {
        let path = &self.path;
        let begins = path.state < CaState::Recovery && path.tally.sacked_out() >= path.reordering.degree;
        let partial = path.state == CaState::Recovery && ack.flags.any(AckFlags::UNA_ADVANCED);
        if (begins || partial) && self.flight.first().is_some_and(|first| !first.has(Sent::LOST)) {
            self.mark_lost(self.flight.head());
            self.path.tally.limit_duplicates();
        }
    }
}
