//! What lies together in one buffer, of what the application has written: a burst is of one.

use std::collections::VecDeque;

/// The buffers of a sender that builds bursts, and how far the application's write is.
#[derive(Clone, Debug, Default)]
pub(in crate::sender) struct Bursts {
    /// Ends of those that wait. The first begins with the next new byte.
    waiting: VecDeque<u64>,
    /// Ends of those that were sent, some of which may be acknowledged.
    sent: VecDeque<u64>,
    /// End of the burst that is leaving, or has left.
    leaving: u64,
    /// The application is within a write, and may wait for room there.
    is_writing: bool,
    /// What may leave before the write goes on.
    pause: Option<Pause>,
}

/// Linux sends while the application writes, each time when a buffer is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sender) enum Pause {
    /// As usual: more than half of the peer's largest window was written since the last time.
    All,
    /// A burst of the buffer, which is the only one; it does not wait for an ACK.
    One,
    /// That burst has left, or the end of a write is corked.
    Nothing,
}

/// The write.
impl Bursts {
    /// The application is within a write.
    pub fn is_writing(&self) -> bool {
        self.is_writing
    }

    /// What it has written goes up to `end`; it lies in the last buffer, or begins one. Whether the write is complete.
    pub fn write(&mut self, end: u64, joins_last: bool, is_complete: bool) {
        self.is_writing = !is_complete;
        match self.waiting.back_mut().filter(|_| joins_last) {
            Some(last) => *last = end,
            None => self.waiting.push_back(end),
        }
    }

    /// What may leave before the write goes on.
    pub fn pause(&self) -> Option<Pause> {
        self.pause
    }

    /// Only this may leave before the write goes on, or for now if it is complete.
    pub fn pause_for(&mut self, pause: Pause) {
        self.pause = Some(pause);
    }

    /// Nothing more is held back. True if a write goes on.
    pub fn resume(&mut self) -> bool {
        self.pause.take().is_some() && self.is_writing
    }
}

/// The buffers.
impl Bursts {
    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Bytes of the last buffer, if one waits; the first one begins at `snd_nxt`.
    pub fn last_len(&self, snd_nxt: u64) -> Option<u64> {
        let end = self.waiting.back()?;
        Some(end - self.waiting.iter().rev().nth(1).copied().unwrap_or(snd_nxt))
    }

    /// End of the next buffer.
    pub fn next_end(&self) -> Option<u64> {
        self.waiting.front().copied()
    }

    /// What lies before `end` has a buffer of its own, and is the next one.
    pub fn split(&mut self, end: u64) {
        self.waiting.push_front(end);
    }

    /// End of the burst that is leaving, or has left.
    pub fn leaving(&self) -> u64 {
        self.leaving
    }

    /// A burst leaves that ends at `end`.
    pub fn send(&mut self, snd_una: u64, end: u64) {
        self.leaving = end;
        if self.pause == Some(Pause::One) {
            self.pause = Some(Pause::Nothing);
        }
        if self.waiting.front() == Some(&end) {
            self.waiting.pop_front();
        }
        while self.sent.front().is_some_and(|&sent| sent <= snd_una) {
            self.sent.pop_front();
        }
        self.sent.push_back(end);
    }

    /// How many hold what is not acknowledged.
    pub fn count(&self, snd_una: u64) -> u64 {
        let acknowledged = self.sent.partition_point(|&end| end <= snd_una);
        (self.waiting.len() + self.sent.len() - acknowledged) as u64
    }
}
