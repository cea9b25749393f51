//! Time-division TCP: what has been out for too long on a path that may be gone (`paths/mod.rs`).

use crate::sender::Sender;
use crate::sender::flight::Sent;

/// Segments that have been out for too long, though later ones were delivered.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sender) struct Overdue {
    /// There are some.
    pub found: bool,
    /// Microseconds until more may be.
    pub wait_us: Option<u64>,
}

impl Sender {
    /// Finds segments of the path that were sent before what has been delivered on another, and for which twice the smoothed
    /// RTT of the slowest path has passed, as for a tail loss probe (RFC 8985, section 7.2): they are lost, or the path may
    /// be long gone before one of its own segments shows it.
    pub(in crate::sender) fn detect_overdue(&mut self) -> Overdue {
        let delivered_us = self.all_paths().map(|path| path.rack.sent_us()).max().unwrap_or(0);
        let patience_us = 2 * u64::from(self.all_paths().map(|path| path.rtt.srtt_us()).max().unwrap_or(0));
        let now_us = self.clock.now_us;
        let mut overdue = Overdue::default();
        if patience_us == 0 {
            return overdue;
        }
        let is_passed = |sent: &Sent| sent.sent_us < delivered_us;
        let mut next = self.flight.oldest_of_path(&self.path.tally, is_passed);
        while let Some(at) = next {
            next = self.flight.newer_of_path(&self.path.tally, at, is_passed);
            let wait_us = (self.flight.get(at).sent_us + patience_us).saturating_sub(now_us);
            if wait_us > 0 {
                overdue.wait_us = Some(wait_us);
                break;
            }
            self.mark_lost(at);
            self.flight.note_racked(at);
            overdue.found = true;
        }
        overdue
    }
}
