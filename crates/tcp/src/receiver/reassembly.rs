//! The out-of-order queue: which ranges beyond `rcv_nxt` have arrived, and what memory they hold.
//!
//! Contents are not stored, only ranges. Ranges that touch are one range, so there are never more
//! ranges than holes; new ones usually go to the end and filled ones leave at the front. Of the segments of a range
//! their buffers are known, since what follows may be joined to them; alike ones in a row are counted.

use std::collections::VecDeque;

use smallvec::SmallVec;

use super::buffers::{Buffer, Buffers};
use super::sack_list::Dsack;

/// A contiguous received range.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Range {
    start: u64,
    end: u64,
    /// What its buffers are charged with.
    memory: u64,
    /// Its buffers in order, and how many of one kind follow each other.
    buffers: SmallVec<[(Buffer, u32); 2]>,
}

impl Range {
    fn new(start: u64, end: u64, buffer: Buffer) -> Self {
        Self { start, end, memory: buffer.memory, buffers: SmallVec::from_slice(&[(buffer, 1)]) }
    }

    /// Puts a buffer behind the others.
    fn push(&mut self, buffer: Buffer) {
        self.memory += buffer.memory;
        match self.buffers.last_mut() {
            Some((last, count)) if *last == buffer => *count += 1,
            _ => self.buffers.push((buffer, 1)),
        }
    }

    /// Joins a buffer to the last one, if that takes it in.
    fn join(&mut self, buffer: &Buffer) -> bool {
        let Some(&mut (last, ref mut count)) = self.buffers.last_mut() else { return false };
        let mut joined = last;
        if joined.join(buffer).is_none() {
            return false;
        }
        *count -= 1;
        if *count == 0 {
            self.buffers.pop();
        }
        self.memory -= last.memory;
        self.push(joined);
        true
    }
}

/// What became of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inserted {
    /// All of it was there before.
    Known,
    /// It has a buffer of its own.
    Alone,
    /// It is in the buffer of the one before it.
    Joined,
}

