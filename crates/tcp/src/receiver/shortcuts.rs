//! When the receiver may take a shortcut: all conditions, in one place, as in `sender/shortcuts.rs`.
//!
//! A shortcut changes no result. Each has a long way round that is always right, which
//! `connection/fast_path_tests.rs` takes in one of two connections and compares.

use super::Receiver;
use crate::{Flags, Segment};

impl Receiver {
    /// The segment is the next in order, and not older than the one before: in the window by definition, so that neither
    /// PAWS nor the window check has to look at it. Without timestamps both are 0.
    #[inline(always)]
    pub(super) fn is_surely_accepted(&self, segment: &Segment) -> bool {
        let is_newer = segment.ts_val.wrapping_sub(self.ts_recent) as i32 >= 0;
        segment.seq == self.rcv_nxt && is_newer && self.fast_path.is_on()
    }

    /// The next segment in order is taken by itself: no hole is open, nothing is unread, and the window is not full.
    #[inline(always)]
    pub(super) fn takes_next_alone(&self) -> bool {
        self.fast_path.is_on() && !self.holds_data && !self.window.is_full_at(self.rcv_nxt)
    }

    /// The segment is such a one: it has data, the next in order, without FIN and CWR.
    #[inline(always)]
    pub(super) fn is_usual_data(&self, segment: &Segment) -> bool {
        segment.flags.0 & (Flags::FIN.0 | Flags::CWR.0) == 0
            && segment.seq == self.rcv_nxt
            && segment.len > 0
            && self.takes_next_alone()
    }

    /// The acknowledgement on `segment` stands as it is, the timestamp apart, as long as nothing arrives: it reports no
    /// blocks, and its window was not settled before the application's read.
    #[inline(always)]
    pub(super) fn may_be_repeated(&self, segment: &Segment, before_read: bool) -> bool {
        !before_read && segment.sack_count == 0 && self.fast_path.is_on()
    }
}
