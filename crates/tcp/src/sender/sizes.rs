//! How long segments are: the MSS, what bounds it, and what was cut into segments before it changed.

use std::collections::VecDeque;

use super::Sender;
use crate::config::Config;
use crate::sender::transmit::send_buffer::segment_overhead;

/// Windows up to this are filled by a single segment: the default MSS (RFC 9293, section 3.7.1).
const SMALL_WINDOW: u32 = 536;
/// No segment is smaller for the sake of a window: an IP packet of 68 bytes (RFC 791).
const MSS_LEAST: u32 = 36;

/// The sizes of segments in bytes.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Sizes {
    /// Payload of a full segment.
    pub mss: u32,
    /// Bytes of a segment that SACK blocks for the peer take from the payload.
    pub option_len: u32,
    /// End of what waits in segments smaller than the present ones.
    pub built_end: u64,
    /// Memory of a segment, or of a burst, besides its payload.
    pub overhead: u64,
    /// Longest burst that the host may hand to the NIC as one.
    pub tso_max_bytes: u32,
    /// What was negotiated of `mss`: a small window lessens it.
    pub full_mss: u32,
}

/// What the handshake settles of a full segment, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FullSegment {
    pub payload: u32,
    /// TCP options of each segment.
    pub options: u32,
    /// The peer's MSS option.
    pub mss_of_peer: u32,
}

/// Runs of segments that wait and are smaller than the present ones: where each run ends, and the size of its segments.
pub(super) type Built = VecDeque<(u64, u32)>;

impl Sizes {
    pub fn new(config: &Config) -> Self {
        Self {
            mss: config.mtu.saturating_sub(40).max(1),
            option_len: 0,
            built_end: 0,
            overhead: segment_overhead(config.profile),
            tso_max_bytes: config.tso_max_bytes,
            full_mss: 0,
        }
    }

    /// Payload of a full segment with what else the next one carries.
    #[inline]
    pub fn payload(&self) -> u32 {
        self.mss - self.option_len
    }

    /// Bytes of a buffer that is full, of whole segments: no more than half of the largest `window` of the peer.
    pub fn full_buffer(&self, window: u32) -> u64 {
        if !self.builds_bursts() {
            return u64::from(self.mss);
        }
        let most = if window > SMALL_WINDOW { window / 2 } else { window };
        u64::from((self.tso_max_bytes.min(most) / self.mss).max(1) * self.mss)
    }

    /// Segments that the host may hand to the NIC as one.
    #[inline]
    pub fn segments_a_burst(&self) -> u32 {
        (self.tso_max_bytes / self.mss).max(1)
    }

    /// The stack builds bursts.
    #[inline]
    pub fn builds_bursts(&self) -> bool {
        self.tso_max_bytes > self.mss
    }
}

impl Sender {
    /// The peer offers `window` bytes. Caps the MSS at half the largest window seen, so that two segments fit
    /// (`tcp_bound_to_half_wnd`).
    #[inline]
    pub(crate) fn on_window(&mut self, window: u32) {
        if window > self.peer.max_window {
            self.peer.max_window = window;
            if self.sizes.mss < self.sizes.full_mss || window / 2 < self.sizes.mss {
                self.bound_mss();
            }
        }
    }

    #[cold]
    fn bound_mss(&mut self) {
        let largest = self.peer.max_window;
        let most = if largest > SMALL_WINDOW { largest / 2 } else { largest };
        let before = self.sizes.mss;
        self.sizes.mss = self.sizes.full_mss.min(most.max(MSS_LEAST));
        if self.sizes.mss > before {
            // A buffer of several segments is cut when it leaves.
            if !self.sizes.builds_bursts() {
                self.keep_built(before);
            }
            self.update_capacity();
        }
    }
}

/// Linux 6.1.192 cuts what the application writes into segments when it is written, and does not join them when the window of
/// the peer, and with it the largest segment, grows. Nor does it join the rest of one that a window probe has split.
impl Sender {
    /// What waits in segments of `mss` bytes stays so. The last one may still grow.
    pub(super) fn keep_built(&mut self, mss: u32) {
        let start = self.snd_nxt.max(self.sizes.built_end);
        let mss_bytes = u64::from(mss);
        let whole = self.buffer.write_seq.saturating_sub(start + 1) / mss_bytes * mss_bytes;
        if whole > 0 {
            self.built.push_back((start + whole, mss));
            self.sizes.built_end = start + whole;
        }
    }

    /// The next segment ends at `end`.
    pub(super) fn keep_rest(&mut self, end: u64) {
        self.built.push_front((end, u32::MAX));
        self.sizes.built_end = self.sizes.built_end.max(end);
    }

    /// The longest that the next segment may be.
    #[cold]
    pub(super) fn built_len(&mut self) -> u32 {
        while self.built.front().is_some_and(|&(end, _)| end <= self.snd_nxt) {
            self.built.pop_front();
        }
        self.built.front().map_or(u32::MAX, |&(end, mss)| mss.min((end - self.snd_nxt) as u32))
    }

