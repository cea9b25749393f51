//! The records of one path, among those of all (`paths/mod.rs`): in sequence order, or in the order of transmission.

use super::{Flight, Sent, Tally};

impl Flight {
    /// Position of the first record of the path, from `from` on in the order that `next` gives; `None` if a record of
    /// any path before it, or it itself, does not satisfy `goes_on`.
    #[inline(always)]
    fn first_of(
        &self,
        tally: &Tally,
        from: Option<u32>,
        next: impl Fn(u32) -> Option<u32>,
        mut goes_on: impl FnMut(&Sent) -> bool,
    ) -> Option<u32> {
        let mut position = from;
        while let Some(at) = position {
            let sent = self.get(at);
            if !goes_on(sent) {
                return None;
            }
            if sent.path() == tally.tag() {
                return Some(at);
            }
            position = next(at);
        }
        None
    }

    /// The path's first record at position `at` or above, while `goes_on`.
    #[inline]
    pub fn of_path_from(&self, tally: &Tally, at: u32, goes_on: impl FnMut(&Sent) -> bool) -> Option<u32> {
        let queued = |at: u32| (at != self.tail).then_some(at);
        self.first_of(tally, queued(at), |at| queued(at.wrapping_add(1)), goes_on)
    }

    /// The path's record that was sent longest ago, while `goes_on`, among those that loss detection may judge.
    #[inline]
    pub fn oldest_of_path(&self, tally: &Tally, goes_on: impl FnMut(&Sent) -> bool) -> Option<u32> {
        self.first_of(tally, self.oldest(), |at| self.newer(at), goes_on)
    }

    /// The one that was sent next after the record at `at`, likewise.
    #[inline]
    pub fn newer_of_path(&self, tally: &Tally, at: u32, goes_on: impl FnMut(&Sent) -> bool) -> Option<u32> {
        self.first_of(tally, self.newer(at), |at| self.newer(at), goes_on)
    }

    /// The positions of all of the path's records, lowest sequence number first.
    pub fn positions_of(&self, tally: &Tally) -> impl Iterator<Item = u32> {
        let from = |at| self.of_path_from(tally, at, |_| true);
        std::iter::successors(from(self.head), move |at| from(at.wrapping_add(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::flight;
    use super::*;

    #[test]
    fn a_path_has_its_own_records_in_both_orders() {
        let (mut flight, mut first) = flight(2, 1_000);
        let mut second = Tally::new(Sent::PATH & Sent::PATH.wrapping_neg());
        for n in 2..5 {
            let tally = if n == 3 { &mut first } else { &mut second };
            let flags = tally.tag();
            flight.push(tally, Sent { seq: 1 + n * 1_000, len: 1_000, sent_us: n, flags, ..Sent::default() });
        }
        flight.keep_time_order();
        assert_eq!(flight.positions_of(&first).collect::<Vec<_>>(), [0, 1, 3]);
        assert_eq!(flight.positions_of(&second).collect::<Vec<_>>(), [2, 4]);
        flight.link_newest(0);
        assert_eq!(flight.oldest_of_path(&first, |_| true), Some(1));
        assert_eq!(flight.newer_of_path(&first, 3, |_| true), Some(0));
        assert_eq!(flight.newer_of_path(&second, 4, |_| true), None);
        // What stops the search may be a record of another path.
        assert_eq!(flight.of_path_from(&second, 0, |sent| sent.seq < 1_001), None);
        assert_eq!(flight.of_path_from(&first, 2, |sent| sent.seq < 3_001), None);
        assert_eq!(flight.of_path_from(&first, 5, |_| true), None);
    }
}
