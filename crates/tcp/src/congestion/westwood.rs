//! Westwood+: Grieco and Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and
//! Vegas TCP congestion control", ACM CCR 34(2), 2004, as Linux 6.1 has it.
//!
//! Grows as Reno does. The bytes that ACKs confirm, counted over intervals of at least an RTT and
//! low-pass filtered, estimate the bandwidth; after a loss the window becomes that bandwidth times
//! the smallest RTT, instead of a half of what it was.
//!
//! Follows Linux where the papers differ, since this decides its share:
//! * Time and RTTs are jiffies, RTTs rounded up. On paths with an RTT far below a jiffy the product
//!   bandwidth x RTT is therefore far above what the path holds, and a loss hardly reduces the window.
//! * An interval is at least 50 ms, in whole jiffies, and counts whole bytes a jiffy; the filter is 7/8 old + 1/8 new,
//!   applied twice (to the samples, then to its own output). The first interval initialises both.
//! * A duplicate ACK counts as one segment, and is taken off the cumulative ACK that follows. Not so one without SACK
//!   and with the window of the one before: header prediction takes it, and it counts as nothing (6.1.192).
//! * On entering recovery `ssthresh` is Reno's half; the estimate replaces both windows when the
//!   reduction completes. On a timeout it replaces `ssthresh`, and the smallest RTT is measured anew.
//! * An ACK counts after its own RTT sample (in 6.1.192 `in_ack_event` comes after `pkts_acked`).
//!
//! Validated by the worked numbers below, by its curve over a drop-tail path (`tests/curves`), by the
//! ACKs that a Linux 6.1 sender got (`tests/kernel_replay.rs`: 13 segments after one loss; over 1 Gbit/s,
//! 10 ms and 830 packets 55 when the first recovery ends and 76 when the second does, both as the kernel
//! has them) and end to end (`tests/end_to_end.rs`: one loss leaves 13 segments, the kernel 14; the last
//! depends on how the jiffies fall into the first interval).

use daybreak_units::Duration;

use super::{AckArrival, AckSample, CaEvent, Capabilities, Congestion, Context, Entry, Window, reno};
use crate::jiffies::Jiffies;

/// The rule in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "westwood",
    summary: "Westwood+ (Grieco and Mascolo, 2004)",
    parameters: &[],
    capabilities: Capabilities { wants_idle_acks: true, ..Capabilities::NONE },
    new: |_, _| Box::new(Westwood::default()),
};

/// The shortest interval of a bandwidth sample is this part of a second in whole jiffies: 48 ms with 250 ticks a second.
const SHORTEST_PART: u64 = 20;
/// RTT assumed before the first sample.
const INITIAL_RTT: Duration = Duration::from_secs(20);

/// The rule.
#[derive(Clone, Debug)]
pub struct Westwood {
    jiffies: Jiffies,
    /// The shortest interval in jiffies.
    min_interval: u64,
    /// Bandwidth after the first and after the second filter, in bytes a jiffy; `None` before the
    /// first interval, and while both are zero.
    bandwidth: Option<(u64, u64)>,
    /// Start of the interval in jiffies.
    interval_start: u64,
    /// Bytes confirmed in the interval.
    confirmed: u64,
    /// Last known first unacknowledged byte; `None` before the first ACK.
    snd_una: Option<u64>,
    /// Bytes that duplicate ACKs confirmed and no cumulative ACK has covered yet.
    accounted: u64,
    /// Last RTT in jiffies.
    rtt: u64,
    /// Smallest RTT in jiffies; `None` when it is to be measured anew.
    min_rtt: Option<u64>,
    /// The smallest RTT that `min_rtt` held last; used until there is a new one.
    last_min_rtt: u64,
}

impl Default for Westwood {
    fn default() -> Self {
        Self::new(Jiffies::default())
    }
}

impl Congestion for Westwood {
    fn init(&mut self, _window: &mut Window, ctx: &Context) {
        *self = Self::new(ctx.jiffies());
        self.interval_start = self.jiffies.at(ctx.now);
    }

