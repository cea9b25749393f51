//! What the next ACK reports beyond `rcv_nxt`: the SACK blocks, most recently changed first
//! (RFC 2018, section 4), and one DSACK block (RFC 2883).

use std::collections::BTreeMap;

use crate::{SackBlock, Segment};

/// Blocks that are remembered. Without timestamps all fit into a segment, with them three.
const REMEMBERED: usize = 4;
/// Blocks that every ACK can carry next to a DSACK and timestamps; a change behind them is urgent.
const ALWAYS_CARRIED: usize = 2;

/// The duplicate range to report with the next ACK, if any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Dsack {
    range: SackBlock,
    present: bool,
}

impl Dsack {
    /// Reports this range; an earlier one that was not yet sent is forgotten.
    pub(super) fn set(&mut self, start: u64, end: u64) {
        *self = Self { range: SackBlock { start, end }, present: true };
    }

    /// Widens the range to be reported, or starts one. What neither overlaps nor touches is left out:
    /// there is room for one block.
    pub(super) fn extend(&mut self, start: u64, end: u64) {
        if self.present {
            join(&mut self.range, SackBlock { start, end });
        } else {
            self.set(start, end);
        }
    }

    /// The range to report.
    pub(super) fn block(self) -> Option<SackBlock> {
        self.present.then_some(self.range)
    }
}

/// All contiguous ranges beyond `rcv_nxt`, for a receiver that reports each as a whole, however many segments it has.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds what a segment brings; returns the range that it is in now.
    pub(super) fn add(&mut self, segment: SackBlock) -> SackBlock {
        let mut whole = segment;
        while let Some((&start, &end)) = self.0.range(..=whole.end).next_back() {
            if !join(&mut whole, SackBlock { start, end }) {
                break;
            }
            self.0.remove(&start);
        }
        self.0.insert(whole.start, whole.end);
        whole
    }

    /// Forgets what the cumulative acknowledgement has reached.
    pub(super) fn remove_below(&mut self, rcv_nxt: u64) {
        while self.0.first_key_value().is_some_and(|(&start, _)| start <= rcv_nxt) {
            self.0.pop_first();
        }
    }
}

/// The received ranges that ACKs report.
#[derive(Clone, Debug, Default)]
pub(super) struct SackList {
    count: u8,
    blocks: [SackBlock; REMEMBERED],
}

impl SackList {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// End of the highest block.
    pub(super) fn highest(&self) -> Option<u64> {
        self.blocks[..usize::from(self.count)].iter().map(|block| block.end).max()
    }

    /// What no segment has carried for this many others is forgotten.
    pub(super) fn keep(&mut self, blocks: u8) {
        self.count = self.count.min(blocks);
    }

    /// A segment joined the out-of-order queue, or repeated a part of it. Its block moves to the front.
    pub(super) fn report(&mut self, segment: SackBlock) {
        let count = usize::from(self.count);
        if let Some(at) = self.position(segment) {
            join(&mut self.blocks[at], segment);
            self.blocks[..=at].rotate_right(1);
            self.merge_into_first();
            return;
        }
        let kept = count.min(REMEMBERED - 1);
        self.blocks[..=kept].rotate_right(1);
        self.blocks[0] = segment;
        self.count = (kept + 1) as u8;
    }

    /// Reporting this segment pushes back blocks whose current state may not have been reported to the peer: an ACK
    /// that is being held back should go first. A block that grows has grown in that ACK, but still has its place.
    pub(super) fn pushes_back(&mut self, segment: SackBlock) -> bool {
        match self.position(segment) {
            Some(at) if at >= ALWAYS_CARRIED => join(&mut self.blocks[at], segment),
            Some(_) => false,
            None => usize::from(self.count) >= ALWAYS_CARRIED,
        }
    }

    /// The first block that the segment overlaps or touches.
    fn position(&self, segment: SackBlock) -> Option<usize> {
        self.blocks[..usize::from(self.count)].iter().position(|block| joins(*block, segment))
    }

    /// Forgets the blocks that the cumulative acknowledgement has reached.
    pub(super) fn remove_below(&mut self, rcv_nxt: u64) {
        let mut kept = 0;
        for index in 0..usize::from(self.count) {
            if self.blocks[index].start > rcv_nxt {
                self.blocks[kept] = self.blocks[index];
                kept += 1;
            }
        }
        self.count = kept as u8;
    }

    /// Blocks that a segment carries when `limit` fit, the DSACK among them.
    pub(super) fn carried(&self, dsack: Dsack, limit: u8) -> u8 {
        (self.count + u8::from(dsack.present)).min(limit)
    }

