//! HyStart: Ha and Rhee, "Taming the elephants: new TCP slow start", Computer Networks, 2011.
//!
//! Models the two detectors of Linux 6.1 with its defaults. *ACK train*: within a round, ACKs that
//! follow each other closely form a train, whose length is the time the path needs for a window;
//! once it passes half of the smallest RTT the window is about the path's. *Delay*: the smallest
//! of a round's first RTT samples has risen by an eighth of the smallest RTT, 4 to 16 ms.
//!
//! Follows Linux where the paper and RFC 9406 (HyStart++) differ: the train test stays (RFC 9406
//! drops it), there is no conservative slow start after the exit, and the exit happens inside the
//! ACK that shows it. As in Linux the train's limit is lengthened by the time that segmentation
//! bursts at the pacing rate add, and is not halved for a sender that paces.
//!
//! Stacks up to Linux 5.5 ([`OlderRules::MS_DELAYS`]) measure in milliseconds, and their trains know no bursts.
//!
//! Not modelled: the sysctl switches of single detectors; both are on.

use daybreak_units::Duration;

use super::SlowStart;
use crate::congestion::{AckArrival, Context, GSO_MAX_BYTES, OlderRules, Window};

/// Smaller windows are never judged (`hystart_low_window`).
const LOW_WINDOW: u32 = 16;
/// ACKs within this distance belong to one train (`hystart_ack_delta_us`).
const TRAIN_SPACING_US: u64 = 2_000;
/// RTT samples of a round before the delay test decides.
const MIN_SAMPLES: u32 = 8;
/// Bounds of the tolerated rise of the RTT.
const DELAY_RISE_US: (u64, u64) = (4_000, 16_000);
/// Bursts that may pile up between sender and receiver, and the most they may lengthen a train.
const BURSTS: u64 = 4;
const MAX_BURST_DELAY_US: u64 = 1_000;

/// State of one connection. Times are microseconds of the simulated clock, as Linux keeps them.
#[derive(Clone, Debug)]
pub struct HyStart {
    /// Start of the round.
    round_start_us: u64,
    /// Last ACK of the train.
    last_ack_us: u64,
    /// The round ends when a byte beyond this one is acknowledged.
    end_seq: u64,
    /// Smallest RTT of the round.
    round_rtt_us: u64,
    /// RTT samples in the round, up to [`MIN_SAMPLES`].
    samples: u32,
    /// An exit was found; nothing is looked at until the next restart.
    is_found: bool,
    /// Largest segmentation burst.
    gso_max_bytes: u64,
}

impl Default for HyStart {
    fn default() -> Self {
        Self {
            round_start_us: 0,
            last_ack_us: 0,
            end_seq: 0,
            round_rtt_us: u64::MAX,
            samples: 0,
            is_found: false,
            gso_max_bytes: GSO_MAX_BYTES,
        }
    }
}

impl HyStart {
    fn start_round(&mut self, now_us: u64, snd_nxt: u64) {
        self.round_start_us = now_us;
        self.last_ack_us = now_us;
        self.end_seq = snd_nxt;
        self.round_rtt_us = u64::MAX;
        self.samples = 0;
    }

    /// Both tests up to Linux 5.5, with a clock of milliseconds and delays in eighths of one: a train is too long beyond
    /// half of the smallest RTT in whole milliseconds, and only the first samples of a round give its RTT.
    fn is_over_by_ms(&mut self, ack: &AckArrival, rtt_us: u64, min_delay_us: u64) -> bool {
        let now_us = whole_ms(ack.now.as_us());
        let mut is_over = false;
        if now_us - whole_ms(self.last_ack_us) <= TRAIN_SPACING_US {
            self.last_ack_us = now_us;
            is_over = now_us - whole_ms(self.round_start_us) > whole_ms(min_delay_us / 2);
        }
        if self.samples < MIN_SAMPLES {
            self.is_delay_high(rtt_us, min_delay_us);
        } else {
            is_over |= self.round_rtt_us > min_delay_us + tolerated_rise_us(min_delay_us / 1_000 * 125);
        }
        is_over
    }

