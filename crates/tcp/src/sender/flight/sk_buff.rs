//! What Linux 6.1 does to the boundaries of sent segments.
//!
//! Here a record is a segment as it was sent, so that a SACK block covers whole records; Linux's `sk_buff`s change:
//!
//! - **split** where the peer's window ends (`tcp_fragment`): one record becomes two;
//! - **collapse** of small segments that are sent again together (`tcp_retrans_collapse`): two records become one;
//! - **shift** of a SACKed segment into the SACKed one right below it (`tcp_shift_skb_data`; `TCPSackMerged` counts them), so
//!   that a burst of losses leaves room for new data in the send buffer. The records stay: one that has no `sk_buff` of its
//!   own is [`Sent::MERGED`], and the records of one `sk_buff` are a run of which only the first is not.

use super::{Flight, Sent, Tally};

/// Bytes that an `sk_buff` takes, exclusive: 65,535 segments of the least size, 8 bytes (`TCP_MIN_GSO_SIZE`). With
/// a writer that copies its data this is less than what its pieces of memory hold, 17 of 32 KiB.
const MOST_BYTES: u64 = 65_535 * 8;

impl Sent {
    /// SACKed, and no copy of it is under way.
    fn may_shift(&self) -> bool {
        self.flags & (Self::SACKED | Self::RETRANS | Self::LOST) == Self::SACKED
    }

    /// Not SACKed, and no copy of it is under way that is not thought to be lost: it would shift if a block covered it.
    fn would_shift(&self) -> bool {
        !self.has(Self::SACKED | Self::RETRANS) || self.has(Self::LOST)
    }
}

impl Flight {
    /// The peer has taken what lies below `una` of the segment at `at`, which is sent again without it.
    pub fn trim(&mut self, at: u32, una: u64) {
        let record = self.get_mut(at);
        if record.seq < una {
            record.len -= (una - record.seq) as u32;
            record.seq = una;
        }
    }

    /// Splits the record at `at` after `len` bytes: the rest is a record of its own, sent when that one was. FIN and PSH are
    /// the rest's.
    #[cold]
    pub fn split(&mut self, tally: &mut Tally, at: u32, len: u32) {
        let whole = *self.get(at);
        if self.ring.is_full_with(self.len()) {
            self.ring.double(self.head);
        }
        self.tail = self.tail.wrapping_add(1);
        let mut to = self.tail.wrapping_sub(1);
        while to != at.wrapping_add(1) {
            let from = to.wrapping_sub(1);
            *self.get_mut(to) = *self.get(from);
            to = from;
        }
        let rest = at.wrapping_add(1);
        let end_flags = Sent::FIN | Sent::PUSH | Sent::JOINED;
        let first = self.get_mut(at);
        first.len = len;
        first.flags &= !end_flags;
        *self.get_mut(rest) = Sent {
            seq: whole.seq + u64::from(len),
            len: whole.len - len,
            flags: whole.flags & !(Sent::LINKED | Sent::MERGED),
            ..whole
        };
        tally.packets_out += 1;
        tally.lost_out += u32::from(whole.has(Sent::LOST));
        tally.retrans_out += u32::from(whole.has(Sent::RETRANS));
        tally.sacked_out += u32::from(whole.has(Sent::SACKED));
        if !self.ordered {
            return;
        }
        self.relink_behind(at, 1);
        if self.get(at).has(Sent::LINKED) {
            self.link_after(at, rest);
        }
    }

    /// Segments of one burst from the one at `at` on that have the same marks: a SACK block parts those that it covers from
    /// the others.
    pub fn burst_from(&self, at: u32) -> u32 {
        const MARKS: u16 = Sent::SACKED | Sent::LOST | Sent::RETRANS;
        let marks = self.get(at).flags & MARKS;
        let mut last = at;
        while self.get(last).has(Sent::JOINED) {
            let next = last.wrapping_add(1);
            if next == self.tail || self.get(next).flags & MARKS != marks {
                break;
            }
            last = next;
        }
        last.wrapping_sub(at) + 1
    }

    /// Nothing is in flight, or what is lies in one buffer.
    pub fn has_one_buffer(&self) -> bool {
        self.len() <= 1 || self.burst_from(self.head) == self.len()
    }

    /// Buffers of what is in flight, counted one by one: a SACK block parts a burst, and what it covers is shifted together.
    pub fn buffers(&self) -> u64 {
        let mut buffers = 0;
        let mut at = self.head;
        while at != self.tail {
            buffers += u64::from(!self.get(at).has(Sent::MERGED));
            at = at.wrapping_add(self.burst_from(at));
        }
        buffers
    }