    /// Writes the DSACK and then the blocks, `limit` at most.
    pub(super) fn write(&self, dsack: Dsack, limit: u8, segment: &mut Segment) {
        let count = self.carried(dsack, limit);
        segment.sack_count = count;
        let blocks = dsack.block().into_iter().chain(self.blocks[..usize::from(self.count)].iter().copied());
        for (slot, block) in segment.sack[..usize::from(count)].iter_mut().zip(blocks) {
            *slot = block;
        }
    }

    /// The first block may have grown into others.
    fn merge_into_first(&mut self) {
        let mut kept = 1;
        for index in 1..usize::from(self.count) {
            let block = self.blocks[index];
            if !join(&mut self.blocks[0], block) {
                self.blocks[kept] = block;
                kept += 1;
            }
        }
        self.count = kept as u8;
    }
}

/// The two overlap or touch.
fn joins(block: SackBlock, other: SackBlock) -> bool {
    other.start <= block.end && block.start <= other.end
}

/// Makes `block` the union when the two overlap or touch.
fn join(block: &mut SackBlock, other: SackBlock) -> bool {
    let joined = joins(*block, other);
    if joined {
        block.start = block.start.min(other.start);
        block.end = block.end.max(other.end);
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(list: &SackList, dsack: Dsack, limit: u8) -> Vec<(u64, u64)> {
        let mut segment = Segment::default();
        list.write(dsack, limit, &mut segment);
        segment.sacks().iter().map(|block| (block.start, block.end)).collect()
    }

    #[test]
    fn the_example_of_rfc_2018_section_5() {
        // Case 2: segments of 500 bytes, the first (5000) lost, the next seven arrive.
        let mut list = SackList::default();
        for start in (5500..9000).step_by(500) {
            list.report(SackBlock { start, end: start + 500 });
        }
        assert_eq!(blocks(&list, Dsack::default(), 3), [(5500, 9000)]);
        // Case 3: every other segment lost: the most recent first.
        let mut list = SackList::default();
        for start in [5500, 6500, 7500, 8500] {
            list.report(SackBlock { start, end: start + 500 });
        }
        assert_eq!(blocks(&list, Dsack::default(), 4), [(8500, 9000), (7500, 8000), (6500, 7000), (5500, 6000)]);
    }

    #[test]
    fn the_changed_block_moves_to_the_front_and_swallows_its_neighbours() {
        let mut list = SackList::default();
        for start in [100, 300, 500] {
            list.report(SackBlock { start, end: start + 100 });
        }
        // The list is now 500, 300, 100; 200..300 joins the second, which then reaches the third.
        let segment = SackBlock { start: 200, end: 300 };
        assert!(!list.pushes_back(segment), "the first two blocks are in every ACK");
        list.report(segment);
        assert_eq!(blocks(&list, Dsack::default(), 3), [(100, 400), (500, 600)]);
    }

    #[test]
    fn a_fifth_block_drops_the_oldest() {
        let mut list = SackList::default();
        for start in [100, 300, 500, 700] {
            list.report(SackBlock { start, end: start + 100 });
        }
        let segment = SackBlock { start: 900, end: 1000 };
        assert!(list.pushes_back(segment));
        list.report(segment);
        assert_eq!(blocks(&list, Dsack::default(), 4), [(900, 1000), (700, 800), (500, 600), (300, 400)]);
    }

    #[test]
    fn a_dsack_comes_first_and_takes_a_place() {
        let mut list = SackList::default();
        for start in [100, 300, 500] {
            list.report(SackBlock { start, end: start + 100 });
        }
        let mut dsack = Dsack::default();
        dsack.set(0, 50);
        assert_eq!(blocks(&list, dsack, 3), [(0, 50), (500, 600), (300, 400)]);
    }

    #[test]
    fn the_cumulative_acknowledgement_removes_what_it_reached() {
        let mut list = SackList::default();
        for start in [100, 300] {
            list.report(SackBlock { start, end: start + 100 });
        }
        list.remove_below(200);
        assert_eq!(blocks(&list, Dsack::default(), 3), [(300, 400)]);
    }

    #[test]
    fn a_range_that_is_reached_is_no_longer_reported() {
        for (rcv_nxt, left) in [(9, 2), (10, 1), (25, 1), (30, 0)] {
            let mut ranges = Ranges::default();
            for (start, end) in [(10, 20), (30, 40)] {
                ranges.add(SackBlock { start, end });
            }
            ranges.remove_below(rcv_nxt);
            assert_eq!(ranges.0.len(), left, "{rcv_nxt}");
        }
    }
}
