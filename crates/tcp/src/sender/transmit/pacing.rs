//! Pacing by the socket's own timer, as Linux does without the fq queueing discipline.
//!
//! The rate is kept for every flow, since small queues and burst sizes depend on it; segments wait for
//! it only when the rule paces or a limit is configured.

use daybreak_units::{Duration, Instant, Rate};

use crate::config::Config;
use crate::sender::Sender;

/// The segment, counted from 1, after which pacing begins (one initial window).
const UNPACED_SEGMENTS: u64 = 10;

const NANOSECOND: Duration = Duration::from_ns(1);
const PS_PER_NS: u64 = 1_000;
const NS_PER_US: u64 = 1_000;
const NS_PER_SEC: u64 = 1_000_000_000;

/// When the next segment may leave.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pacing {
    /// Earliest departure of the next segment (`tcp_wstamp_ns`).
    pub departure: Instant,
    /// A transmission waits for `departure`.
    pub waiting: bool,
}

/// How the pacing rate follows from the window. It does not change.
#[derive(Clone, Copy, Debug)]
pub(in crate::sender) struct PacingRates {
    /// Percent of `cwnd / srtt` in slow start.
    ss_ratio: u32,
    /// Percent of `cwnd / srtt` in congestion avoidance.
    ca_ratio: u32,
    /// A path is paced.
    pub are_used: bool,
    /// Largest rate in bytes a second.
    max_bytes: u64,
}

impl PacingRates {
    /// `are_used` if the first path is paced.
    pub fn new(config: &Config, are_used: bool) -> Self {
        let max_bytes = match config.max_pacing_rate {
            Rate::ZERO => u64::MAX / 8,
            rate => rate.as_bytes_per_sec(),
        };
        Self { ss_ratio: config.pacing_ss_ratio, ca_ratio: config.pacing_ca_ratio, are_used, max_bytes }
    }
}

impl Sender {
    /// Recomputes `cwnd * mss / srtt`, times 200 % in slow start and 120 % above.
    #[inline]
    pub(crate) fn update_pacing_rate(&mut self) {
        let window = &self.path.window;
        let srtt_x8 = u64::from(self.path.rtt.srtt_x8());
        let rates = &self.pacing_rates;
        let ratio = if window.cwnd < window.ssthresh / 2 { rates.ss_ratio } else { rates.ca_ratio };
        // Percent, and eighths of a microsecond: bytes/s = mss * cwnd * ratio/100 * 8e6 / srtt_x8.
        let per_segment = u64::from(self.sizes.mss) * 80_000 * u64::from(ratio);
        let segments = u64::from(window.cwnd.max(self.path.tally.packets_out()));
        let rate = per_segment.saturating_mul(segments) / srtt_x8.max(1);
        self.path.window.pacing_rate = Rate::from_bytes_per_sec(rate.min(rates.max_bytes));
    }

    /// The wait for pacing may be over: then what is lost goes first, and a full window is the limit though nothing may wait
    /// for it. If another timer was due, the wait goes on: that timer may be one after which new data is not looked at.
    pub(crate) fn end_pacing_wait(&mut self) {
        let pacing = &mut self.path.pacing;
        if pacing.waiting && pacing.departure <= self.clock.now {
            pacing.waiting = false;
            self.transmit.allow_lost();
            if self.path.in_flight() >= self.path.window.cwnd {
                self.transmit.note_limit();
            }
        }
    }

    /// True while pacing holds the next segment back; the timer is set then. The host's clock counts whole nanoseconds, as
    /// departures do: at a fraction of one, what leaves at the next leaves now.
    #[inline]
    pub(crate) fn pacing_holds(&mut self) -> bool {
        if !self.path.window.is_paced || self.path.pacing.departure.saturating_since(self.clock.now) < NANOSECOND {
            return false;
        }
        self.path.pacing.waiting = true;
        true
    }

