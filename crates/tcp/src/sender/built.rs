//! Segments that wait as they were built.
//!
//! Linux 6.1 cuts what the application writes into segments when it is written, and does not join them when the window of
//! the peer, and with it the largest segment, grows. Nor does it join the rest of one that a window probe has split.

use std::collections::VecDeque;

use super::Sender;

/// Runs of segments that wait and are smaller than the present ones: where each run ends, and the size of its segments.
pub(super) type Built = VecDeque<(u64, u32)>;

impl Sender {
    /// What waits in whole segments of `mss` bytes stays so. The last one, if it is not full, may still grow.
    pub(super) fn keep_built(&mut self, mss: u32) {
        let start = self.snd_nxt.max(self.built_end);
        let mss_bytes = u64::from(mss);
        let whole = self.buffer.write_seq.saturating_sub(start) / mss_bytes * mss_bytes;
        if whole > 0 {
            self.built.push_back((start + whole, mss));
            self.built_end = start + whole;
        }
    }

    /// The next segment ends at `end`.
    pub(super) fn keep_rest(&mut self, end: u64) {
        self.built.push_front((end, u32::MAX));
        self.built_end = self.built_end.max(end);
    }

    /// The longest that the next segment may be.
    #[cold]
    pub(super) fn built_len(&mut self) -> u32 {
        while self.built.front().is_some_and(|&(end, _)| end <= self.snd_nxt) {
            self.built.pop_front();
        }
        self.built.front().map_or(u32::MAX, |&(end, mss)| mss.min((end - self.snd_nxt) as u32))
    }

    /// How many of them wait.
    #[cold]
    pub(super) fn built_segments(&self) -> u64 {
        let (mut start, mut segments) = (self.snd_nxt, 0);
        for &(end, mss) in self.built.iter().filter(|(end, _)| *end > self.snd_nxt) {
            segments += (end - start).div_ceil(u64::from(mss));
            start = end;
        }
        segments
    }
}
