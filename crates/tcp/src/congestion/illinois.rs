//! Illinois: Liu, Basar and Srikant, "TCP-Illinois: a loss- and delay-based congestion control algorithm for
//! high-speed networks", Performance Evaluation 65(6-7), 2008, as Linux 6.1 has it.
//!
//! A loss decides when the window shrinks, the queueing delay by how much, and how fast it grows: `alpha`
//! segments a round trip, 10 while the mean delay of the last round trip is within 1 % of the largest one seen
//! and down to 0.3 at the largest; a loss takes `beta` of the window, 1/8 up to a tenth of the largest
//! delay and 1/2 from eight tenths on (section 3 of the paper, equations for alpha and beta).
//!
//! Follows Linux where the paper differs: below 15 segments it is Reno; it begins with an `alpha` of 10; after the
//! delay has been above 1 % it returns to 10 only when five round trips were below; the largest RTT is never
//! forgotten; a round trip counts with its ACKs, whether the window was the limit or not; slow start's last ACK
//! counts for slow start only; a timeout makes it Reno until the end of the round trip.
//!
//! Validated by the worked numbers below, by its curve against the equations above (`tests/curves`), and by the
//! segments that Linux 6.1 sends on the same ACKs (`daybreak agree --segments`, docs/fidelity.md).

use daybreak_units::parameters::{Parameter, Settings};

use super::{AckArrival, AckSample, CaState, Capabilities, Congestion, Context, Entry, Window};

/// The rule in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "illinois",
    summary: "Illinois (Liu, Basar and Srikant, 2008)",
    parameters: PARAMETERS,
    capabilities: Capabilities::NONE,
    new: |settings, _| Box::new(Illinois { parameters: Parameters::of(settings), ..Illinois::default() }),
};

/// As parameters of Linux's module `tcp_illinois`, by the same names.
const PARAMETERS: &[Parameter] = &[
    Parameter::count("win_thresh", DEFAULT.win_thresh as u64, (0, 1_000_000), "smallest window that adapts (W_thresh)"),
    Parameter::count(
        "theta",
        DEFAULT.theta as u64,
        (0, 1_000_000),
        "round trips of low delay after which alpha is largest again",
    ),
];
const DEFAULT: Parameters = Parameters { win_thresh: 15, theta: 5 };

/// `alpha` is kept in 1/128.
const ALPHA_SHIFT: u32 = 7;
/// 1: Reno's increase.
const ALPHA_BASE: u32 = 1 << ALPHA_SHIFT;
/// 0.3, rounded down (section 5 of the paper: alpha_min).
const ALPHA_MIN: u32 = 3 * ALPHA_BASE / 10;
/// 10 (alpha_max).
const ALPHA_MAX: u32 = 10 * ALPHA_BASE;
/// `beta` is kept in 1/64.
const BETA_SHIFT: u32 = 6;
/// 1/8 (beta_min).
const BETA_MIN: u32 = (1 << BETA_SHIFT) / 8;
/// 1/2 (beta_max): Reno's decrease.
const BETA_MAX: u32 = (1 << BETA_SHIFT) / 2;
/// `alpha` is largest up to a hundredth of the largest delay (eta_1).
const LOW_PART: u32 = 100;
/// Longest RTT in microseconds that is reckoned with: some 3.4 s, so that products stay in 32 bits.
const MAX_RTT: u32 = u32::MAX / ALPHA_MAX;
/// An RTT that is not known.
const UNKNOWN: u32 = 0x7fff_ffff;

/// Values of [`PARAMETERS`].
#[derive(Clone, Copy, Debug)]
struct Parameters {
    /// Smallest window that adapts (W_thresh).
    win_thresh: u32,
    /// Round trips of low delay after which `alpha` is largest again (theta).
    theta: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        DEFAULT
    }
}

impl Parameters {
    fn of(settings: &Settings) -> Self {
        Self { win_thresh: settings.whole("win_thresh") as u32, theta: settings.whole("theta") as u32 }
    }
}