    fn on_arrival(&mut self, _window: &mut Window, ack: &AckArrival) {
        if let Some(rtt) = ack.rtt.filter(|rtt| rtt.as_us() > 0) {
            self.rtt = self.jiffies.covering(rtt);
        }
        self.close_interval(self.jiffies.at(ack.now));
        // The first ACK only sets where to count from.
        let before = self.snd_una.unwrap_or(ack.snd_una);
        self.confirmed += if ack.is_fast_path {
            ack.snd_una - before
        } else {
            self.confirmed_by(ack.snd_una - before, u64::from(ack.mss))
        };
        self.snd_una = Some(ack.snd_una);
        self.last_min_rtt = self.min_rtt.map_or(self.rtt, |min| min.min(self.rtt));
        self.min_rtt = Some(self.last_min_rtt);
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        reno::increase(window, ack);
    }

    fn ssthresh(&mut self, window: &Window, _ctx: &Context) -> u32 {
        reno::halved(window)
    }

    fn on_event(&mut self, window: &mut Window, event: CaEvent, ctx: &Context) {
        match event {
            CaEvent::CompleteCwr => {
                window.ssthresh = self.estimated_window(ctx.mss);
                window.cwnd = window.ssthresh.min(window.cwnd_clamp);
            }
            CaEvent::Loss => {
                window.ssthresh = self.estimated_window(ctx.mss);
                self.min_rtt = None;
            }
            _ => {}
        }
    }
}

impl Westwood {
    fn new(jiffies: Jiffies) -> Self {
        Self {
            jiffies,
            min_interval: jiffies.hz() / SHORTEST_PART,
            bandwidth: None,
            interval_start: 0,
            confirmed: 0,
            snd_una: None,
            accounted: 0,
            rtt: jiffies.covering(INITIAL_RTT),
            min_rtt: None,
            last_min_rtt: jiffies.covering(INITIAL_RTT),
        }
    }

    /// Ends the interval when it is long enough, and filters its bandwidth.
    fn close_interval(&mut self, now: u64) {
        let span = now - self.interval_start;
        if span <= self.rtt.max(self.min_interval) {
            return;
        }
        let sample = self.confirmed / span;
        let (once, twice) = match self.bandwidth {
            None => (sample, sample),
            Some((once, twice)) => {
                let once = smoothed(once, sample);
                (once, smoothed(twice, once))
            }
        };
        self.bandwidth = (once != 0 || twice != 0).then_some((once, twice));
        self.confirmed = 0;
        self.interval_start = now;
    }

    /// Bytes that a slow-path ACK confirms when it advances `snd_una` by `advance`.
    fn confirmed_by(&mut self, advance: u64, mss: u64) -> u64 {
        match advance {
            0 => {
                self.accounted += mss;
                mss
            }
            _ if advance <= mss => advance,
            // Duplicate ACKs before it reported more than it covers, or all but some.
            _ if self.accounted >= advance => {
                self.accounted -= advance;
                mss
            }
            _ => advance - std::mem::take(&mut self.accounted),
        }
    }

    /// Bandwidth times smallest RTT in segments; at least 2.
    fn estimated_window(&self, mss: u32) -> u32 {
        let (_, bandwidth) = self.bandwidth.unwrap_or_default();
        let bytes = bandwidth * self.min_rtt.unwrap_or(self.last_min_rtt);
        u32::try_from(bytes / u64::from(mss)).unwrap_or(u32::MAX).max(2)
    }
}

/// 7/8 of the old value and 1/8 of the new one.
fn smoothed(old: u64, new: u64) -> u64 {
    (7 * old + new) / 8
}

#[cfg(test)]
mod tests {
    use daybreak_units::Instant;

    use super::*;

    const MSS: u64 = 1_000;