    /// A segment without data leaves now: it does not wait, and what comes after it counts its credit from here.
    #[inline]
    pub(crate) fn note_departure(&mut self) {
        if self.pacing_rates.are_used && self.path.window.is_paced {
            let pacing = &mut self.path.pacing;
            pacing.departure = pacing.departure.max(self.clock.now);
        }
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

    /// When the next segment leaves, in nanoseconds: now, or when those before it have.
    pub(super) fn leaves_ns(&self) -> u64 {
        let now = self.clock.now.as_ps().div_ceil(PS_PER_NS);
        if !self.path.window.is_paced {
            return now;
        }
        now.max(self.path.pacing.departure.as_ps().div_ceil(PS_PER_NS))
    }

    /// Linux keeps departures in whole nanoseconds and rounds every gap down to one: over a recovery of
    /// hundreds of segments this decides whether a loss is known before or after a departure.
    fn pace_by_rate(&mut self, len: u32) -> u64 {
        let before = self.path.pacing.departure.as_ps().div_ceil(PS_PER_NS);
        let leaves = self.leaves_ns();
        let rate = self.path.window.pacing_rate.as_bytes_per_sec();
        let mut departure = leaves;
        // What leaves is not counted yet; the tenth segment, or its burst, is the first that has to be waited for.
        let segments = u64::from(len.div_ceil(self.sizes.payload()).max(1));
        if rate > 0 && self.counters.segments + segments >= UNPACED_SEGMENTS {
            let gap = u64::from(len) * NS_PER_SEC / rate;
            // A timer that was late gives back at most half of the gap.
            let credit = if self.settings.profile.timer_pacing { 0 } else { (leaves - before).min(gap / 2) };
            departure += gap - credit;
        }
        self.path.pacing.departure = Instant::from_ps(departure * PS_PER_NS);
        leaves / NS_PER_US
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion;
    use crate::sender::flight::Tally;

    /// A sender that is paced at `rate`, past its unpaced segments.
    fn paced(rate: u64) -> Sender {
        let rule = congestion::find("bbr").unwrap().rule(1);
        let mut sender = Sender::new(&Config::default(), rule);
        sender.path.window.pacing_rate = Rate::from_bytes_per_sec(rate);
        sender.counters.segments = UNPACED_SEGMENTS;
        sender
    }

    #[test]
    fn gaps_are_rounded_down_to_nanoseconds() {
        // 8,948 bytes at 1,243,500,000 a second take 7,195.8 ns. What arrives at a fraction of a nanosecond
        // is handled at the next one; the first departure was due long before and gives back half a gap.
        let mut sender = paced(1_243_500_000);
        sender.clock.advance(Instant::from_ps(1_000_000_300));
        for gaps in 0..1_000 {
            sender.pace(8_948);
            let departure_ns = 1_000_001 + (7_195 - 3_597) + gaps * 7_195;
            assert_eq!(sender.path.pacing.departure, Instant::from_ps(departure_ns * 1_000), "after {gaps} gaps");
            sender.clock.advance(sender.path.pacing.departure);
        }
    }

    #[test]
    fn at_a_fraction_of_a_nanosecond_what_leaves_at_the_next_is_not_held() {
        for (now_ps, is_held) in [(1_999_999_000, true), (1_999_999_001, false), (2_000_000_000, false)] {
            let mut sender = paced(1_243_500_000);
            sender.path.pacing.departure = Instant::from_ps(2_000_000_000);
            sender.clock.advance(Instant::from_ps(now_ps));
            assert_eq!(sender.pacing_holds(), is_held, "at {now_ps} ps");
        }
    }

    #[test]
    fn older_stacks_give_no_credit_for_a_late_departure() {
        let mut sender = paced(1_000_000_000);
        sender.settings.profile.timer_pacing = true;
        sender.clock.advance(Instant::from_ps(1_000_000_000));
        sender.pace(8_000);
        assert_eq!(sender.path.pacing.departure, Instant::from_ps(1_008_000_000));
    }

    #[test]
    fn another_timer_does_not_end_the_wait() {
        let mut sender = paced(1_243_500_000);
        sender.path.pacing.departure = Instant::from_ps(2_000_000_000);
        sender.clock.advance(Instant::from_ps(1_000_000_000));
        assert!(sender.pacing_holds());
        sender.transmit.on_losses();
        sender.clock.advance(Instant::from_ps(1_500_000_000));
        sender.end_pacing_wait();
        assert_eq!((sender.deadline(), sender.transmit.looks_at_new_data()), (Instant::from_ps(2_000_000_000), false));
        sender.clock.advance(Instant::from_ps(2_000_000_000));
        sender.end_pacing_wait();
        assert_eq!((sender.deadline(), sender.transmit.looks_at_new_data()), (Instant::NEVER, true));
    }

    #[test]
    fn a_window_that_is_full_is_the_limit_while_pacing_holds() {
        for (cwnd, is_full) in [(1, true), (2, false)] {
            let mut sender = paced(1_243_500_000);
            sender.buffer.write_seq = 100_000;
            sender.path.pacing.departure = Instant::from_ps(2_000_000_000);
            sender.path.tally = Tally::of(1, 0, 0, 0);
            (sender.path.window.cwnd, sender.path.window.was_full) = (cwnd, false);
            assert_eq!(sender.next_outgoing(), None);
            assert_eq!(sender.path.window.was_full, is_full, "a window of {cwnd}");
        }
    }

    /// Linux 6.1.192 goes through what is in flight for each ACK in recovery, and looks at pacing before each segment.
    #[test]
    fn a_look_for_what_is_lost_starts_the_timer_and_a_full_window_is_the_limit_when_it_fires() {
        let due = Instant::from_ps(2_000_000_000);
        for (segments, cwnd, fires, is_full) in [(2, 2, true, true), (2, 3, true, false), (0, 2, false, false)] {
            let mut sender = paced(1_243_500_000);
            sender.put_in_flight(segments);
            sender.path.pacing.departure = due;
            (sender.path.window.cwnd, sender.path.window.was_full) = (cwnd, false);
            sender.look_for_lost();
            assert_eq!(sender.deadline(), if fires { due } else { Instant::NEVER }, "{segments} segments");
            sender.advance(due);
            sender.end_pacing_wait();
            assert_eq!(sender.next_outgoing(), None);
            assert_eq!(sender.path.window.was_full, is_full, "{segments} segments, a window of {cwnd}");
        }
    }

    #[test]
    fn after_a_retransmission_the_timer_starts_for_what_follows_though_it_is_not_lost() {
        for (segments, waits) in [(1, false), (2, true)] {
            let mut sender = paced(1_243_500_000);
            (sender.is_synchronised, sender.has_small_queue) = (true, false);
            (sender.sizes.mss, sender.peer.window) = (1_000, 100_000);
            sender.put_in_flight(segments);
            sender.flight.mark_lost(&mut sender.path.tally, sender.flight.head());
            assert_eq!(sender.next_outgoing().map(|outgoing| outgoing.seq), Some(1));
            assert_eq!(sender.path.pacing.waiting, waits, "{segments} segments");
        }
    }

    #[test]
    fn a_late_departure_gives_back_at_most_half_a_gap() {
        for (late_ns, credit_ns) in [(0, 0), (100, 100), (3_597, 3_597), (3_598, 3_597), (50_000, 3_597)] {
            let mut sender = paced(1_243_500_000);
            sender.path.pacing.departure = Instant::from_ps(1_000_000_000);
            let now_ns = 1_000_000 + late_ns;
            sender.clock.advance(Instant::from_ps(now_ns * 1_000));
            sender.pace(8_948);
            let departure_ns = now_ns + 7_195 - credit_ns;
            assert_eq!(sender.path.pacing.departure, Instant::from_ps(departure_ns * 1_000), "{late_ns} ns late");
        }
    }
}
