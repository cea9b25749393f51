//! BIC: Xu, Harfoush and Rhee, "Binary increase congestion control (BIC) for fast long-distance networks",
//! IEEE INFOCOM 2004, as Linux 6.1 has it.
//!
//! After a loss at `W_max` the window searches for the value between the cut one and `W_max` by bisection: it
//! grows by a fixed part of the distance per round trip, by at most `S_max` segments (additive increase)
//! and, close to `W_max`, by fractions of one. Above `W_max` it probes with the same steps in reverse. A flow that
//! loses below its last `W_max` gives up room (fast convergence).
//!
//! Follows Linux where the paper differs:
//! * The step is a quarter of the distance, not half; `S_max` is 16 segments; within 4 segments of `W_max` the
//!   window needs 5 round trips for each. The cut is to 0.8.
//! * Up to 14 segments it grows and halves as Reno does.
//! * The rate is a count of segments per increment, which is recomputed when the window has moved or every
//!   1/32 s, and is scaled by the mean number of segments that an ACK acknowledges. That is taken as 2 at first; with an
//!   ACK a segment it rests at 31/16, and only the duplicate ACKs of losses lower it, down to 1.
//! * Before the first loss at least one segment for 20 acknowledged ones; slow start ends only at a loss.
//! * A retransmission timeout forgets everything, `W_max` too.
//!
//! Validated by the worked numbers below, by its curve against the paper's search (`tests/curves`), and by the
//! segments that Linux 6.1 sends on the same ACKs (`daybreak agree --segments`, docs/fidelity.md).

use daybreak_units::parameters::{Parameter, Settings};

use super::{AckArrival, AckSample, CaState, Capabilities, Congestion, Context, Entry, Window};
use crate::jiffies::{Jiffies, JiffyClock};

/// The rule in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "bic",
    summary: "BIC (Xu, Harfoush and Rhee, 2004)",
    parameters: PARAMETERS,
    capabilities: Capabilities::NONE,
    new: |settings, _| Box::new(Bic { parameters: Parameters::of(settings), ..Bic::default() }),
};

/// As parameters of Linux's module `tcp_bic`, by the same names; there `beta` is in 1/1024.
const PARAMETERS: &[Parameter] = &[
    Parameter::switch("fast_convergence", DEFAULT.fast_convergence, "remember less at a loss below the last W_max"),
    Parameter::count(
        "max_increment",
        DEFAULT.max_increment as u64,
        (1, 1_000_000),
        "most segments a round trip (S_max)",
    ),
    Parameter::count("low_window", DEFAULT.low_window as u64, (0, 1_000_000), "up to this window it behaves as Reno"),
    Parameter::number(
        "beta",
        DEFAULT.beta as f64 / BETA_SCALE as f64,
        (0.1, 0.99),
        "part of the window that a loss leaves; kept in 1/1024",
    ),
    Parameter::count("smooth_part", DEFAULT.smooth_part as u64, (1, 1_000), "round trips from W_max - B to W_max"),
    Parameter::count("initial_ssthresh", 0, (0, 1_000_000), "ssthresh at the start in segments; 0 for none"),
];
const DEFAULT: Parameters = Parameters {
    fast_convergence: true,
    max_increment: 16,
    low_window: 14,
    beta: 819,
    smooth_part: 20,
    initial_ssthresh: 0,
};

const BETA_SCALE: u32 = 1_024;
/// B: a step of the search is 1 / B of the distance.
const PARTS: u32 = 4;
/// Most acknowledged segments for one more before the first loss: 5 % a round trip.
const MAX_PER_SEGMENT_UNPROBED: u32 = 20;
/// The mean number of segments an ACK is kept in sixteenths, and moves by a sixteenth.
const RATIO_SHIFT: u32 = 4;
/// The rate is computed anew so often while the window stands.
const REFRESHES_PER_SEC: u64 = 32;
/// Assumed before it is known.
const INITIAL_RATIO: u32 = 2 << RATIO_SHIFT;

