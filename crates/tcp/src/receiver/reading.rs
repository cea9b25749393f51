//! An application that does not read at once: what has arrived in order stays in the receive buffer, narrows the window,
//! and opens it again when it is read.
//!
//! As in Linux 6.1 the payload of a buffer is freed with the last of its bytes.

use std::collections::VecDeque;

use daybreak_units::Instant;

use super::Receiver;
use super::buffers::Piece;
use super::collapse::Copies;
use super::window::ReceiveWindow;

/// What the application has not read.
#[derive(Clone, Debug)]
pub(super) struct Unread {
    /// In order; a FIN is not counted.
    pieces: VecDeque<Piece>,
    /// What they cost of the receive buffer.
    memory: u64,
    /// First byte that was not read.
    next: u64,
}

impl Unread {
    fn new(next: u64) -> Self {
        Self { pieces: VecDeque::new(), memory: 0, next }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub(super) fn memory(&self) -> u64 {
        self.memory
    }

    /// The next bytes. If they are joined to the ones before, returns by how much these cost more.
    pub(super) fn push(&mut self, piece: Piece) -> Option<u64> {
        if let Some(cost) = self.pieces.back_mut().and_then(|last| last.join(&piece)) {
            self.memory += cost;
            return Some(cost);
        }
        self.memory += piece.buffer.memory;
        self.pieces.push_back(piece);
        None
    }

    /// Copies what is there into buffers of a page.
    pub(super) fn collapse(&mut self, window: &ReceiveWindow, rcv_nxt: u64, fin_seq: u64) {
        let pieces = self.pieces.make_contiguous();
        let copies = Copies::of(pieces, (self.next, rcv_nxt), window, |piece| piece.end == fin_seq);
        let Some(&last) = copies.gone.last() else { return };
        let mut rest = self.pieces.split_off(last + 1);
        for gone in copies.gone.into_iter().rev() {
            self.pieces.remove(gone);
        }
        self.pieces.extend(copies.made);
        self.pieces.append(&mut rest);
        self.memory = self.pieces.iter().map(|piece| piece.buffer.memory).sum();
    }
}

impl Receiver {
    /// What arrives stays in the buffer from now on.
    pub fn stop_reading(&mut self) {
        // The SYN is not read.
        self.unread.get_or_insert_with(|| Box::new(Unread::new(self.rcv_nxt.max(1))));
        self.holds_data = true;
    }

    /// The application reads what is there, and whatever arrives from now on.
    pub fn read_all(&mut self, now: Instant) -> u64 {
        let read = self.read(now, u64::MAX);
        self.unread = None;
        self.holds_data = !self.queue.is_empty();
        read
    }

    /// The application reads up to `bytes` of what has arrived; returns how many it were.
    pub fn read(&mut self, now: Instant, bytes: u64) -> u64 {
        let has_fin = self.fin_seq < self.rcv_nxt;
        let end = self.rcv_nxt - u64::from(has_fin);
        let ahead = self.ahead();
        let Some(unread) = &mut self.unread else { return 0 };
        let start = unread.next;
        let until = start.saturating_add(bytes).min(end);
        while unread.next < until {
            let Some(piece) = unread.pieces.front() else { break };
            let (end, memory) = (piece.end, piece.buffer.memory);
            unread.next = end.min(until);
            self.window.adjust_space(now, unread.next, self.rcv_nxt, ahead);
            if unread.next == end {
                unread.pieces.pop_front();
                unread.memory -= memory;
            }
        }
        let read = unread.next - start;
        if read > 0 {
            let unacked = self.rcv_nxt - self.window.rcv_wup();
            let is_due = self.policy.due_after_read(unacked, self.memory() == 0);
            self.ack_pending |= is_due || self.window_doubles(read);
        }
        read
    }

    /// Something has arrived in order and is not read.
    pub(super) fn has_unread(&self) -> bool {
        self.unread.as_ref().is_some_and(|unread| !unread.is_empty())
    }

    /// What the receive buffer holds, overhead included.
    #[inline]
    pub(crate) fn memory(&self) -> u64 {
        debug_assert_eq!(self.holds_data, !self.queue.is_empty() || self.unread.is_some());
        if !self.holds_data {
            return 0;
        }
        self.queue.memory() + self.unread.as_ref().map_or(0, |unread| unread.memory())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::receiver::buffers::Buffers;

    fn unread(segments: &[u32]) -> Unread {
        let buffers = Buffers::new(&Config::default());
        let mut unread = Unread::new(1);
        let mut start = 1;
        for &len in segments {
            let end = start + u64::from(len);
            unread.push(Piece { start, end, buffer: buffers.of(len) });
            start = end;
        }
        unread
    }

    #[test]
    fn small_segments_share_what_room_there_is() {
        // 16 + 66 + 700 bytes with what is at the end take 2,304; 946 are left behind the payload.
        for (segments, pieces) in [(2, 1), (3, 2)] {
            let unread = unread(&vec![700; segments]);
            assert_eq!((unread.pieces.len(), unread.memory()), (pieces, 2_304 * pieces as u64));
        }
    }
}
