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
            let wastes = |piece: &Piece| window.wastes(&piece.buffer);
            let has_fin = |piece: &Piece| piece.end > fin_seq;
            let copies = Copies::of(&pieces, (start, end), window.buffers(), wastes, has_fin);
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