/// The rule. RTTs are in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Illinois {
    parameters: Parameters,
    /// Segments a round trip, in 1/128.
    alpha: u32,
    /// Part of the window that a loss takes, in 1/64.
    beta: u32,
    /// Smallest and largest RTT of all.
    base_rtt: u32,
    max_rtt: u32,
    /// Sum and number of the RTTs in this round trip.
    sum_rtt: u64,
    samples: u32,
    /// The round trip ends when more than this is acknowledged.
    end: u64,
    /// Segments that the last ACK acknowledged cumulatively: growth counts these.
    acked: u32,
    /// The delay has been above its low part since `alpha` was largest; round trips in which it was not.
    has_risen: bool,
    low_trips: u32,
}

impl Default for Illinois {
    fn default() -> Self {
        Self {
            parameters: Parameters::default(),
            alpha: ALPHA_MAX,
            beta: BETA_MAX,
            base_rtt: UNKNOWN,
            max_rtt: 0,
            sum_rtt: 0,
            samples: 0,
            end: 0,
            acked: 0,
            has_risen: false,
            low_trips: 0,
        }
    }
}

impl Congestion for Illinois {
    fn init(&mut self, _window: &mut Window, ctx: &Context) {
        self.begin_trip(ctx.snd_nxt);
    }

    fn on_arrival(&mut self, _window: &mut Window, ack: &AckArrival) {
        self.acked = ack.acked;
        let Some(rtt) = ack.rtt else { return };
        let rtt = rtt.as_us().min(u64::from(MAX_RTT)) as u32;
        self.base_rtt = self.base_rtt.min(rtt);
        self.max_rtt = self.max_rtt.max(rtt);
        self.samples += 1;
        self.sum_rtt += u64::from(rtt);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if ack.arrival.snd_una > self.end {
            self.adapt(window.cwnd);
            self.begin_trip(ack.arrival.snd_nxt);
        }
        if !ack.is_cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            window.slow_start(ack.newly_delivered);
            return;
        }
        window.cwnd_cnt += self.acked;
        let earned = window.cwnd_cnt.wrapping_mul(self.alpha) >> ALPHA_SHIFT;
        if earned >= window.cwnd {
            window.cwnd = (window.cwnd + earned / window.cwnd).min(window.cwnd_clamp);
            window.cwnd_cnt = 0;
        }
    }

    fn ssthresh(&mut self, window: &Window, _ctx: &Context) -> u32 {
        let decrease = window.cwnd.wrapping_mul(self.beta) >> BETA_SHIFT;
        (window.cwnd - decrease).max(2)
    }

    fn on_state(&mut self, _window: &mut Window, state: CaState, ctx: &Context) {
        if state == CaState::Loss {
            (self.alpha, self.beta) = (ALPHA_BASE, BETA_MAX);
            (self.has_risen, self.low_trips) = (false, 0);
            self.begin_trip(ctx.snd_nxt);
        }
    }
}

impl Illinois {
    fn begin_trip(&mut self, snd_nxt: u64) {
        self.end = snd_nxt;
        (self.sum_rtt, self.samples) = (0, 0);
    }

    /// The increase and the decrease for what the round trip has shown.
    fn adapt(&mut self, cwnd: u32) {
        if cwnd < self.parameters.win_thresh {
            (self.alpha, self.beta) = (ALPHA_BASE, BETA_MAX);
        } else if self.samples > 0 {
            let mean = (self.sum_rtt / u64::from(self.samples)) as u32;
            let (delay, max_delay) = (mean - self.base_rtt, self.max_rtt - self.base_rtt);
            self.alpha = self.increase(delay, max_delay);
            self.beta = decrease(delay, max_delay);
        }
    }

