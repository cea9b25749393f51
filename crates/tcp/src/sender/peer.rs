//! The window that the peer offers (RFC 9293, section 3.10.7.4).

use crate::Segment;
use crate::config::Profile;

/// What the peer has advertised of its window, in bytes.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct PeerWindow {
    /// It takes data up to `snd_una` and this.
    pub window: u32,
    /// The largest so far.
    pub max_window: u32,
    /// Sequence number of the segment that last updated it (`snd_wl1`).
    pub window_seq: u64,
}

impl PeerWindow {
    /// The segment is newer than the one that advertised the present window, or offers more, its acknowledgement apart.
    /// With [`Profile::same_segment_closes`] also that it is closed.
    #[inline]
    pub fn is_updated_by(&self, segment: &Segment, profile: Profile) -> bool {
        let says_more = segment.window > self.window || (segment.window == 0 && profile.same_segment_closes);
        segment.seq > self.window_seq || (segment.seq == self.window_seq && says_more)
    }
}