    /// What is behind the segment at `at` gets a buffer of its own (`tcp_fragment`). True if it had none.
    pub fn cut_behind(&mut self, at: u32) -> bool {
        let record = self.get_mut(at);
        let was_joined = record.has(Sent::JOINED);
        record.flags &= !Sent::JOINED;
        was_joined
    }

    /// Joins the record behind the one at `at` to it. `tally` counts the former. Without SACK (`has_sack`) one duplicate
    /// less is expected, since nothing shows which segments have arrived.
    #[cold]
    pub fn collapse(&mut self, tally: &mut Tally, at: u32, has_sack: bool) {
        let next = at.wrapping_add(1);
        let joined = self.clear_marks(tally, next);
        tally.packets_out -= 1;
        if !has_sack {
            tally.sacked_out = tally.sacked_out.saturating_sub(1);
        }
        let first = self.get_mut(at);
        first.len += joined.len;
        first.flags &= !Sent::JOINED;
        first.flags |= joined.flags & (Sent::FIN | Sent::PUSH | Sent::EVER_RETRANS | Sent::JOINED);
        let mut to = next;
        while to.wrapping_add(1) != self.tail {
            *self.get_mut(to) = *self.get(to.wrapping_add(1));
            to = to.wrapping_add(1);
        }
        self.tail = to;
        self.relink_behind(next, -1);
    }

    /// Segments in flight without an `sk_buff` of their own.
    #[inline]
    pub fn merged(&self) -> u64 {
        self.merged
    }

    /// Nothing is SACKed: what was shifted last is gone.
    pub fn forget_shift(&mut self) {
        self.shifted = (0, 0);
    }

    /// Shifts the SACKed segment at `at`, and the rest of its `sk_buff`, into the SACKed one right below it, and then what is
    /// right above. Without any below it stays alone, whatever is above. Everything below `una` is acknowledged.
    pub fn shift(&mut self, at: u32, una: u64) {
        let sent = *self.get(at);
        if at == self.head || !sent.may_shift() {
            return;
        }
        let below = *self.get(at.wrapping_sub(1));
        if !below.may_shift() || below.len != sent.len {
            return;
        }
        let start = self.start_below(at.wrapping_sub(1), &below, una);
        let last = self.last_of_run(at);
        let mut end = self.get(last).end();
        if end - start >= MOST_BYTES {
            return;
        }
        self.mark_merged(at);
        let next = last.wrapping_add(1);
        if next != self.tail {
            let above = *self.get(next);
            let end_above = self.get(self.last_of_run(next)).end();
            if above.may_shift() && above.len == sent.len && end_above - start < MOST_BYTES {
                self.mark_merged(next);
                end = end_above;
            }
        }
        self.shifted = (start, end);
    }

    /// The segment that begins at `end` and shares its `sk_buff` with the one below it.
    pub fn merged_from(&self, end: u64, mss: u32) -> Option<u32> {
        let at = self.find(end, mss);
        (at != self.tail && self.get(at).seq == end && self.get(at).has(Sent::MERGED)).then_some(at)
    }

    /// The segment at `at`, and what follows in its `sk_buff`, get one of their own. A block and a duplicate may end at one
    /// segment.
    pub fn part(&mut self, at: u32) {
        let record = self.get_mut(at);
        if !record.has(Sent::MERGED) {
            return;
        }
        record.flags &= !Sent::MERGED;
        self.merged -= 1;
        self.shifted = (0, 0);
    }

    /// Whether the SACKed segment that begins at `seq` is shifted while a block is walked that begins at `start`, below it:
    /// either the block closes the hole right below it, or `seq` lies within its `sk_buff`, which is split there and then
    /// shifted together again.
    pub fn shifts_in_walk(&self, seq: u64, start: u64, mss: u32) -> bool {
        let at = self.find(seq, mss);
        if at == self.tail || at.wrapping_sub(self.head) < 2 {
            return false;
        }
        let [sent, below, further] = [0, 1, 2].map(|down| self.get(at.wrapping_sub(down)));
        if sent.seq != seq || !sent.may_shift() {
            return false;
        }
        if sent.has(Sent::MERGED) {
            return self.start_of_run(at.wrapping_sub(1)) < start;
        }
        below.would_shift()
            && [below.len, further.len] == [sent.len; 2]
            && (further.may_shift() || (further.seq >= start && further.would_shift()))
    }