    /// `alpha` falls as `k1 / (k2 + delay)` from [`ALPHA_MAX`] at `low` to [`ALPHA_MIN`] at `max_delay`.
    fn increase(&mut self, delay: u32, max_delay: u32) -> u32 {
        let low = max_delay / LOW_PART;
        if delay > low {
            self.has_risen = true;
            let (delay, span) = (delay - low, max_delay - low);
            return span * ALPHA_MAX / (span + delay * (ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN);
        }
        if self.has_risen {
            self.low_trips += 1;
            if self.low_trips < self.parameters.theta {
                return self.alpha;
            }
            (self.has_risen, self.low_trips) = (false, 0);
        }
        ALPHA_MAX
    }
}

/// `beta` rises linearly between a tenth and eight tenths of `max_delay`.
fn decrease(delay: u32, max_delay: u32) -> u32 {
    let (low, high) = (max_delay / 10, 8 * max_delay / 10);
    if delay <= low {
        BETA_MIN
    } else if delay >= high || high <= low {
        BETA_MAX
    } else {
        (BETA_MIN * high + (BETA_MAX - BETA_MIN) * delay - BETA_MAX * low) / (high - low)
    }
}

#[cfg(test)]
mod tests {
    use daybreak_units::Duration;

    use super::*;

    const MSS: u64 = 1_000;

    fn rule() -> Illinois {
        Illinois { base_rtt: 10_000, max_rtt: 20_000, ..Illinois::default() }
    }

    fn ack(una: u64, acked: u32, rtt_us: u64) -> AckArrival {
        AckArrival {
            acked,
            rtt: Some(Duration::from_us(rtt_us)),
            snd_una: una * MSS,
            snd_nxt: (una + 100) * MSS,
            ..AckArrival::default()
        }
    }

    #[test]
    fn the_increase_falls_from_ten_to_three_tenths() {
        // With d_m = 10 ms and d_1 = 0.1 ms: alpha = k1 / (k2 + d), k1 = 9.9 ms * 3/9.7, k2 = 9.9 * 0.3/9.7 - 0.1.
        let exact = |d: f64| (9.9 * 3.0 / 9.7) / (9.9 * 0.3 / 9.7 - 0.1 + d);
        assert_eq!(rule().increase(100, 10_000), ALPHA_MAX);
        for us in [101, 500, 1_000, 3_000, 6_000, 10_000] {
            // The unit is 1/128, and alpha_min 38/128, 1 % less.
            let alpha = f64::from(rule().increase(us, 10_000)) / 128.0;
            let want = exact(f64::from(us) / 1e3);
            assert!((alpha - want).abs() < 0.012 * want + 1.0 / 128.0, "{us} us: {alpha} of {want}");
        }
        assert_eq!(rule().increase(10_000, 10_000), ALPHA_MIN);
    }

    #[test]
    fn the_decrease_rises_from_an_eighth_to_a_half() {
        let exact = |d: f64| 0.125 + (0.5 - 0.125) * (d - 0.1) / 0.7;
        assert_eq!((decrease(1_000, 10_000), decrease(8_000, 10_000)), (8, 32));
        for us in [1_001, 2_000, 4_500, 7_999] {
            assert_eq!(decrease(us, 10_000), (exact(f64::from(us) / 1e4) * 64.0) as u32, "{us} us");
        }
        assert_eq!(decrease(1, 1), BETA_MAX, "no delay that could be told apart");
        assert_eq!(rule().ssthresh(&Window::new(100, 10), &Context::default()), 50);
        assert_eq!(Illinois { beta: BETA_MIN, ..rule() }.ssthresh(&Window::new(100, 10), &Context::default()), 88);
    }

    #[test]
    fn five_round_trips_of_low_delay_bring_the_largest_increase_back() {
        let mut rule = rule();
        assert_eq!(rule.increase(0, 10_000), ALPHA_MAX, "at first at once");
        rule.alpha = rule.increase(5_000, 10_000);
        let before = rule.alpha;
        for _ in 0..4 {
            assert_eq!(rule.increase(0, 10_000), before);
        }
        assert_eq!(rule.increase(0, 10_000), ALPHA_MAX);
    }

