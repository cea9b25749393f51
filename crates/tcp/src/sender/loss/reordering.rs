//! The adaptive reordering degree: how far apart segments of this path have been seen to arrive.

use crate::sender::Sender;

/// Reordering seen on a path.
#[derive(Clone, Debug)]
pub(crate) struct Reordering {
    /// Segments that may overtake one before it counts as lost.
    pub degree: u32,
    /// Times that reordering was seen.
    pub seen: u32,
}

impl Sender {
    /// The segment at `low_seq` was sent once and arrived after data above it.
    #[inline]
    pub(crate) fn check_reordering(&mut self, low_seq: u64) {
        let high = self.highest_sacked();
        if low_seq < high {
            self.grow_reordering(high - low_seq);
        }
    }

    #[cold]
    fn grow_reordering(&mut self, bytes: u64) {
        let reordering = &mut self.path.reordering;
        let mss = u64::from(self.sizes.mss);
        if bytes > u64::from(reordering.degree) * mss {
            reordering.degree = bytes.div_ceil(mss).min(u64::from(self.settings.max_reordering)) as u32;
        }
        reordering.seen += 1;
        self.counters.reordering_seen += 1;
    }
}