    fn ack(ms: u64, una: u64, rtt_ms: u64) -> AckArrival {
        AckArrival {
            now: Instant::ZERO + Duration::from_ms(ms),
            snd_una: una,
            mss: MSS as u32,
            rtt: Some(Duration::from_ms(rtt_ms)),
            is_fast_path: true,
            ..AckArrival::default()
        }
    }

    fn slow(ms: u64, una: u64) -> AckArrival {
        AckArrival { is_fast_path: false, rtt: None, ..ack(ms, una, 0) }
    }

    fn rule() -> (Westwood, Window) {
        let mut rule = Westwood::default();
        let mut window = Window::new(10, u32::MAX);
        rule.init(&mut window, &Context { jiffy: Duration::from_ms(1), ..Context::default() });
        (rule, window)
    }

    #[test]
    fn an_interval_is_a_twentieth_of_a_second_in_whole_ticks() {
        // 250 / 20 = 12: an interval of 13 ticks is long enough.
        let (mut rule, mut window) = rule();
        rule.init(&mut window, &Context { jiffy: Duration::from_ms(4), ..Context::default() });
        for (ticks, una) in [(1, 1_000), (12, 14_000), (13, 14_000)] {
            rule.on_arrival(&mut window, &ack(4 * ticks, una, 4));
        }
        assert_eq!((rule.bandwidth, rule.interval_start), (Some((1_000, 1_000)), 13));
    }

    fn context() -> Context {
        Context { mss: MSS as u32, ..Context::default() }
    }

    #[test]
    fn the_window_after_a_loss_is_bandwidth_times_smallest_rtt() {
        let (mut rule, mut window) = rule();
        // 1000 bytes a millisecond at 20 ms hold 20 segments. The first interval lacks its first ACK,
        // 50,000 / 51 = 980, and the filters' integers rest where 1/8 of what is missing is below 1.
        for ms in 0..=600 {
            rule.on_arrival(&mut window, &ack(ms, 1_000 * ms, 20));
        }
        assert_eq!(rule.bandwidth, Some((993, 986)));
        window.ssthresh = rule.ssthresh(&window, &context());
        assert_eq!(window.ssthresh, 5, "Reno's half on entering recovery");
        rule.on_event(&mut window, CaEvent::CompleteCwr, &context());
        assert_eq!((window.cwnd, window.ssthresh), (19, 19));
    }

    #[test]
    fn the_filter_is_seven_eighths_twice() {
        let (mut rule, mut window) = rule();
        let mut una = 0;
        let mut run = |rule: &mut Westwood, from: u64, to: u64, per_ms: u64| {
            for ms in from..to {
                una += per_ms;
                rule.on_arrival(&mut window, &ack(ms, una, 20));
            }
        };
        // The first ACK only sets where to count from: 50 times 816 bytes in 51 ms are 800 a ms.
        run(&mut rule, 0, 51, 816);
        run(&mut rule, 51, 102, 1_600);
        assert_eq!(rule.bandwidth, Some((800, 800)));
        // Then 1600 a ms: 800*7/8 + 1600/8 = 900, and 800*7/8 + 900/8 = 812.
        run(&mut rule, 102, 103, 1_600);
        assert_eq!(rule.bandwidth, Some((900, 812)));
    }

    #[test]
    fn the_interval_is_longer_than_fifty_ms_and_than_the_rtt() {
        let (mut rule, mut window) = rule();
        rule.on_arrival(&mut window, &ack(1, 0, 80));
        rule.on_arrival(&mut window, &ack(80, 8_000, 80));
        assert_eq!(rule.bandwidth, None);
        rule.on_arrival(&mut window, &ack(81, 8_100, 80));
        assert_eq!(rule.bandwidth, Some((8_000 / 81, 8_000 / 81)));
        let (mut rule, mut window) = self::rule();
        rule.on_arrival(&mut window, &ack(1, 0, 1));
        rule.on_arrival(&mut window, &ack(50, 5_000, 1));
        assert_eq!(rule.bandwidth, None);
        rule.on_arrival(&mut window, &ack(51, 5_100, 1));
        assert_eq!(rule.bandwidth, Some((98, 98)));
    }

