//! The out-of-order queue: which ranges beyond `rcv_nxt` have arrived, and what memory they hold.
//!
//! Contents are not stored, only ranges. Ranges that touch are one range, so there are never more
//! ranges than holes; new ones usually go to the end and filled ones leave at the front.

use std::collections::VecDeque;

use super::sack_list::Dsack;

/// A contiguous received range and the memory that its segments are charged with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    start: u64,
    end: u64,
    memory: u64,
}

/// Everything received beyond the next expected byte.
#[derive(Clone, Debug, Default)]
pub(super) struct OutOfOrder {
    /// Sorted, disjoint, not touching.
    ranges: VecDeque<Range>,
    memory: u64,
}

impl OutOfOrder {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Bytes of receive buffer that the queued segments take, overhead included.
    #[inline]
    pub(super) fn memory(&self) -> u64 {
        self.memory
    }

    /// Adds `start..end`, which lies beyond a hole, and notes what of it was there before in `dsack`.
    /// Returns false when all of it was.
    pub(super) fn insert(&mut self, start: u64, end: u64, truesize: u64, dsack: &mut Dsack) -> bool {
        // The first range that starts after us; the one before it may hold our first byte.
        let mut at = match self.ranges.back() {
            Some(last) if last.start > start => self.ranges.partition_point(|range| range.start <= start),
            _ => self.ranges.len(),
        };
        let mut merged = Range { start, end, memory: truesize };
        if let Some(before) = at.checked_sub(1).map(|index| self.ranges[index]).filter(|range| range.end >= start) {
            if end <= before.end {
                dsack.set(start, end);
                return false;
            }
            if before.start == start {
                dsack.extend(before.start, before.end);
            } else {
                if before.end > start {
                    dsack.set(start, before.end);
                }
                merged = Range { start: before.start, end, memory: truesize + before.memory };
            }
            self.memory -= before.memory;
            at -= 1;
            self.ranges.remove(at);
        }
        while let Some(after) = self.ranges.get(at).copied().filter(|range| range.start <= end) {
            if after.start < end {
                dsack.extend(after.start, end.min(after.end));
            }
            if after.end > end {
                merged.end = after.end;
                merged.memory += after.memory;
            }
            self.memory -= after.memory;
            self.ranges.remove(at);
        }
        self.memory += merged.memory;
        if at == self.ranges.len() {
            self.ranges.push_back(merged);
        } else {
            self.ranges.insert(at, merged);
        }
        true
    }

    /// The stream is complete up to `rcv_nxt`: takes out every range that this reaches, notes the
    /// overlap in `dsack` and returns where the stream is complete to now.
    pub(super) fn advance(&mut self, mut rcv_nxt: u64, dsack: &mut Dsack) -> u64 {
        let mut overlap_end = rcv_nxt;
        while let Some(front) = self.ranges.front().copied().filter(|range| range.start <= rcv_nxt) {
            if front.start < overlap_end {
                let end = overlap_end;
                overlap_end = overlap_end.min(front.end);
                dsack.extend(front.start, end.min(front.end));
            }
            self.memory -= front.memory;
            rcv_nxt = rcv_nxt.max(front.end);
            self.ranges.pop_front();
        }
        rcv_nxt
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SackBlock;

    fn queue(ranges: &[(u64, u64)]) -> OutOfOrder {
        let mut queue = OutOfOrder::default();
        for &(start, end) in ranges {
            assert!(queue.insert(start, end, end - start, &mut Dsack::default()));
        }
        queue
    }

    fn ranges(queue: &OutOfOrder) -> Vec<(u64, u64)> {
        queue.ranges.iter().map(|range| (range.start, range.end)).collect()
    }

    #[test]
    fn touching_ranges_become_one_and_keep_the_memory() {
        let queue = queue(&[(10, 20), (30, 40), (20, 30), (50, 60), (0, 5)]);
        assert_eq!(ranges(&queue), [(0, 5), (10, 40), (50, 60)]);
        assert_eq!(queue.memory(), 45);
    }

    #[test]
    fn a_repeated_range_is_reported_and_costs_nothing() {
        let mut queue = queue(&[(10, 40)]);
        let mut dsack = Dsack::default();
        assert!(!queue.insert(20, 30, 10, &mut dsack));
        assert_eq!(dsack.block(), Some(SackBlock { start: 20, end: 30 }));
        assert_eq!(queue.memory(), 30);
    }

    #[test]
    fn an_overlap_on_both_sides_is_reported_from_its_first_part() {
        let mut queue = queue(&[(10, 20), (30, 40)]);
        let mut dsack = Dsack::default();
        assert!(queue.insert(15, 35, 20, &mut dsack));
        assert_eq!(ranges(&queue), [(10, 40)]);
        // 15..20 comes first; 30..35 does not touch it, so one DSACK block cannot hold both.
        assert_eq!(dsack.block(), Some(SackBlock { start: 15, end: 20 }));
    }

    #[test]
    fn filling_the_hole_takes_the_reachable_ranges_out() {
        let mut queue = queue(&[(10, 20), (30, 40)]);
        let mut dsack = Dsack::default();
        assert_eq!(queue.advance(10, &mut dsack), 20);
        assert_eq!(dsack.block(), None);
        assert_eq!(queue.advance(33, &mut dsack), 40);
        assert_eq!(dsack.block(), Some(SackBlock { start: 30, end: 33 }));
        assert!(queue.is_empty());
        assert_eq!(queue.memory(), 0);
    }
}
