//! The out-of-order queue: what has arrived beyond `rcv_nxt`, buffer by buffer, and what memory it holds.
//!
//! Contents are not stored, only where they lie. As in Linux 6.1 a segment that continues a buffer may be joined to it,
//! also where a later buffer has the same bytes already: these then are there twice, and no DSACK reports them.

use super::buffers::{Buffers, Piece};
use super::sack_list::Dsack;
use super::tree::{NONE, NodeId, Side, Tree};

mod overflow;

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
#[derive(Clone, Debug)]
pub(super) struct OutOfOrder {
    held: Tree<Piece>,
    /// The last one.
    last: NodeId,
    memory: u64,
}

impl Default for OutOfOrder {
    fn default() -> Self {
        Self { held: Tree::default(), last: NONE, memory: 0 }
    }
}

impl OutOfOrder {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.held.root() == NONE
    }

    /// Bytes of receive buffer that the queued segments take, overhead included.
    #[inline]
    pub(super) fn memory(&self) -> u64 {
        self.memory
    }

    /// Adds `start..end`, a segment of `len` bytes beyond a hole, and notes in `dsack` what of it was found to be there
    /// before.
    pub(super) fn insert(
        &mut self,
        (start, end): (u64, u64),
        len: u32,
        buffers: Buffers,
        dsack: &mut Dsack,
    ) -> Inserted {
        let new = Piece { start, end, buffer: buffers.of(len) };
        let (mut parent, mut side) = (NONE, Side::Right);
        let mut next = self.held.root();
        if next != NONE {
            // Most segments follow the last one.
            if self.join(self.last, &new) {
                return Inserted::Joined;
            }
            if start >= self.held.value(self.last).end {
                (parent, next) = (self.last, NONE);
            }
        }
        while next != NONE {
            parent = next;
            let met = *self.held.value(parent);
            side = if start < met.start { Side::Left } else { Side::Right };
            if start >= met.start && start < met.end {
                if end <= met.end {
                    dsack.set(start, end);
                    return Inserted::Known;
                }
                if start == met.start {
                    dsack.extend(met.start, met.end);
                    *self.held.value_mut(parent) = new;
                    self.memory = self.memory + new.buffer.memory - met.buffer.memory;
                    self.remove_covered(parent, dsack);
                    return Inserted::Alone;
                }
                dsack.set(start, met.end);
            } else if start >= met.end && self.join(parent, &new) {
                return Inserted::Joined;
            }
            next = self.held.child(parent, side);
        }
        let at = self.held.insert(parent, side, new);
        self.memory += new.buffer.memory;
        self.remove_covered(at, dsack);
        Inserted::Alone
    }

    /// Joins a segment to a buffer that it continues, if that takes it in.
    fn join(&mut self, at: NodeId, new: &Piece) -> bool {
        let cost = self.held.value_mut(at).join(new);
        self.memory += cost.unwrap_or(0);
        cost.is_some()
    }

    /// Takes out what a new buffer covers behind its start.
    fn remove_covered(&mut self, at: NodeId, dsack: &mut Dsack) {
        let end = self.held.value(at).end;
        loop {
            let next = self.held.next(at);
            if next == NONE {
                self.last = at;
                return;
            }
            let behind = *self.held.value(next);
            if end <= behind.start {
                return;
            }
            if end < behind.end {
                return dsack.extend(behind.start, end);
            }
            self.remove(next);
            dsack.extend(behind.start, behind.end);
        }
    }

    fn remove(&mut self, at: NodeId) -> Piece {
        let held = self.held.remove(at);
        self.memory -= held.buffer.memory;
        held
    }

    /// [`OutOfOrder::advance`] to the end of `last`, to which what follows may be joined.
    pub(super) fn follow(&mut self, mut last: Piece, dsack: &mut Dsack) -> Advanced {
        self.advance(last.end, dsack, |piece| {
            let cost = last.join(&piece);
            if cost.is_none() {
                last = piece;
            }
            cost
        })
    }

    /// The stream is complete up to `rcv_nxt`: takes out every buffer that this reaches and notes the overlap in `dsack`.
    /// `take` gets each that has something new; it returns by how much the one before costs more if it is joined to that.
    pub(super) fn advance(
        &mut self,
        mut rcv_nxt: u64,
        dsack: &mut Dsack,
        mut take: impl FnMut(Piece) -> Option<u64>,
    ) -> Advanced {
        let filled = rcv_nxt;
        let (mut first_end, mut is_first) = (rcv_nxt, true);
        let mut saved = 0;
        loop {
            let first = self.held.first();
            if first == NONE || self.held.value(first).start > rcv_nxt {
                break;
            }
            let piece = self.remove(first);
            if piece.start < filled {
                dsack.extend(piece.start, piece.end.min(filled));
            }
            if piece.end <= rcv_nxt {
                saved += piece.buffer.memory;
                continue;
            }
            match take(piece) {
                Some(cost) => saved += piece.buffer.memory - cost,
                None => is_first = false,
            }
            rcv_nxt = piece.end;
            if is_first {
                first_end = rcv_nxt;
            }
        }
        Advanced { rcv_nxt, first_end, saved }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::SackBlock;
    use crate::config::Config;

    fn buffers() -> Buffers {
        Buffers::new(&Config::default())
    }

    pub fn queue(ranges: &[(u64, u64)]) -> OutOfOrder {
        let mut queue = OutOfOrder::default();
        for &(start, end) in ranges {
            assert_eq!(
                queue.insert((start, end), (end - start) as u32, buffers(), &mut Dsack::default()),
                Inserted::Alone
            );
        }
        queue
    }

    pub fn ranges(queue: &OutOfOrder) -> Vec<(u64, u64)> {
        let is_there = |&at: &NodeId| at != NONE;
        let first = Some(queue.held.first()).filter(is_there);
        let nodes = std::iter::successors(first, |&at| Some(queue.held.next(at)).filter(is_there));
        nodes.map(|at| (queue.held.value(at).start, queue.held.value(at).end)).collect()
    }

    #[test]
    fn buffers_are_kept_in_order_and_cost_what_they_take() {
        let queue = queue(&[(10, 2_010), (4_010, 6_010), (2_010, 4_010), (7_000, 9_000), (0, 5)]);
        assert_eq!(ranges(&queue), [(0, 5), (10, 2_010), (2_010, 4_010), (4_010, 6_010), (7_000, 9_000)]);
        assert_eq!(queue.memory(), 4 * 4_352 + 768);
    }

    /// In the first order the buffer that came last is the root of the tree: what continues it is joined to it before the
    /// next one is met.
    #[test]
    fn a_duplicate_that_continues_a_buffer_above_its_original_is_joined_and_not_reported() {
        for (order, inserted, reported) in [
            ([0, 30_000, 21_052], Inserted::Joined, None),
            ([30_000, 21_052, 50_000], Inserted::Known, Some(SackBlock { start: 30_000, end: 38_948 })),
        ] {
            let mut queue = queue(&order.map(|start| (start, start + 8_948)));
            let mut dsack = Dsack::default();
            assert_eq!(queue.insert((30_000, 38_948), 8_948, buffers(), &mut dsack), inserted);
            assert_eq!(dsack.block(), reported);
            let is_twice = u64::from(inserted == Inserted::Joined);
            assert_eq!(queue.memory(), 3 * 13_056 + is_twice * 12_288);
            // Filled up to the buffer in the middle. What lies below or is there twice is freed; of each buffer that is joined
            // to the filling one its first part is.
            let advanced =
                queue.follow(Piece { start: 0, end: 21_052, buffer: buffers().of(1_448) }, &mut Dsack::default());
            let (freed, left) = if is_twice == 1 { (2 * 13_056 + 768, 0) } else { (2 * 768, 13_056) };
            assert_eq!((advanced.rcv_nxt, advanced.saved, queue.memory()), (38_948, freed, left));
        }
    }

    #[test]
    fn what_covers_others_takes_their_place() {
        let mut queue = queue(&[(10, 20), (30, 40), (50, 60)]);
        let mut dsack = Dsack::default();
        assert_eq!(queue.insert((10, 45), 35, buffers(), &mut dsack), Inserted::Alone);
        assert_eq!((ranges(&queue), dsack.block()), (vec![(10, 45), (50, 60)], Some(SackBlock { start: 10, end: 20 })));
        assert_eq!(queue.insert((46, 70), 24, buffers(), &mut Dsack::default()), Inserted::Alone);
        assert_eq!(ranges(&queue), [(10, 45), (46, 70)]);
        assert_eq!(queue.memory(), 2 * 768);
        // It is the last one now.
        assert_eq!(queue.insert((70, 80), 10, buffers(), &mut dsack), Inserted::Joined);
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
        assert_eq!(ranges(&queue), [(10, 20), (15, 35), (30, 40)]);
        // 15..20 comes first; 30..35 does not touch it, so one DSACK block cannot hold both.
        assert_eq!(dsack.block(), Some(SackBlock { start: 15, end: 20 }));
    }

    #[test]
    fn filling_the_hole_takes_the_reachable_ranges_out() {
        let mut queue = queue(&[(10, 20), (30, 40)]);
        let last = |end| Piece { start: 0, end, buffer: buffers().of(1_448) };
        let mut dsack = Dsack::default();
        // Ten bytes fit behind 1448, and so cost nothing any more.
        assert_eq!(queue.follow(last(10), &mut dsack), Advanced { rcv_nxt: 20, first_end: 20, saved: 768 });
        assert_eq!(dsack.block(), None);
        assert_eq!(queue.follow(last(33), &mut dsack), Advanced { rcv_nxt: 40, first_end: 33, saved: 0 });
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
        let last = |len| Piece { start: 0, end: 8_948, buffer: buffers().of(len) };
        let alone = queue.clone().follow(last(8_948), &mut Dsack::default());
        assert_eq!(alone, Advanced { rcv_nxt, first_end: 8_948, saved: 0 });
        // One of 2 pages does: 17.
        let joined = queue.follow(last(8_192), &mut Dsack::default());
        assert_eq!(joined, Advanced { rcv_nxt, first_end: 6 * 8_948, saved: 768 });
        assert_eq!(queue.memory(), 0);
    }
}