    /// With [`crate::config::Profile::filled_segments`] one that is about to leave, and is shorter than `full`, takes in
    /// what it has room for of the next one.
    #[cold]
    pub(super) fn fill_built(&mut self, full: u32) -> u32 {
        let len = self.built_len();
        if !self.settings.profile.filled_segments || len >= full {
            return len;
        }
        let end = self.snd_nxt + u64::from(len);
        let (next, is_last) = self.built_behind(end);
        let taken = next.min(full - len);
        if taken == 0 {
            return len;
        }
        let (next_end, filled) = (end + u64::from(next), end + u64::from(taken));
        while self.built.front().is_some_and(|&(run_end, _)| run_end <= next_end) {
            self.built.pop_front();
        }
        if taken < next && !is_last {
            self.keep_rest(next_end);
        }
        // What is left of the last one grows with what is written: it begins where this one ends.
        self.sizes.built_end = self.sizes.built_end.max(filled);
        self.built.push_front((filled, u32::MAX));
        len + taken
    }

    /// The length of the segment that begins at `start`, and whether it is the last one that waits.
    fn built_behind(&self, start: u64) -> (u32, bool) {
        let run = self.built.iter().find(|&&(end, _)| end > start);
        let (run_end, size) = run.copied().unwrap_or((self.buffer.write_seq, self.sizes.mss));
        let len = u64::from(size).min(run_end.saturating_sub(start));
        (len as u32, start + len >= self.buffer.write_seq)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::congestion;

    #[test]
    fn a_buffer_is_of_whole_segments_and_no_more_than_half_of_a_window_that_is_not_small() {
        // tcp_bound_to_half_wnd(): below 537 bytes all of it.
        let rule = congestion::find("reno").expect("a rule").rule(1);
        let mut sizes = Sender::new(&Config::default(), rule).sizes;
        sizes.mss = 100;
        for (tso_max_bytes, window, bytes, builds) in [
            (100, 60_000, 100, false),
            (101, 60_000, 100, true),
            (1_000, 60_000, 1_000, true),
            (1_050, 60_000, 1_000, true),
            (1_000, 1_000, 500, true),
            (1_000, 537, 200, true),
            (1_000, 536, 500, true),
            (1_000, 50, 100, true),
        ] {
            sizes.tso_max_bytes = tso_max_bytes;
            assert_eq!(
                (sizes.full_buffer(window), sizes.builds_bursts()),
                (bytes, builds),
                "{tso_max_bytes}, {window}"
            );
        }
    }

    /// Segments of 1,448 bytes, of which the first byte is next and this many wait.
    fn sender(waiting: u64) -> Sender {
        let profile = crate::config::Profile { filled_segments: true, ..Default::default() };
        let rule = congestion::find("reno").expect("a rule").rule(1);
        let mut sender = Sender::new(&Config { profile, ..Config::default() }, rule);
        (sender.snd_nxt, sender.buffer.write_seq, sender.sizes.mss) = (1, 1 + waiting, 1_448);
        sender
    }

    #[test]
    fn what_waits_keeps_its_size_but_for_the_last_segment() {
        for (waiting, built) in [(1_000, vec![]), (1_001, vec![(1_001, 1_000)]), (3_000, vec![(2_001, 1_000)])] {
            let mut sender = sender(waiting);
            sender.keep_built(1_000);
            assert_eq!(
                (Vec::from(sender.built.clone()), sender.sizes.built_end),
                (built.clone(), built.first().map_or(0, |run| run.0))
            );
        }
        // The next run begins where the first one ends, or with what is sent next.
        let mut sender = sender(8_000);
        sender.built.push_back((3_001, 1_000));
        sender.sizes.built_end = 3_001;
        sender.keep_built(2_000);
        assert_eq!(Vec::from(sender.built.clone()), [(3_001, 1_000), (7_001, 2_000)]);
        for (snd_nxt, segments) in [(1, 5), (1_501, 4), (2_001, 3), (3_001, 2), (7_001, 0)] {
            sender.snd_nxt = snd_nxt;
            assert_eq!(sender.built_segments(), segments, "from {snd_nxt} on");
        }
    }

    #[test]
    fn a_segment_that_is_filled_takes_what_it_has_room_for_of_the_next() {
        // What waits, in segments of 1,000 bytes up to this end; how long the next one becomes, and what is built then.
        for (waiting, end, len, built) in [
            (5_000, 3_001, 1_448, vec![(1_449, u32::MAX), (2_001, u32::MAX), (3_001, 1_000)]),
            (1_500, 1_001, 1_448, vec![(1_449, u32::MAX)]),
            (1_300, 1_001, 1_300, vec![(1_301, u32::MAX)]),
            (1_000, 1_001, 1_000, vec![(1_001, 1_000)]),
            (1_448, 1_001, 1_448, vec![(1_449, u32::MAX)]),
        ] {
            let mut sender = sender(waiting);
            sender.built.push_back((end, 1_000));
            sender.sizes.built_end = end;
            assert_eq!((sender.fill_built(1_448), Vec::from(sender.built.clone())), (len, built), "of {waiting}");
        }
        let mut sender = sender(5_000);
        sender.settings.profile.filled_segments = false;
        sender.built.push_back((3_001, 1_000));
        assert_eq!((sender.fill_built(1_448), sender.built.len()), (1_000, 1), "others leave as they are");
    }
}