/// Values of [`PARAMETERS`].
#[derive(Clone, Copy, Debug)]
struct Parameters {
    /// A flow that loses below its last `W_max` takes less than the window then for the next one.
    fast_convergence: bool,
    /// S_max: most segments a round trip.
    max_increment: u32,
    /// Up to this window it behaves as Reno.
    low_window: u32,
    /// The window after a loss in 1/1024 of the one before.
    beta: u32,
    /// Round trips from `W_max - B` to `W_max`.
    smooth_part: u32,
    /// Initial `ssthresh` in segments; 0 leaves it unlimited.
    initial_ssthresh: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        DEFAULT
    }
}

impl Parameters {
    fn of(settings: &Settings) -> Self {
        let count = |name| settings.whole(name) as u32;
        Self {
            fast_convergence: settings.switch("fast_convergence"),
            max_increment: count("max_increment"),
            low_window: count("low_window"),
            beta: (settings.number("beta") * f64::from(BETA_SCALE)).round() as u32,
            smooth_part: count("smooth_part"),
            initial_ssthresh: count("initial_ssthresh"),
        }
    }
}

/// The rule.
#[derive(Clone, Debug)]
pub struct Bic {
    parameters: Parameters,
    clock: JiffyClock,
    /// Jiffies after which the rate is computed anew.
    refresh: u64,
    /// Acknowledged segments for one more in `cwnd`.
    per_segment: u32,
    /// Window before the last reduction, lowered by fast convergence; 0 before the first.
    w_max: u32,
    /// Window and jiffy of the last computation.
    seen_cwnd: u32,
    seen_at: u64,
    /// Segments that an ACK acknowledges, in sixteenths.
    ratio: u32,
}

impl Default for Bic {
    fn default() -> Self {
        Self {
            parameters: Parameters::default(),
            clock: JiffyClock::new(Jiffies::default()),
            refresh: 0,
            per_segment: 0,
            w_max: 0,
            seen_cwnd: 0,
            seen_at: 0,
            ratio: INITIAL_RATIO,
        }
    }
}

impl Congestion for Bic {
    fn init(&mut self, window: &mut Window, ctx: &Context) {
        let jiffies = ctx.jiffies();
        self.clock = JiffyClock::new(jiffies);
        self.refresh = jiffies.hz() / REFRESHES_PER_SEC;
        if self.parameters.initial_ssthresh > 0 {
            window.ssthresh = self.parameters.initial_ssthresh;
        }
    }

    fn on_arrival(&mut self, _window: &mut Window, ack: &AckArrival) {
        if ack.state == CaState::Open {
            self.ratio = self.ratio - (self.ratio >> RATIO_SHIFT) + ack.acked;
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        let Some(acked) = window.past_slow_start_by_acks(ack) else { return };
        let now = self.clock.at(ack.arrival.now);
        if self.seen_cwnd != window.cwnd || now - self.seen_at > self.refresh {
            (self.seen_cwnd, self.seen_at) = (window.cwnd, now);
            self.per_segment = self.search(window.cwnd);
        }
        window.additive_increase(self.per_segment, acked);
    }

    fn ssthresh(&mut self, window: &Window, _ctx: &Context) -> u32 {
        let Parameters { beta, fast_convergence, low_window, .. } = self.parameters;
        let cwnd = window.cwnd;
        let converges = fast_convergence && cwnd < self.w_max;
        self.w_max = if converges { cwnd * (BETA_SCALE + beta) / (2 * BETA_SCALE) } else { cwnd };
        let cut = if cwnd <= low_window { cwnd / 2 } else { cwnd * beta / BETA_SCALE };
        cut.max(2)
    }

    fn on_state(&mut self, _window: &mut Window, state: CaState, _ctx: &Context) {
        if state == CaState::Loss {
            *self = Self { parameters: self.parameters, clock: self.clock, refresh: self.refresh, ..Self::default() };
        }
    }
}

impl Bic {
    /// Acknowledged segments for one more at `cwnd`.
    fn search(&self, cwnd: u32) -> u32 {
        if cwnd <= self.parameters.low_window {
            return cwnd;
        }
        let mut per_segment = if cwnd < self.w_max { self.below(cwnd) } else { self.above(cwnd) };
        if self.w_max == 0 {
            per_segment = per_segment.min(MAX_PER_SEGMENT_UNPROBED);
        }
        ((per_segment << RATIO_SHIFT) / self.ratio).max(1)
    }