    #[test]
    fn a_round_trip_adapts_to_its_mean_delay() {
        let (mut rule, mut window) = (rule(), Window::new(100, 50));
        rule.end = 2 * MSS;
        for (una, rtt) in [(1, 11_000), (2, 13_000), (3, 15_000)] {
            let ack = ack(una, 1, rtt);
            rule.on_arrival(&mut window, &ack);
            rule.on_ack(&mut window, &ack.sample());
        }
        // 3 ms of 10 on average.
        assert_eq!((rule.alpha, rule.beta), (self::rule().increase(3_000, 10_000), decrease(3_000, 10_000)));
        assert_eq!((rule.samples, rule.end), (0, 103 * MSS));
        rule.on_ack(&mut Window::new(14, 10), &ack(200, 1, 10_000).sample());
        assert_eq!((rule.alpha, rule.beta), (ALPHA_BASE, BETA_MAX), "below 15 segments as Reno");
    }

    #[test]
    fn a_round_trip_without_a_sample_changes_nothing() {
        // Its ACKs were all of retransmissions.
        let mut rule = Illinois { alpha: 77, beta: 19, end: MSS, ..rule() };
        let ack = AckArrival { rtt: None, ..ack(2, 1, 0) };
        rule.on_arrival(&mut Window::new(100, 50), &ack);
        rule.on_ack(&mut Window::new(100, 50), &ack.sample());
        assert_eq!((rule.alpha, rule.beta, rule.end), (77, 19, 102 * MSS));
    }

    #[test]
    fn the_window_grows_by_alpha_a_round_trip() {
        let (mut rule, mut window) = (Illinois { end: u64::MAX, ..rule() }, Window::new(100, 50));
        for una in 1..=10 {
            let ack = ack(una, 1, 10_000);
            rule.on_arrival(&mut window, &ack);
            rule.on_ack(&mut window, &ack.sample());
        }
        assert_eq!((window.cwnd, window.cwnd_cnt), (101, 0), "ten segments times ten are a window");
        let ack = ack(41, 31, 10_000);
        rule.on_arrival(&mut window, &ack);
        rule.on_ack(&mut window, &ack.sample());
        assert_eq!(window.cwnd, 104, "310 of 101");
    }

    #[test]
    fn a_timeout_makes_it_reno() {
        let mut rule = rule();
        rule.on_state(&mut Window::new(1, 50), CaState::Loss, &Context { snd_nxt: 77, ..Context::default() });
        assert_eq!((rule.alpha, rule.beta, rule.end, rule.max_rtt), (ALPHA_BASE, BETA_MAX, 77, 20_000));
    }

    #[test]
    fn the_first_round_trip_ends_with_what_was_sent_first() {
        let (mut rule, mut window) = (rule(), Window::new(100, 50));
        rule.init(&mut window, &Context { snd_nxt: 5 * MSS, ..Context::default() });
        rule.on_arrival(&mut window, &ack(5, 1, 15_000));
        rule.on_ack(&mut window, &ack(5, 1, 15_000).sample());
        assert_eq!((rule.end, rule.samples), (5 * MSS, 1), "with more than that");
        rule.on_ack(&mut window, &ack(6, 1, 15_000).sample());
        assert_eq!((rule.end, rule.samples), (106 * MSS, 0));
    }

    #[test]
    fn increase_and_decrease_are_those_of_linux_to_the_unit() {
        // alpha() and beta() of tcp_illinois.c: d_1 is a hundredth of the largest delay, d_2 a tenth, d_3 eight tenths.
        for (us, alpha, beta) in [(500, 551, 8), (5_000, 74, 21), (9_000, 42, 32), (10_000, 38, 32)] {
            assert_eq!((rule().increase(us, 10_000), decrease(us, 10_000)), (alpha, beta), "{us} us");
        }
    }

    #[test]
    fn a_delay_of_a_hundredth_is_none() {
        let mut rule = rule();
        rule.increase(100, 10_000);
        rule.alpha = 77;
        assert_eq!(rule.increase(0, 10_000), ALPHA_MAX, "no round trips of low delay are to be waited for");
    }

    #[test]
    fn fifteen_segments_are_enough_to_adapt() {
        for (cwnd, alpha) in [(14, ALPHA_BASE), (15, ALPHA_MAX)] {
            let mut rule = Illinois { sum_rtt: 10_000, samples: 1, alpha: 77, ..rule() };
            rule.adapt(cwnd);
            assert_eq!(rule.alpha, alpha, "{cwnd}");
        }
    }
}