    /// The train test. An ACK that comes late leaves the train as it was: the round has no other.
    fn is_train_long(&mut self, now_us: u64, window: &Window, min_delay_us: u64) -> bool {
        if now_us - self.last_ack_us > TRAIN_SPACING_US {
            return false;
        }
        self.last_ack_us = now_us;
        let limit = min_delay_us + self.burst_delay_us(window);
        // Pacing spreads a window over half an RTT by itself.
        let limit = if window.is_paced { limit } else { limit / 2 };
        now_us - self.round_start_us > limit
    }

    /// How much the largest bursts at the present rate may lengthen a train.
    fn burst_delay_us(&self, window: &Window) -> u64 {
        match window.pacing_rate.as_bytes_per_sec() {
            0 => 0,
            rate => (self.gso_max_bytes * BURSTS * 1_000_000 / rate).min(MAX_BURST_DELAY_US),
        }
    }

    /// The delay test; the first samples of a round only set the round's RTT.
    fn is_delay_high(&mut self, rtt_us: u64, min_delay_us: u64) -> bool {
        self.round_rtt_us = self.round_rtt_us.min(rtt_us);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        self.round_rtt_us > min_delay_us + tolerated_rise_us(min_delay_us / 8)
    }
}

fn tolerated_rise_us(eighth_us: u64) -> u64 {
    eighth_us.clamp(DELAY_RISE_US.0, DELAY_RISE_US.1)
}

fn whole_ms(us: u64) -> u64 {
    us - us % 1_000
}

impl SlowStart for HyStart {
    fn restart(&mut self, ctx: &Context) {
        self.is_found = false;
        if ctx.gso_max_bytes > 0 {
            self.gso_max_bytes = u64::from(ctx.gso_max_bytes);
        }
        self.start_round(ctx.now.as_us(), ctx.snd_nxt);
    }

    fn is_over(&mut self, window: &Window, ack: &AckArrival, rtt: Duration, min_delay: Duration) -> bool {
        if self.is_found {
            return false;
        }
        if window.older.have(OlderRules::MS_DELAYS) {
            self.is_found = window.cwnd >= LOW_WINDOW && self.is_over_by_ms(ack, rtt.as_us(), min_delay.as_us());
            return self.is_found;
        }
        let now_us = ack.now.as_us();
        if ack.snd_una > self.end_seq {
            self.start_round(now_us, ack.snd_nxt);
        }
        if window.cwnd < LOW_WINDOW {
            return false;
        }
        let (rtt_us, min_delay_us) = (rtt.as_us().max(1), min_delay.as_us().max(1));
        let train = self.is_train_long(now_us, window, min_delay_us);
        let delay = self.is_delay_high(rtt_us, min_delay_us);
        self.is_found = train || delay;
        self.is_found
    }

