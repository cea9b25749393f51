//! What the out-of-order queue gives up when the receive buffer has less than it holds.

use super::super::buffers::PAGE_ROOM;
use super::super::collapse::Copies;
use super::super::window::ReceiveWindow;
use super::{NONE, NodeId, OutOfOrder, Piece, Side};

impl OutOfOrder {
    /// Copies each range without a hole into buffers of a page (Linux 6.1, `tcp_collapse_ofo_queue`). Ranges of one small
    /// buffer stay as they are, and when they have an eighth of the receive buffer, so do all that follow.
    pub(in super::super) fn collapse(&mut self, window: &ReceiveWindow, fin_seq: u64) {
        let mut small = 0;
        let mut next = self.held.first();
        while next != NONE {
            let first = *self.held.value(next);
            let (mut start, mut end) = (first.start, first.end);
            let (mut nodes, mut pieces) = (vec![next], vec![first]);
            loop {
                next = self.held.next(next);
                if next == NONE || self.held.value(next).start > end {
                    break;
                }
                let piece = *self.held.value(next);
                (start, end) = (start.min(piece.start), end.max(piece.end));
                nodes.push(next);
                pieces.push(piece);
            }
            if pieces.len() == 1 && end - start < PAGE_ROOM {
                small += first.buffer.memory;
                if small > window.rcvbuf() / 8 {
                    return;
                }
                continue;
            }
            let copies = Copies::of(&pieces, (start, end), window, |piece| piece.end > fin_seq);
            for gone in copies.gone {
                self.remove(nodes[gone]);
            }
            for made in copies.made {
                self.add(made);
            }
        }
        self.last = self.held.last();
    }

    /// Drops what lies last, an eighth of the receive buffer at least, until `unread` bytes of memory fit beside the rest (Linux
    /// 6.1, `tcp_prune_ofo_queue`); with `arriving` only what lies beyond this sequence number. True if anything was
    /// dropped.
    pub(in super::super) fn prune(&mut self, window: &ReceiveWindow, unread: u64, arriving: Option<u64>) -> bool {
        let goal = window.rcvbuf() / 8;
        let (mut is_pruned, mut freed) = (false, 0);
        while !self.is_empty() {
            if arriving.is_some_and(|seq| seq > self.held.value(self.last).start) {
                break;
            }
            let last = self.last;
            self.last = self.held.previous(last);
            freed += self.remove(last).buffer.memory;
            is_pruned = true;
            if self.is_empty() || freed >= goal {
                if !window.overflows(unread + self.memory) {
                    break;
                }
                freed = 0;
            }
        }
        is_pruned
    }

    /// End of the last piece; 0 without any.
    pub(in super::super) fn end(&self) -> u64 {
        if self.is_empty() { 0 } else { self.held.value(self.last).end }
    }

    fn add(&mut self, piece: Piece) {
        let (mut parent, mut side): (NodeId, Side) = (NONE, Side::Right);
        let mut next = self.held.root();
        while next != NONE {
            parent = next;
            side = if piece.start < self.held.value(parent).start { Side::Left } else { Side::Right };
            next = self.held.child(parent, side);
        }
        self.held.insert(parent, side, piece);
        self.memory += piece.buffer.memory;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{queue, ranges};
    use super::*;
    use crate::config::Config;

    /// Of a buffer that an application has set to twice `half` bytes.
    fn window(half: u32) -> ReceiveWindow {
        let mut window = ReceiveWindow::new(&Config::default());
        window.lock(half, true);
        window
    }

    #[test]
    fn small_ranges_stay_and_an_eighth_of_the_buffer_of_them_ends_it() {
        // 768 bytes of memory, then 2 * 1280, then 768.
        let held = [(0, 10), (100, 600), (600, 1_100), (2_000, 2_010)];
        let mut wide = queue(&held);
        wide.collapse(&window(8_000), u64::MAX);
        assert_eq!((ranges(&wide), wide.memory()), (vec![(0, 10), (100, 1_100), (2_000, 2_010)], 2 * 768 + 2_304));
        // What comes next is still joined to the last.
        assert_eq!(wide.end(), 2_010);
        let mut narrow = queue(&held);
        narrow.collapse(&window(3_000), u64::MAX);
        assert_eq!((ranges(&narrow), narrow.memory()), (held.to_vec(), 4_096), "768 are more than an eighth of 6000");
    }

    #[test]
    fn a_fin_stays_where_it_is() {
        let mut held = queue(&[(0, 500), (500, 1_000), (1_000, 1_401)]);
        held.collapse(&window(8_000), 1_400);
        // The buffer was made for all 1401.
        assert_eq!((ranges(&held), held.memory()), (vec![(0, 1_000), (1_000, 1_401)], 2_304 + 1_280));
    }

    #[test]
    fn at_least_an_eighth_of_the_buffer_goes_and_not_what_lies_below_what_arrives() {
        let small: Vec<_> = (0..22).map(|n| (100 * n, 100 * n + 1)).collect();
        // 22 * 768 are 16896, 16000 may be held, 2000 go: three.
        for (arriving, left) in [(None, 19), (Some(2_050), 21), (Some(2_200), 22)] {
            let mut held = queue(&small);
            assert_eq!(held.prune(&window(8_000), 0, arriving), left < 22);
            assert_eq!(ranges(&held).len(), left);
        }
        // Beside 9000 bytes that are not read: 2304 at a time, until 6144 are left.
        let mut held = queue(&small);
        held.prune(&window(8_000), 9_000, None);
        assert_eq!(held.memory(), 16_896 - 5 * 2_304);
    }
}