    /// On the way to `W_max`.
    fn below(&self, cwnd: u32) -> u32 {
        let step = (self.w_max - cwnd) / PARTS;
        match step {
            0..=1 => self.slowly(cwnd),
            _ => cwnd / step.min(self.parameters.max_increment),
        }
    }

    /// Beyond it.
    fn above(&self, cwnd: u32) -> u32 {
        let max_increment = self.parameters.max_increment;
        let beyond = cwnd - self.w_max;
        if beyond < PARTS {
            self.slowly(cwnd)
        } else if beyond < max_increment * (PARTS - 1) {
            cwnd * (PARTS - 1) / beyond
        } else {
            cwnd / max_increment
        }
    }

    /// Around it: [`PARTS`] segments in `smooth_part` round trips.
    fn slowly(&self, cwnd: u32) -> u32 {
        cwnd * self.parameters.smooth_part / PARTS
    }
}

#[cfg(test)]
mod tests {
    use daybreak_units::{Duration, Instant};

    use super::super::OlderRules;
    use super::*;

    /// One ACK a segment: after many of them the ratio is 1.
    fn rule(w_max: u32) -> Bic {
        Bic { w_max, refresh: 1_000 / 32, ratio: 1 << RATIO_SHIFT, ..Bic::default() }
    }

    #[test]
    fn the_search_takes_a_quarter_of_the_distance_at_most_sixteen() {
        let rule = rule(1_000);
        assert_eq!(rule.search(800), 800 / 16, "200 away: S_max");
        assert_eq!(rule.search(936), 936 / 16, "64 away: a quarter is S_max");
        assert_eq!(rule.search(960), 960 / 10, "40 away: 10 a round trip");
        assert_eq!(rule.search(992), 992 / 2, "8 away: 2");
        assert_eq!(rule.search(993), 993 * 5, "7 away: one in five round trips");
        assert_eq!(rule.search(1_003), 1_003 * 5, "the same beyond");
        assert_eq!(rule.search(1_004), 1_004 * 3 / 4, "4 beyond: 4/3 a round trip");
        assert_eq!(rule.search(1_047), 1_047 * 3 / 47, "47 beyond: nearly S_max");
        assert_eq!(rule.search(1_048), 1_048 / 16, "48 beyond: S_max");
    }

    #[test]
    fn small_windows_grow_as_reno_and_unprobed_ones_by_five_percent() {
        assert_eq!(rule(1_000).search(14), 14);
        assert_eq!(rule(0).search(600), 20, "16 a round trip would be one in 37");
        assert_eq!(rule(0).search(160), 160 / 16, "S_max is more than 5 %");
    }

    #[test]
    fn delayed_acks_do_not_slow_it_down() {
        let (mut rule, mut window) = (Bic::default(), Window::new(10, 10));
        assert_eq!(rule.ratio, 32, "two segments an ACK at first");
        rule.on_arrival(&mut window, &AckArrival { acked: 1, ..AckArrival::default() });
        assert_eq!(rule.ratio, 31, "32 - 2 + 1");
        (0..100).for_each(|_| rule.on_arrival(&mut window, &AckArrival { acked: 1, ..AckArrival::default() }));
        // The sixteenths are whole, so it rests where it loses one a step.
        assert_eq!(rule.ratio, 31);
        rule.on_arrival(&mut window, &AckArrival { acked: 9, state: CaState::Disorder, ..AckArrival::default() });
        assert_eq!(rule.ratio, 31, "only in Open");
        assert_eq!(Bic { w_max: 1_000, ..rule }.search(800), (50 << 4) / 31);
    }

