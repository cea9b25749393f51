//! Pacing by the socket's own timer, as Linux does without the fq queueing discipline.
//!
//! The rate is kept for every flow, since small queues and burst sizes depend on it; segments wait for
//! it only when the rule paces or a limit is configured.

use daybreak_units::{Instant, Rate};

use super::Sender;
use super::rto::Resend;

/// The segment, counted from 1, after which pacing begins (one initial window).
const UNPACED_SEGMENTS: u64 = 10;

/// When the next segment may leave.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pacing {
    /// Earliest departure of the next segment (`tcp_wstamp_ns`).
    pub departure: Instant,
    /// A transmission waits for `departure`.
    pub waiting: bool,
}

impl Sender {
    /// Recomputes `cwnd * mss / srtt`, times 200 % in slow start and 120 % above.
    #[inline]
    pub(crate) fn update_pacing_rate(&mut self) {
        let window = &self.path.window;
        let srtt_x8 = u64::from(self.path.rtt.srtt_x8());
        let ratio = if window.cwnd < window.ssthresh / 2 { self.pacing_ss_ratio } else { self.pacing_ca_ratio };
        // Percent, and eighths of a microsecond: bytes/s = mss * cwnd * ratio/100 * 8e6 / srtt_x8.
        let per_segment = u64::from(self.mss) * 80_000 * u64::from(ratio);
        let segments = u64::from(window.cwnd.max(self.path.packets_out));
        let rate = per_segment.saturating_mul(segments) / srtt_x8.max(1);
        self.path.window.pacing_rate = Rate::from_bytes_per_sec(rate.min(self.max_pacing_bytes));
    }

    /// The wait for pacing may be over: then what is lost goes first.
    pub(crate) fn end_pacing_wait(&mut self) {
        let pacing = &mut self.path.pacing;
        if std::mem::take(&mut pacing.waiting) && pacing.departure <= self.clock.now {
            self.resend = Resend::Lost;
        }
    }

    /// True while pacing holds the next segment back; the timer is set then.
    #[inline]
    pub(crate) fn pacing_holds(&mut self) -> bool {
        if !self.path.window.is_paced || self.path.pacing.departure <= self.clock.now {
            return false;
        }
        self.path.pacing.waiting = true;
        true
    }

    /// A segment with `len` bytes of payload leaves now; returns its departure time in microseconds.
    #[inline]
    pub(crate) fn pace(&mut self, len: u32) -> u64 {
        if !self.path.window.is_paced {
            self.path.pacing.departure = self.clock.now;
            return self.clock.now_us;
        }
        self.pace_by_rate(len)
    }

    fn pace_by_rate(&mut self, len: u32) -> u64 {
        let before = self.path.pacing.departure;
        let leaves = before.max(self.clock.now);
        self.path.pacing.departure = leaves;
        let rate = self.path.window.pacing_rate;
        // This segment is not counted yet; the tenth is the first that has to be waited for.
        if rate > Rate::ZERO && self.counters.segments + 1 >= UNPACED_SEGMENTS {
            let gap = rate.time_for(u64::from(len));
            // A timer that was late gives back at most half of the gap.
            let credit = (leaves - before).as_ps().min(gap.as_ps() / 2);
            self.path.pacing.departure = leaves + daybreak_units::Duration::from_ps(gap.as_ps() - credit);
        }
        leaves.as_us()
    }
}