    /// First sequence number of the `sk_buff` of the segment at `at`.
    fn start_of_run(&self, mut at: u32) -> u64 {
        while at != self.head && self.get(at).has(Sent::MERGED) {
            at = at.wrapping_sub(1);
        }
        self.get(at).seq
    }

    /// First sequence number of the `sk_buff` of the segment `below` at `at`, which is often the last that was shifted.
    fn start_below(&self, at: u32, below: &Sent, una: u64) -> u64 {
        let (start, end) = self.shifted;
        if end == below.end() {
            return start.max(una);
        }
        self.start_of_run(at)
    }

    /// The last segment of the `sk_buff` of which the one at `at` is the first.
    fn last_of_run(&self, at: u32) -> u32 {
        let mut last = at;
        while last.wrapping_add(1) != self.tail && self.get(last.wrapping_add(1)).has(Sent::MERGED) {
            last = last.wrapping_add(1);
        }
        last
    }

    fn mark_merged(&mut self, at: u32) {
        let record = self.get_mut(at);
        if !record.has(Sent::MERGED) {
            record.flags |= Sent::MERGED;
            self.merged += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::flight;
    use super::super::time_order::tests::order;
    use super::*;

    const LEN: u32 = 1_000;

    /// `count` segments, of which `sacked` are SACKed.
    fn with_sacks(count: u64, sacked: std::ops::Range<u32>) -> (Flight, Tally) {
        let (mut flight, mut tally) = flight(count, LEN);
        sacked.for_each(|at| flight.sack(&mut tally, at));
        (flight, tally)
    }

    fn merged(flight: &Flight, at: u32) -> bool {
        flight.get(at).has(Sent::MERGED)
    }

    #[test]
    fn what_is_split_keeps_its_places() {
        let (mut flight, mut tally) = flight(16, LEN);
        flight.keep_time_order();
        flight.link_newest(3);
        flight.push_mark(5);
        flight.split(&mut tally, 5, 400);
        flight.split(&mut tally, 3, 1);
        let ranges: Vec<(u64, u64)> =
            flight.positions().skip(2).take(7).map(|at| flight.get(at)).map(|sent| (sent.seq, sent.end())).collect();
        let expected = [
            (2_001, 3_001),
            (3_001, 3_002),
            (3_002, 4_001),
            (4_001, 5_001),
            (5_001, 5_401),
            (5_401, 6_001),
            (6_001, 7_001),
        ];
        assert_eq!(ranges, expected);
        assert!(!flight.get(6).has(Sent::PUSH) && flight.get(7).has(Sent::PUSH));
        // In the order of their transmission: all but the fourth, which was sent last, both of its parts.
        let seqs: Vec<u64> = order(&flight).into_iter().map(|at| flight.get(at).seq).collect();
        assert_eq!(seqs[..5], [1, 1_001, 2_001, 4_001, 5_001]);
        assert_eq!(seqs[5], 5_401);
        assert_eq!(seqs[seqs.len() - 2..], [3_001, 3_002]);
        assert_eq!(seqs.len(), 18);
        assert!(seqs.iter().all(|&seq| flight.get(flight.find(seq, 1_000)).seq == seq));
        assert_eq!(tally.packets_out(), 18);
        // And joined again.
        flight.collapse(&mut tally, 6, true);
        flight.collapse(&mut tally, 3, true);
        assert_eq!((flight.len(), tally.packets_out()), (16, 16));
        assert!(flight.get(5).has(Sent::PUSH));
        let seqs: Vec<u64> = order(&flight).into_iter().map(|at| flight.get(at).seq).collect();
        assert_eq!((seqs.len(), seqs[3], seqs[4], seqs[15]), (16, 4_001, 5_001, 3_001));
    }

    #[test]
    fn a_segment_is_split_and_collapsed_with_its_marks() {
        let (mut flight, mut tally) = flight(4, LEN);
        flight.mark_lost(&mut tally, 1);
        flight.mark_resent(&mut tally, 1);
        flight.mark_lost(&mut tally, 2);
        flight.split(&mut tally, 1, 300);
        assert_eq!(tally.counts(), [5, 0, 3, 2]);
        flight.audit(std::iter::once(&tally), true).expect("each part has the marks of the whole");
        flight.collapse(&mut tally, 1, true);
        flight.collapse(&mut tally, 1, true);
        assert_eq!(tally.counts(), [3, 0, 1, 1]);
        flight.audit(std::iter::once(&tally), true).expect("the marks of what is joined are gone");
    }

    #[test]
    fn shifts_into_the_segment_below_and_never_only_upwards() {
        let (mut flight, mut tally) = with_sacks(4, 1..3);
        flight.shift(1, 1);
        assert_eq!(flight.merged(), 0, "below the first is none that is SACKed");
        flight.shift(2, 1);
        assert!(merged(&flight, 2) && flight.merged() == 1);
        flight.sack(&mut tally, 0);
        flight.shift(0, 1);
        assert_eq!(flight.merged(), 1, "nothing is below the head");
    }

    #[test]
    fn a_segment_whose_copy_is_under_way_stays_alone() {
        let (mut flight, _) = with_sacks(3, 0..3);
        flight.get_mut(1).flags |= Sent::RETRANS | Sent::EVER_RETRANS;
        flight.shift(1, 1);
        flight.shift(2, 1);
        assert_eq!(flight.merged(), 0);
    }

    #[test]
    fn a_run_moves_with_its_first_segment_if_all_of_it_fits() {
        // 524 segments are 524,000 bytes; one more would be too much.
        for (above, moves) in [(523, true), (524, false)] {
            let (mut flight, mut tally) = with_sacks(1 + above, 1..1 + above as u32);
            (2..=above as u32).for_each(|at| flight.shift(at, 1));
            assert_eq!(flight.merged(), above - 1);
            flight.sack(&mut tally, 0);
            flight.shift(1, 1);
            assert_eq!(merged(&flight, 1), moves, "{above} segments above the first");
        }
    }

    #[test]
    fn what_is_parted_twice_is_counted_once() {
        let (mut flight, _) = with_sacks(4, 0..4);
        (1..4).for_each(|at| flight.shift(at, 1));
        let at = flight.merged_from(1 + 2 * u64::from(LEN), LEN).expect("it shares an sk_buff");
        flight.part(at);
        flight.part(at);
        assert_eq!((flight.merged(), merged(&flight, 2)), (2, false));
        assert_eq!(flight.merged_from(1 + 2 * u64::from(LEN), LEN), None);
    }

    #[test]
    fn a_block_shifts_what_is_above_the_hole_that_it_closes() {
        // The block closes the hole of the third segment, which is shifted into the second, and the fourth after it: if the
        // second is SACKed, or the block covers it and it would shift as well.
        let seq = |at: u64| 1 + at * u64::from(LEN);
        let copied = Sent::RETRANS | Sent::EVER_RETRANS;
        for (second, start, shifts) in [
            (Sent::SACKED, 1, true),
            (Sent::SACKED, 2, true),
            (Sent::SACKED | copied, 1, false),
            (0, 1, true),
            (0, 2, false),
            (copied, 1, false),
            (copied, 2, false),
            (copied | Sent::LOST, 1, true),
        ] {
            let (mut flight, _) = with_sacks(5, 3..4);
            flight.get_mut(1).flags |= second;
            assert_eq!(flight.shifts_in_walk(seq(3), seq(start), LEN), shifts, "{second:#b}, from the segment {start}");
            // Neither a place between two segments nor one that is not SACKed is that of a duplicate that is passed over.
            assert!(
                !flight.shifts_in_walk(seq(3) + 1, seq(start), LEN) && !flight.shifts_in_walk(seq(2), seq(start), LEN)
            );
        }
    }

    /// A block that begins at the `sk_buff`'s own beginning covers all of it: nothing is split.
    #[test]
    fn a_block_splits_only_an_sk_buff_in_which_it_begins() {
        let seq = |at: u64| 1 + at * u64::from(LEN);
        let (mut flight, _) = with_sacks(5, 1..4);
        [2, 3].into_iter().for_each(|at| flight.shift(at, 1));
        for (start, shifts) in [(seq(1) - 1, false), (seq(1), false), (seq(1) + 1, true), (seq(2), true)] {
            assert_eq!(flight.shifts_in_walk(seq(3), start, LEN), shifts, "from {start}");
        }
    }

    #[test]
    fn a_hole_that_fills_joins_both_sides() {
        let (mut flight, mut tally) = with_sacks(6, 0..2);
        flight.shift(1, 1);
        for at in [3, 4] {
            flight.sack(&mut tally, at);
            flight.shift(at, 1);
        }
        assert_eq!(flight.merged(), 2);
        flight.sack(&mut tally, 2);
        flight.shift(2, 1);
        assert_eq!(flight.merged(), 4);
        assert_eq!(flight.shifted, (1, 1 + 5 * u64::from(LEN)));
    }
}