    #[test]
    fn a_loss_below_the_last_one_gives_up_room() {
        let (ctx, mut rule) = (Context::default(), rule(0));
        assert_eq!(rule.ssthresh(&Window::new(1_000, 10), &ctx), 799, "1000 * 819/1024");
        assert_eq!(rule.w_max, 1_000);
        rule.ssthresh(&Window::new(900, 10), &ctx);
        assert_eq!(rule.w_max, 809, "900 * (1024 + 819)/2048");
        assert_eq!(rule.ssthresh(&Window::new(14, 10), &ctx), 7, "small windows are halved");
        rule.on_state(&mut Window::new(1, 7), CaState::Loss, &ctx);
        assert_eq!((rule.w_max, rule.ratio), (0, 32));
    }

    #[test]
    fn the_rate_is_looked_at_again_when_the_window_moves_or_after_a_while() {
        let (mut rule, mut window) = (rule(1_000), Window::new(800, 100));
        let at = |ms| AckArrival {
            acked: 1,
            state: CaState::Disorder,
            now: Instant::ZERO + Duration::from_ms(ms),
            ..AckArrival::default()
        };
        rule.on_ack(&mut window, &at(100).sample());
        assert_eq!(rule.per_segment, 50);
        rule.w_max = 0;
        rule.on_ack(&mut window, &at(131).sample());
        assert_eq!(rule.per_segment, 50, "31 ms later");
        rule.on_ack(&mut window, &at(132).sample());
        assert_eq!(rule.per_segment, 20);
    }

    #[test]
    fn older_stacks_count_acks() {
        let ack = AckSample { newly_delivered: 2, is_cwnd_limited: true, ..AckSample::default() };
        let acks = |older| {
            let mut window = Window { older, ..Window::new(8, 1) };
            let mut rule = Bic::default();
            (1..).find(|_| {
                rule.on_ack(&mut window, &ack);
                window.cwnd > 8
            })
        };
        assert_eq!((acks(OlderRules::default()), acks(OlderRules::COUNT_ACKS)), (Some(4), Some(8)));
    }

    #[test]
    fn parameters_default_to_those_of_linux() {
        let settings = Settings::new(PARAMETERS, []).expect("each has a default");
        assert_eq!(format!("{:?}", Parameters::of(&settings)), format!("{DEFAULT:?}"));
    }

    #[test]
    fn a_connection_begins_with_the_threshold_that_is_set_and_looks_again_after_a_32nd_of_a_second() {
        for (initial_ssthresh, ssthresh) in [(0, 77), (1, 1), (100, 100)] {
            let (mut rule, mut window) = (Bic::default(), Window::new(10, 77));
            rule.parameters.initial_ssthresh = initial_ssthresh;
            rule.init(&mut window, &Context { jiffy: Duration::from_ms(4), ..Context::default() });
            assert_eq!((window.ssthresh, rule.refresh), (ssthresh, 250 / 32), "{initial_ssthresh}");
        }
    }

    #[test]
    fn a_timeout_forgets_what_was_measured_and_nothing_that_was_set() {
        let (mut rule, mut window) = (rule(1_000), Window::new(10, 10));
        rule.init(&mut window, &Context { jiffy: Duration::from_ms(4), ..Context::default() });
        rule.parameters.max_increment = 7;
        rule.on_state(&mut window, CaState::Loss, &Context::default());
        assert_eq!((rule.parameters.max_increment, rule.refresh, rule.w_max), (7, 7, 0));
        assert_eq!(rule.clock.at(Instant::ZERO + Duration::from_ms(400)), 100, "jiffies of 4 ms");
    }

    #[test]
    fn a_loss_at_the_window_of_the_last_one_gives_up_no_room() {
        let mut rule = rule(1_000);
        rule.ssthresh(&Window::new(1_000, 10), &Context::default());
        assert_eq!(rule.w_max, 1_000);
        assert_eq!(rule.search(1_060), 1_060 / 16, "60 beyond, S_max was reached at 48");
    }
}
