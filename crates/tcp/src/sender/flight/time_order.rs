//! The records that loss detection may still judge, linked in the order of their last transmission (RFC 8985, section 6.2
//! step 5).
//!
//! While nothing is SACKed, lost or sent again, that order is the sequence order, and the links are not kept at all: the
//! common case pays nothing.

use super::{Flight, Sent};

impl Flight {
    /// Whether the transmission order differs, or may differ, from the sequence order.
    #[inline]
    pub fn is_ordered_by_time(&self) -> bool {
        self.ordered
    }

    /// Starts to keep the transmission order; until now it was the sequence order.
    pub fn keep_time_order(&mut self) {
        if self.ordered {
            return;
        }
        self.ordered = true;
        self.linked = 0;
        for at in self.positions() {
            if !self.get(at).has(Sent::SACKED | Sent::LOST) {
                self.link_newest(at);
            }
        }
    }

    /// With everything below `una` acknowledged, all that is out was sent after the last retransmission.
    #[inline]
    pub fn follows_retransmissions(&self, una: u64) -> bool {
        una >= self.time_order_until
    }

    /// Stops keeping the transmission order: it is the sequence order, and no record is marked.
    pub fn drop_time_order(&mut self) {
        if self.ordered {
            self.ordered = false;
            for at in self.positions() {
                self.get_mut(at).flags &= !Sent::LINKED;
            }
        }
    }

    /// Sorts the order anew after marks were removed: whatever is neither SACKed, lost nor given up
    /// by RACK takes part.
    pub(super) fn rebuild_time_order(&mut self) {
        let mut by_time: Vec<(u64, u32)> = Vec::with_capacity(self.len() as usize);
        for offset in 0..self.len() {
            let record = self.get_mut(self.head.wrapping_add(offset));
            record.flags &= !Sent::LINKED;
            let is_lost = record.has(Sent::LOST) && !record.has(Sent::RETRANS);
            if !is_lost && !record.has(Sent::SACKED | Sent::RACKED) {
                by_time.push((record.sent_us, offset));
            }
        }
        by_time.sort_unstable();
        self.ordered = true;
        self.linked = 0;
        for (_, offset) in by_time {
            self.link_newest(self.head.wrapping_add(offset));
        }
    }

    /// The record that was sent longest ago, among those that loss detection may judge.
    #[inline]
    pub fn oldest(&self) -> Option<u32> {
        (self.linked > 0).then_some(self.oldest)
    }
    /// The one that was sent next after `at`.
    #[inline]
    pub fn newer(&self, at: u32) -> Option<u32> {
        (at != self.newest).then(|| self.get(at).newer)
    }

    /// The record is SACKed or lost: loss detection is done with it.
    #[inline]
    pub(super) fn unlink(&mut self, at: u32) {
        let record = self.get_mut(at);
        if !record.has(Sent::LINKED) {
            return;
        }
        record.flags &= !Sent::LINKED;
        let (older, newer) = (record.older, record.newer);
        self.linked -= 1;
        if at == self.oldest {
            self.oldest = newer;
        } else {
            self.get_mut(older).newer = newer;
        }
        if at == self.newest {
            self.newest = older;
        } else {
            self.get_mut(newer).older = older;
        }
    }

    /// The record was sent just now.
    pub(super) fn link_newest(&mut self, at: u32) {
        self.unlink(at);
        let newest = self.newest;
        let record = self.get_mut(at);
        record.flags |= Sent::LINKED;
        record.older = newest;
        if self.linked == 0 {
            self.oldest = at;
        } else {
            self.get_mut(newest).newer = at;
        }
        self.newest = at;
        self.linked += 1;
    }

    /// The record at `at` was sent right after the one at `older`.
    pub(super) fn link_after(&mut self, older: u32, at: u32) {
        let newer = self.get(older).newer;
        let is_newest = self.newest == older;
        let record = self.get_mut(at);
        record.flags |= Sent::LINKED;
        (record.older, record.newer) = (older, newer);
        self.get_mut(older).newer = at;
        if is_newest {
            self.newest = at;
        } else {
            self.get_mut(newer).older = at;
        }
        self.linked += 1;
    }

    /// Corrects the links to the records behind the place `at`, which have moved by `by` places.
    pub(super) fn relink_behind(&mut self, at: u32, by: i32) {
        let head = self.head;
        let moved = |place: u32| {
            let is_behind = place.wrapping_sub(head) > at.wrapping_sub(head);
            if is_behind { place.wrapping_add_signed(by) } else { place }
        };
        for place in self.positions() {
            let sent = self.get_mut(place);
            if sent.has(Sent::LINKED) {
                (sent.older, sent.newer) = (moved(sent.older), moved(sent.newer));
            }
        }
        (self.oldest, self.newest) = (moved(self.oldest), moved(self.newest));
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::tests::flight;
    use super::*;

    pub fn order(flight: &Flight) -> Vec<u32> {
        let mut order = Vec::new();
        let mut at = flight.oldest();
        while let Some(position) = at {
            order.push(position);
            at = flight.newer(position);
        }
        order
    }

    #[test]
    fn time_order_follows_retransmissions() {
        let (mut flight, mut tally) = flight(5, 1_000);
        flight.keep_time_order();
        flight.unlink(2);
        flight.link_newest(0);
        assert_eq!(order(&flight), [1, 3, 4, 0]);
        flight.unlink(0);
        flight.unlink(1);
        flight.link_newest(1);
        flight.push(&mut tally, Sent { seq: 5001, len: 1000, ..Sent::default() });
        assert_eq!(order(&flight), [3, 4, 1, 5]);
        flight.unlink(0);
        flight.unlink(1);
        flight.pop_to(2);
        assert_eq!(order(&flight), [3, 4, 5]);
        for at in 3..6 {
            flight.unlink(at);
        }
        assert_eq!(flight.oldest(), None);
    }

    /// Linux 6.1: RACK judges it again, as in drawn suite 1795707489, scenario 196.
    #[test]
    fn a_timeout_that_spares_a_recent_retransmission_leaves_it_in_the_order() {
        let (mut flight, mut tally) = flight(3, 1_000);
        flight.mark_lost(&mut tally, 1);
        flight.send_again(1, 3, 3_001, |sent| sent.sent_us = 9);
        flight.mark_resent(&mut tally, 1);
        flight.mark_lost(&mut tally, 0);
        flight.resend_all_lost();
        assert_eq!((flight.next_lost(), order(&flight)), (Some(0), vec![2, 1]));
    }
}