/// What filling a hole has set free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Advanced {
    /// Where the stream is complete to now.
    pub rcv_nxt: u64,
    /// End of the first of its buffers, which the application reads at once.
    pub first_end: u64,
    /// Memory that is saved by joining buffers.
    pub saved: u64,
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

    /// Adds `start..end`, a segment of `len` bytes beyond a hole, and notes what of it was there before in `dsack`.
    pub(super) fn insert(
        &mut self,
        (start, end): (u64, u64),
        len: u32,
        buffers: Buffers,
        dsack: &mut Dsack,
    ) -> Inserted {
        // The first range that starts after us; the one before it may hold our first byte.
        let mut at = match self.ranges.back() {
            Some(last) if last.start > start => self.ranges.partition_point(|range| range.start <= start),
            _ => self.ranges.len(),
        };
        let buffer = buffers.of(len);
        let mut inserted = Inserted::Alone;
        let before = at.checked_sub(1).filter(|&index| self.ranges[index].end >= start);
        let mut merged = if let Some(index) = before {
            let before = &self.ranges[index];
            if end <= before.end {
                dsack.set(start, end);
                return Inserted::Known;
            }
            self.memory -= before.memory;
            at = index;
            let mut before = self.ranges.remove(index).expect("it is there");
            if before.start == start {
                dsack.extend(before.start, before.end);
                Range::new(start, end, buffer)
            } else {
                if before.end > start {
                    dsack.set(start, before.end);
                }
                if before.end == start && before.join(&buffer) {
                    inserted = Inserted::Joined;
                } else {
                    before.push(buffer);
                }
                Range { end, ..before }
            }
        } else {
            Range::new(start, end, buffer)
        };
        while let Some(after) = self.ranges.get(at).filter(|range| range.start <= end) {
            if after.start < end {
                dsack.extend(after.start, end.min(after.end));
            }
            self.memory -= after.memory;
            if after.end > end {
                merged.end = after.end;
                merged.memory += after.memory;
                merged.buffers.extend_from_slice(&after.buffers);
            }
            self.ranges.remove(at);
        }
        self.memory += merged.memory;
        if at == self.ranges.len() {
            self.ranges.push_back(merged);
        } else {
            self.ranges.insert(at, merged);
        }
        inserted
    }

    /// The stream is complete up to `rcv_nxt`, the end of `last`: takes out every range that this reaches and notes the
    /// overlap in `dsack`. What follows `last` may be joined to it.
    pub(super) fn advance(&mut self, mut rcv_nxt: u64, mut last: Buffer, dsack: &mut Dsack) -> Advanced {
        let mut overlap_end = rcv_nxt;
        let (mut first_end, mut is_first) = (rcv_nxt, true);
        let mut saved = 0;
        while self.ranges.front().is_some_and(|range| range.start <= rcv_nxt) {
            let Some(front) = self.ranges.pop_front() else { break };
            if front.start < overlap_end {
                let end = overlap_end;
                overlap_end = overlap_end.min(front.end);
                dsack.extend(front.start, end.min(front.end));
            }
            self.memory -= front.memory;
            let is_next = front.start == rcv_nxt;
            rcv_nxt = rcv_nxt.max(front.end);
            if !is_next {
                is_first = false;
                continue;
            }
            for (buffer, count) in front.buffers {
                for _ in 0..count {
                    if let Some(cost) = last.join(&buffer) {
                        saved += buffer.memory - cost;
                        first_end += if is_first { u64::from(buffer.len) } else { 0 };
                    } else {
                        (last, is_first) = (buffer, false);
                    }
                }
            }
        }
        Advanced { rcv_nxt, first_end, saved }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SackBlock;
    use crate::config::ReceiveBuffers;

    fn buffers() -> Buffers {
        Buffers::new(ReceiveBuffers::default())
    }

    fn queue(ranges: &[(u64, u64)]) -> OutOfOrder {
        let mut queue = OutOfOrder::default();
        for &(start, end) in ranges {
            assert_eq!(
                queue.insert((start, end), (end - start) as u32, buffers(), &mut Dsack::default()),
                Inserted::Alone
            );
        }
        queue
    }

    fn ranges(queue: &OutOfOrder) -> Vec<(u64, u64)> {
        queue.ranges.iter().map(|range| (range.start, range.end)).collect()
    }

    #[test]
    fn touching_ranges_become_one_and_keep_the_memory() {
        let queue = queue(&[(10, 2_010), (4_010, 6_010), (2_010, 4_010), (7_000, 9_000), (0, 5)]);
        assert_eq!(ranges(&queue), [(0, 5), (10, 6_010), (7_000, 9_000)]);
        assert_eq!(queue.memory(), 4 * 4_352 + 768);
    }

    #[test]
    fn a_segment_in_pages_is_joined_to_the_one_before_it() {
        let mut queue = queue(&[(10, 8_958), (20_000, 28_948)]);
        let mut add = |start: u64| queue.insert((start, start + 8_948), 8_948, buffers(), &mut Dsack::default());
        assert_eq!(add(8_958), Inserted::Joined);
        assert_eq!(add(40_000), Inserted::Alone);
        // The one before it, not the one behind it.
        assert_eq!(add(20_000 - 8_948), Inserted::Alone);
        assert_eq!(add(28_948), Inserted::Joined);
        assert_eq!(queue.memory(), 6 * 12_288 + 4 * 768);
    }

    #[test]
    fn a_repeated_range_is_reported_and_costs_nothing() {
        let mut queue = queue(&[(10, 40)]);
        let mut dsack = Dsack::default();
        assert_eq!(queue.insert((20, 30), 10, buffers(), &mut dsack), Inserted::Known);
        assert_eq!(dsack.block(), Some(SackBlock { start: 20, end: 30 }));
        assert_eq!(queue.memory(), 768);
    }

    #[test]
    fn an_overlap_on_both_sides_is_reported_from_its_first_part() {
        let mut queue = queue(&[(10, 20), (30, 40)]);
        let mut dsack = Dsack::default();
        assert_eq!(queue.insert((15, 35), 20, buffers(), &mut dsack), Inserted::Alone);
        assert_eq!(ranges(&queue), [(10, 40)]);
        // 15..20 comes first; 30..35 does not touch it, so one DSACK block cannot hold both.
        assert_eq!(dsack.block(), Some(SackBlock { start: 15, end: 20 }));
    }

    #[test]
    fn filling_the_hole_takes_the_reachable_ranges_out() {
        let mut queue = queue(&[(10, 20), (30, 40)]);
        let last = buffers().of(1_448);
        let mut dsack = Dsack::default();
        // Ten bytes fit behind 1448, and so cost nothing any more.
        assert_eq!(queue.advance(10, last, &mut dsack), Advanced { rcv_nxt: 20, first_end: 20, saved: 768 });
        assert_eq!(dsack.block(), None);
        assert_eq!(queue.advance(33, last, &mut dsack), Advanced { rcv_nxt: 40, first_end: 33, saved: 0 });
        assert_eq!(dsack.block(), Some(SackBlock { start: 30, end: 33 }));
        assert!(queue.is_empty());
        assert_eq!(queue.memory(), 0);
    }

    #[test]
    fn a_filled_hole_joins_pages_as_far_as_they_fit() {
        let mut queue = OutOfOrder::default();
        for n in 1..8 {
            queue.insert((n * 8_948, (n + 1) * 8_948), 8_948, buffers(), &mut Dsack::default());
        }
        // Seven: 15 pages in one buffer, 6 in the next. The segment before them has 3, so it takes none of the 15 in, and
        // these none of the 6.
        assert_eq!(queue.memory(), 2 * 768 + 7 * 12_288);
        let rcv_nxt = 8 * 8_948;
        let alone = queue.clone().advance(8_948, buffers().of(8_948), &mut Dsack::default());
        assert_eq!(alone, Advanced { rcv_nxt, first_end: 8_948, saved: 0 });
        // One of 2 pages does: 17.
        let joined = queue.advance(8_948, buffers().of(8_192), &mut Dsack::default());
        assert_eq!(joined, Advanced { rcv_nxt, first_end: 6 * 8_948, saved: 768 });
        assert_eq!(queue.memory(), 0);
    }
}