    #[test]
    fn duplicate_acks_count_once() {
        let (mut rule, mut window) = rule();
        rule.on_arrival(&mut window, &ack(1, 1_000, 1));
        // Three duplicates, then a cumulative ACK for the hole and those three.
        (2..5).for_each(|ms| rule.on_arrival(&mut window, &slow(ms, 1_000)));
        assert_eq!((rule.confirmed, rule.accounted), (3_000, 3_000));
        rule.on_arrival(&mut window, &slow(5, 5_000));
        assert_eq!((rule.confirmed, rule.accounted), (4_000, 0));
        // More duplicates than a partial ACK covers: it counts for one segment.
        (6..10).for_each(|ms| rule.on_arrival(&mut window, &slow(ms, 5_000)));
        rule.on_arrival(&mut window, &slow(10, 7_000));
        assert_eq!((rule.confirmed, rule.accounted), (4_000 + 4_000 + 1_000, 2_000));
    }

    #[test]
    fn short_rtts_are_a_jiffy() {
        let (mut rule, mut window) = rule();
        for ms in 0..200 {
            let sample = AckArrival { rtt: Some(Duration::from_us(40)), ..ack(ms, 1_250_000 * ms, 0) };
            rule.on_arrival(&mut window, &sample);
        }
        rule.on_event(&mut window, CaEvent::CompleteCwr, &context());
        // 10 Gbit/s times 1 ms are 1250 segments, where the path of 40 us holds 50. Three intervals:
        // 1225.5 (the first lacks an ACK), then twice 1250, filtered to 1226.5.
        assert_eq!(window.cwnd, 1_226);
    }

    #[test]
    fn a_timeout_measures_the_smallest_rtt_anew() {
        let (mut rule, mut window) = rule();
        for ms in 0..200 {
            rule.on_arrival(&mut window, &ack(ms, 1_000 * ms, 20));
        }
        rule.on_event(&mut window, CaEvent::Loss, &context());
        assert_eq!((window.ssthresh, window.cwnd), (19, 10), "the window is the sender's");
        rule.on_arrival(&mut window, &ack(200, 200_000, 40));
        assert_eq!(rule.min_rtt, Some(40), "the ACK's own RTT counts, not the one before the timeout");
    }

    #[test]
    fn a_filter_that_has_run_empty_begins_with_the_next_sample() {
        for (before, confirmed, after) in
            [(None, 0, None), (Some((1, 0)), 100, Some((1, 0))), (Some((1, 1)), 0, None), (None, 900, Some((9, 9)))]
        {
            let (mut rule, _) = rule();
            (rule.bandwidth, rule.confirmed, rule.rtt, rule.interval_start) = (before, confirmed, 20, 0);
            rule.close_interval(100);
            assert_eq!(rule.bandwidth, after, "{confirmed} bytes in 100 jiffies after {before:?}");
        }
    }

    #[test]
    fn an_ack_of_a_segment_at_most_confirms_it_whatever_duplicates_have_said() {
        for (advance, confirmed, accounted) in
            [(0, 1_000, 6_000), (999, 999, 5_000), (1_000, 1_000, 5_000), (1_001, 1_000, 3_999), (7_000, 2_000, 0)]
        {
            let (mut rule, _) = rule();
            rule.accounted = 5_000;
            assert_eq!((rule.confirmed_by(advance, 1_000), rule.accounted), (confirmed, accounted), "{advance}");
        }
    }

    #[test]
    fn an_rtt_of_nothing_is_none() {
        let (mut rule, mut window) = rule();
        rule.on_arrival(&mut window, &AckArrival { rtt: Some(Duration::ZERO), ..ack(5, 0, 0) });
        assert_eq!(rule.rtt, rule.jiffies.covering(INITIAL_RTT));
    }
}