    /// Up to Linux 5.15 a round ends here, and not where the window is not the limit.
    fn on_growth(&mut self, window: &Window, ack: &AckArrival) {
        if window.older.have(OlderRules::MS_DELAYS) && ack.snd_una > self.end_seq {
            self.start_round(ack.now.as_us(), ack.snd_nxt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daybreak_units::{Instant, Rate};

    const MSS: u64 = 1_000;

    fn window(cwnd: u32) -> Window {
        Window::new(cwnd, u32::MAX)
    }

    /// An ACK at `now_us` for everything up to segment `una` while `nxt` segments were sent.
    fn ack(now_us: u64, una: u64, nxt: u64) -> AckArrival {
        AckArrival {
            now: Instant::ZERO + Duration::from_us(now_us),
            snd_una: una * MSS,
            snd_nxt: nxt * MSS,
            ..AckArrival::default()
        }
    }

    /// Feeds ACKs `spacing_us` apart from the start of a round at 100 ms; returns the time into the
    /// round at which slow start ends.
    fn train_exit_us(window: &Window, spacing_us: u64, min_delay_us: u64) -> Option<u64> {
        train_exit_of(&Context::default(), window, spacing_us, min_delay_us)
    }

    fn train_exit_of(ctx: &Context, window: &Window, spacing_us: u64, min_delay_us: u64) -> Option<u64> {
        let mut rule = HyStart::default();
        rule.restart(ctx);
        let delay = Duration::from_us(min_delay_us);
        (0..100).map(|n| 100_000 + n * spacing_us).find_map(|now| {
            let una = 1 + (now - 100_000) / spacing_us;
            rule.is_over(window, &ack(now, una, 100), delay, delay).then_some(now - 100_000)
        })
    }

    #[test]
    fn a_train_longer_than_half_the_rtt_ends_it() {
        // RTT 10 ms, ACKs 100 us apart: the first one past 5 ms is that at 5.1 ms.
        assert_eq!(train_exit_us(&window(16), 100, 10_000), Some(5_100));
        // Below 16 segments nothing is judged.
        assert_eq!(train_exit_us(&window(15), 100, 10_000), None);
        // ACKs more than 2 ms apart are no train.
        assert_eq!(train_exit_us(&window(16), 2_001, 10_000), None);
        assert_eq!(train_exit_us(&window(16), 2_000, 10_000), Some(6_000));
    }

    #[test]
    fn bursts_and_pacing_lengthen_the_limit() {
        // 261,372 bytes of bursts at 522.744 MB/s take 500 us: the limit is (10,000 + 500) / 2 = 5,250 us.
        let rate = Rate::from_bytes_per_sec(522_744_000);
        let unpaced = Window { pacing_rate: rate, ..window(16) };
        assert_eq!(train_exit_us(&unpaced, 50, 10_000), None, "100 ACKs end at 4,950 us");
        assert_eq!(train_exit_us(&unpaced, 60, 10_000), Some(5_280));
        // The NIC's bursts of a quarter of that length take 125 us: the limit is 5,062 us.
        let short = Context { gso_max_bytes: 16_336, ..Context::default() };
        assert_eq!(train_exit_of(&short, &unpaced, 52, 10_000), Some(5_096));
        assert_eq!(train_exit_us(&unpaced, 52, 10_000), None);
        // A paced sender's limit is not halved.
        let paced = Window { is_paced: true, ..unpaced };
        assert_eq!(train_exit_us(&paced, 120, 10_000), Some(10_560));
    }

    #[test]
    fn a_risen_delay_ends_it_after_eight_samples() {
        let mut rule = HyStart::default();
        rule.restart(&Context::default());
        let base = Duration::from_ms(40);
        // The rise allowed at 40 ms is 5 ms. ACKs come 3 ms apart, so there is no train.
        let mut exits = Vec::new();
        for n in 0..12 {
            let sample = ack(100_000 + 3_000 * n, n + 1, 100);
            exits.push(rule.is_over(&window(20), &sample, Duration::from_us(45_001), base));
        }
        assert_eq!(exits.iter().position(|&over| over), Some(8));
        // Found once, it stays quiet until the next restart.
        assert!(exits[9..].iter().all(|over| !over));
        let mut rule = HyStart::default();
        rule.restart(&Context::default());
        for n in 0..12 {
            let sample = ack(100_000 + 3_000 * n, n + 1, 100);
            assert!(!rule.is_over(&window(20), &sample, Duration::from_us(45_000), base), "5 ms is still allowed");
        }
    }

    /// ACKs every half millisecond from 101.2 ms on, of a round that began at 100.7 ms: when slow start ends, if by 120 ms.
    fn coarse_exit_us(rtt_us: u64, min_delay_us: u64) -> Option<u64> {
        let mut rule = HyStart::default();
        rule.restart(&Context { now: Instant::ZERO + Duration::from_us(100_700), ..Context::default() });
        let window = Window { older: OlderRules::MS_DELAYS, ..window(16) };
        let [rtt, min_delay] = [rtt_us, min_delay_us].map(Duration::from_us);
        let mut times = (101_200..120_000).step_by(500);
        times.find(|&now| rule.is_over(&window, &ack(now, 1, 100), rtt, min_delay))
    }

    /// `bictcp_clock`, `hystart_update` of Linux 4.15: `now - round_start > delay_min >> 4`, in milliseconds.
    #[test]
    fn older_stacks_count_milliseconds() {
        // Half of 10 ms: from the 100th to the 106th is more than 5.
        assert_eq!(coarse_exit_us(10_000, 10_000), Some(106_200));
        // Half of 1.9 ms is none: the next millisecond is too late.
        assert_eq!(coarse_exit_us(1_875, 1_875), Some(101_200));
        // After eight samples: 12 ms and an eighth of a millisecond are more than 8 ms and the 4 that are tolerated at least.
        assert_eq!(coarse_exit_us(12_125, 40_000), None);
        assert_eq!(coarse_exit_us(45_125, 40_000), Some(105_200));
        assert_eq!(coarse_exit_us(45_000, 40_000), None);
    }

    #[test]
    fn a_round_of_older_stacks_ends_where_the_window_grows() {
        let mut rule = HyStart::default();
        rule.restart(&Context { now: Instant::ZERO + Duration::from_ms(100), snd_nxt: 40 * MSS, ..Context::default() });
        let older = Window { older: OlderRules::MS_DELAYS, ..window(16) };
        let delay = Duration::from_ms(10);
        assert!(!rule.is_over(&older, &ack(104_900, 41, 80), delay, delay));
        rule.on_growth(&older, &ack(104_900, 41, 80));
        assert!(!rule.is_over(&older, &ack(106_500, 42, 80), delay, delay), "the train is of 2 ms");
        rule.on_growth(&older, &ack(106_500, 42, 80));
        assert!(!rule.is_over(&older, &ack(108_400, 43, 80), delay, delay));
        assert!(rule.is_over(&older, &ack(110_400, 44, 80), delay, delay));
    }

    #[test]
    fn a_round_ends_with_its_last_byte() {
        let mut rule = HyStart::default();
        rule.restart(&Context::default());
        let base = Duration::from_ms(10);
        let over = |rule: &mut HyStart, now, una, nxt| rule.is_over(&window(20), &ack(now, una, nxt), base, base);
        assert!(!over(&mut rule, 10_000, 1, 40));
        // Segment 41 belongs to the next round: the train starts anew, however long the old one was.
        assert!(!over(&mut rule, 11_900, 20, 60));
        assert!(!over(&mut rule, 13_800, 41, 80));
        assert!(!over(&mut rule, 15_700, 60, 100));
        assert!(!over(&mut rule, 17_600, 70, 110));
        assert!(over(&mut rule, 19_000, 79, 120));
    }

    #[test]
    fn older_trains_are_longer_than_half_of_the_smallest_rtt_and_a_late_ack_is_of_none() {
        // The smallest RTT is 20 ms. A gap of 2 ms is none, and one of 3 ms ends the train.
        let window = Window { older: OlderRules::MS_DELAYS, ..window(100) };
        for (acks_ms, over) in
            [(&[2, 4, 6, 8, 10, 12][..], Some(12)), (&[2, 4, 6, 8, 10, 11], Some(11)), (&[2, 5, 12, 30], None)]
        {
            let mut rule = HyStart::default();
            rule.restart(&Context { now: Instant::ZERO + Duration::from_ms(100), ..Context::default() });
            let mut is_over = |ms: u64| {
                rule.is_over(&window, &ack(1_000 * (100 + ms), 0, 9), Duration::from_ms(20), Duration::from_ms(20))
            };
            assert_eq!(acks_ms.iter().copied().find(|&ms| is_over(ms)), over, "{acks_ms:?}");
        }
    }

    #[test]
    fn an_older_round_ends_when_more_than_was_sent_is_acknowledged() {
        let window = Window { older: OlderRules::MS_DELAYS, ..window(100) };
        let mut rule = HyStart::default();
        rule.restart(&Context { snd_nxt: 5 * MSS, ..Context::default() });
        for (una, end) in [(5, 5), (6, 50)] {
            rule.on_growth(&window, &ack(1_000, una, 50));
            assert_eq!(rule.end_seq, end * MSS);
        }
    }
}
