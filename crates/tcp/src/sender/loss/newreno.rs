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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::congestion;
    use crate::sender::measure::rate_sample::Building;

    /// Segments are out, and the peer does not SACK.
    fn sender(segments: u64) -> Sender {
        let mut sender = Sender::new(&Config::default(), congestion::find("reno").expect("a rule").rule(1));
        (sender.sizes.mss, sender.sack_permitted) = (1_000, false);
        sender.put_in_flight(segments);
        sender
    }

    #[test]
    fn more_duplicates_than_can_be_are_reordering() {
        // tcp_limit_reno_sacked(): one of three segments is missing, so that the third duplicate is of something else.
        let mut sender = sender(3);
        for (sacked, degree, seen) in [(1, 3, 0), (2, 3, 0), (2, 3, 1), (2, 3, 2)] {
            sender.count_duplicate();
            let path = &sender.path;
            assert_eq!((path.tally.sacked_out(), path.reordering.degree, path.reordering.seen), (sacked, degree, seen));
            assert_eq!(
                (path.delivery.delivered, sender.counters.reordering_seen),
                (u64::from(sacked), u64::from(seen))
            );
        }
        sender.reordering_without_sack(2);
        assert_eq!(sender.path.reordering.degree, 5, "three that are out and two that have just been acknowledged");
        sender.settings.max_reordering = 4;
        sender.reordering_without_sack(2);
        assert_eq!(sender.path.reordering.degree, 4);
    }

    #[test]
    fn what_is_acknowledged_was_counted_but_for_one() {
        // tcp_remove_reno_sacks().
        for (acked, sacked, delivered) in [(0, 2, 2), (1, 2, 3), (2, 1, 3), (3, 0, 3), (4, 0, 4)] {
            let mut sender = sender(6);
            (0..2).for_each(|_| sender.count_duplicate());
            sender.uncount_duplicates(acked);
            let path = &sender.path;
            assert_eq!((path.tally.sacked_out(), path.delivery.delivered), (sacked, delivered), "{acked}");
        }
    }

    #[test]
    fn the_first_segment_is_lost_after_three_duplicates_or_a_partial_ack() {
        for (state, duplicates, flags, is_lost) in [
            (CaState::Open, 2, AckFlags::default(), false),
            (CaState::Open, 3, AckFlags::default(), true),
            (CaState::Disorder, 3, AckFlags::default(), true),
            (CaState::Recovery, 3, AckFlags::default(), false),
            (CaState::Recovery, 0, AckFlags::UNA_ADVANCED, true),
            (CaState::Loss, 3, AckFlags::UNA_ADVANCED, false),
        ] {
            let mut sender = sender(6);
            (0..duplicates).for_each(|_| sender.count_duplicate());
            sender.path.state = state;
            let ack = Ack {
                flags,
                prior_una: 1,
                has_ece: false,
                is_predicted: false,
                sack_reord: u64::MAX,
                first_sacked_us: None,
                last_sacked_us: 0,
                rate: Building::default(),
            };
            sender.newreno_mark_lost(&ack);
            assert_eq!(sender.path.tally.lost_out(), u32::from(is_lost), "{duplicates} in {state:?}, {flags:?}");
        }
    }
}
