//! An application that does not read at once: what has arrived in order stays in the receive buffer, narrows the window,
//! and opens it again when it is read.
//!
//! As in Linux 6.1 the payload of a segment is freed with the last of its bytes. What the filling of a hole brings is
//! freed as one. Not modelled: a buffer that overflows because segments are small and not read.

use std::collections::VecDeque;

use daybreak_units::Instant;

use super::Receiver;
use super::buffers::Buffer;

/// What the application has not read.
#[derive(Clone, Debug)]
pub(super) struct Unread {
    /// End and memory of what is freed together, in order.
    pieces: VecDeque<(u64, u64)>,
    /// What they cost of the receive buffer.
    memory: u64,
    /// The buffer of the last piece, to which the next may be joined.
    last: Option<Buffer>,
    /// First byte that was not read.
    next: u64,
}

impl Unread {
    fn new(next: u64) -> Self {
        Self { pieces: VecDeque::new(), memory: 0, last: None, next }
    }

    pub(super) fn memory(&self) -> u64 {
        self.memory
    }

    /// The next bytes, up to `end`, have arrived in this buffer.
    pub(super) fn push(&mut self, end: u64, buffer: Buffer) {
        if let (Some(last), Some((piece_end, memory))) = (&mut self.last, self.pieces.back_mut())
            && let Some(cost) = last.join(&buffer)
        {
            *piece_end = end;
            *memory += cost;
            self.memory += cost;
            return;
        }
        self.last = Some(buffer);
        self.push_memory(end, buffer.memory);
    }

    /// What lay beyond a hole follows, up to `end`.
    pub(super) fn push_filled(&mut self, end: u64, memory: u64) {
        self.last = None;
        self.push_memory(end, memory);
    }

    fn push_memory(&mut self, end: u64, memory: u64) {
        self.pieces.push_back((end, memory));
        self.memory += memory;
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
        let Some(unread) = &mut self.unread else { return 0 };
        let start = unread.next;
        let until = start.saturating_add(bytes).min(end);
        while unread.next < until {
            let Some(&(piece_end, memory)) = unread.pieces.front() else { break };
            unread.next = piece_end.min(until);
            self.window.adjust_space(now, unread.next, self.rcv_nxt);
            if unread.next == piece_end {
                unread.pieces.pop_front();
                unread.memory -= memory;
            }
        }
        if unread.pieces.is_empty() {
            unread.last = None;
        }
        let read = unread.next - start;
        if read > 0 {
            let unacked = self.rcv_nxt - self.window.rcv_wup();
            let is_due = self.policy.due_after_read(unacked, self.memory() == 0);
            self.ack_pending |= is_due || self.window_doubles(read);
        }
        read
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

    /// A segment that came in order, up to `end`, stays in the buffer.
    #[cold]
    pub(super) fn keep(&mut self, end: u64, len: u32) {
        let buffer = self.window.buffers().of(len);
        if let Some(unread) = &mut self.unread {
            unread.push(end, buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::receiver::buffers::Buffers;

    #[test]
    fn small_segments_share_what_room_there_is() {
        let buffers = Buffers::new(&Config::default());
        let mut unread = Unread::new(1);
        // 16 + 66 + 700 bytes with what is at the end take 2,304; 946 are left behind the payload.
        unread.push(701, buffers.of(700));
        unread.push(1_401, buffers.of(700));
        assert_eq!((unread.pieces.len(), unread.memory()), (1, 2_304));
        unread.push(2_101, buffers.of(700));
        assert_eq!((unread.pieces.len(), unread.memory()), (2, 4_608));
    }
}
