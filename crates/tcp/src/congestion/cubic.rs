//! CUBIC: RFC 9438 as Linux 6.1 has it; Ha, Rhee and Xu, "CUBIC", ACM SIGOPS OSR 42(5), 2008.
//!
//! After a loss at `W_max` the window is cut to 0.7 of it and then follows
//! `W(t) = C (t - K)^3 + W_max` with `K = cbrt((W_max - cwnd) / C)` (RFC 9438, equations 1 and 2),
//! never slower than an additive-increase flow of the same mean would (`W_est`, equation 4). A flow
//! that loses below its last `W_max` gives up room (fast convergence, section 4.7). HyStart, or
//! whichever [`SlowStart`] rule it carries, ends slow start.
//!
//! Follows Linux where RFC 9438 differs, since these decide what a flow does within an RTT:
//! * Time is counted in jiffies, and converted to 1/1024 s: at RTTs below a jiffy the curve moves
//!   once a jiffy and its target lies one jiffy ahead, because the smallest RTT is rounded up.
//! * The rate is a count of segments per increment, recomputed at most once a jiffy, at least 2
//!   (1.5 times a window) and `100 cwnd` at or above the target; before the first loss at most 20.
//! * `W_est` grows with 8 segments for 15 windows' worth acknowledged (the RFC's 0.529 as 8/15) and
//!   does not switch to 1 once it passes the window before the loss.
//! * For one second after an epoch starts RTT samples count neither for the smallest RTT nor for
//!   slow start's end.
//! * After idle time the epoch is shifted by it (section 5.8 counts `t` without idle periods).
//! * A retransmission timeout forgets everything, `W_max` too.
//!
//! Two parameters give the growth of version 2.1 (Linux 2.6.22): `max_increment` bounds it above `W_max`, and `ack_ratio`
//! multiplies it by an estimate of segments per ACK. That estimate starts at 2 in sixteenths and stays at 31/16 with an ACK
//! for every segment, since it is rounded down: 310 (RTT - 1 ms) / RTT segments a second come of a bound of 16.
//!
//! The cube root is Linux's approximation: whether an epoch begins with a segment of growth depends on it.
//!
//! Validated by the worked numbers below, by its curves against the equations and over a drop-tail
//! path (`tests/curves`), and beside Linux 6.1 (`tests/end_to_end.rs`). Over 10 Gbit/s, 40 us and 350
//! packets both leave slow start at 24 segments, lose 19 at 51.0 ms and are cut to 262; over 1 Gbit/s,
//! 10 ms and 830 packets both leave it at 1076, lose 83 and are cut to 1217. Between and after the losses
//! the windows agree within a segment as far as the runs go (0.2 and 2.3 s).

use daybreak_units::parameters::{Parameter, Settings};
use daybreak_units::{Duration, Instant};

use super::slow_start::{Classic, HyStart, SlowStart};
use super::{AckArrival, AckSample, CaEvent, CaState, Capabilities, Congestion, Context, Entry, OlderRules, Window};
use crate::jiffies::{Jiffies, JiffyClock};

/// What Linux 6.1 lets one set as parameters of its module `tcp_cubic`, by the same names.
const PARAMETERS: &[Parameter] = &[
    Parameter::switch("hystart", true, "leave slow start by HyStart; else at the first loss"),
    Parameter::number(
        "beta",
        BETA as f64 / BETA_SCALE as f64,
        (0.1, 0.99),
        "part of the window that a loss leaves; kept in 1/1024",
    ),
    Parameter::switch("fast_convergence", true, "remember less than the window at a loss below the last one"),
    Parameter::switch("tcp_friendliness", true, "grow at least as Reno would"),
    Parameter::number(
        "max_increment",
        0.0,
        (0.0, 1_000.0),
        "most segments of growth in 100 ms above W_max, as CUBIC 2.1 had it; 0 for any number",
    ),
    Parameter::switch("ack_ratio", false, "grow faster by the estimated number of segments an ACK"),
];

/// The rule in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "cubic",
    summary: "CUBIC with HyStart (RFC 9438)",
    parameters: PARAMETERS,
    capabilities: Capabilities::NONE,
    new,
};

fn new(settings: &Settings, _seed: u64) -> Box<dyn Congestion> {
    let shape = Shape {
        max_increment: settings.number("max_increment") as u64,
        ack_ratio: settings.switch("ack_ratio"),
        ..Shape::new(settings.number("beta"), settings.switch("fast_convergence"), settings.switch("tcp_friendliness"))
    };
    if settings.switch("hystart") {
        Box::new(Cubic::<HyStart>::new(shape))
    } else {
        Box::new(Cubic::<Classic>::new(shape))
    }
}

/// Multiplicative decrease of 0.7 as 717/1024 (RFC 9438, section 4.6).
const BETA: u64 = 717;
const BETA_SCALE: u64 = 1_024;
/// C of 0.4 as 410/1024 segments/s^3 (section 5.1).
const C: u64 = 410;
/// Ticks a second of the curve's own time; C's fraction and three of these make 2^40.
const TICKS: u32 = 10;
const CURVE_SHIFT: u32 = 10 + 3 * TICKS;
/// Fewest acknowledged segments for one more.
const MIN_PER_SEGMENT: u32 = 2;
/// Most of them before any loss has shown what the path holds.
const MAX_PER_SEGMENT_UNPROBED: u32 = 20;
/// A curve's distance from its middle beyond which it is not followed: 256 s, 6.7 million segments.
const MAX_OFFSET: u64 = 1 << 18;

/// What the parameters make of the rule.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// Part of the window that a loss leaves, in 1/1024.
    beta: u64,
    fast_convergence: bool,
    /// Windows' worth of acknowledged segments for 8 more in `W_est`; `None` to leave `W_est` out.
    friendly_eighths: Option<u32>,
    /// Most segments of growth in 100 ms above `W_max`; zero for no bound.
    max_increment: u64,
    /// Growth is multiplied by the estimated number of segments an ACK.
    ack_ratio: bool,
}

/// The curve since the last reduction.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// Start in jiffies.
    start: u64,
    /// Window at the curve's middle: `W_max`, or where the epoch began if that was higher.
    origin: u32,
    /// K in 1/1024 s.
    k: u64,
}

/// The rule, with the slow start it uses.
#[derive(Clone, Debug)]
// What an ACK touches above the threshold is the first two cache lines.
#[repr(C, align(64))]
pub struct Cubic<S: SlowStart = HyStart> {
    clock: JiffyClock,
    /// Jiffies a second.
    hz: u64,
    epoch: Option<Epoch>,
    shape: Shape,
    /// Window and jiffy of the last look at the curve.
    seen_at: u64,
    seen_cwnd: u32,
    /// Acknowledged segments for one more in `cwnd`.
    per_segment: u32,
    /// Segments acknowledged since `w_est` last grew.
    est_acked: u32,
    /// Window of the additive-increase flow that this one must not fall behind.
    w_est: u32,
    /// Window before the last reduction, lowered by fast convergence; 0 before the first.
    w_max: u32,
    /// Segments an ACK in sixteenths.
    ack_sixteenths: u32,
    /// Smallest accepted RTT; zero before the first.
    min_delay: Duration,
    jiffies: Jiffies,
    /// Delays are in eighths of a millisecond, and the curve looks ahead by whole ones ([`OlderRules::MS_DELAYS`]).
    is_coarse: bool,
    slow_start: S,
}

impl Shape {
    fn new(beta: f64, fast_convergence: bool, tcp_friendliness: bool) -> Self {
        let beta = (beta * BETA_SCALE as f64).round() as u64;
        // The inverse of 3 (1 - beta) / (1 + beta), times 8 and rounded down as Linux does.
        let eighths = (8 * (BETA_SCALE + beta) / 3 / (BETA_SCALE - beta)) as u32;
        let friendly_eighths = tcp_friendliness.then_some(eighths);
        Self { beta, fast_convergence, friendly_eighths, max_increment: 0, ack_ratio: false }
    }
}

impl<S: SlowStart> Default for Cubic<S> {
    fn default() -> Self {
        Self::new(Shape::new(BETA as f64 / BETA_SCALE as f64, true, true))
    }
}

impl<S: SlowStart> Cubic<S> {
    fn new(shape: Shape) -> Self {
        Self {
            shape,
            slow_start: S::default(),
            jiffies: Jiffies::default(),
            clock: JiffyClock::new(Jiffies::default()),
            hz: Jiffies::default().hz(),
            epoch: None,
            w_max: 0,
            per_segment: 0,
            seen_cwnd: 0,
            seen_at: 0,
            min_delay: Duration::ZERO,
            is_coarse: false,
            est_acked: 0,
            w_est: 0,
            ack_sixteenths: 2 << 4,
        }
    }
}

impl<S: SlowStart> Congestion for Cubic<S> {
    fn init(&mut self, window: &mut Window, ctx: &Context) {
        self.is_coarse = window.older.have(OlderRules::MS_DELAYS);
        self.jiffies = ctx.jiffies();
        self.clock = JiffyClock::new(self.jiffies);
        self.hz = self.jiffies.hz();
        self.forget(ctx);
    }

    fn on_arrival(&mut self, window: &mut Window, ack: &AckArrival) {
        if self.shape.ack_ratio && ack.acked > 0 && ack.state == CaState::Open {
            self.ack_sixteenths = self.ack_sixteenths - (self.ack_sixteenths >> 4) + ack.acked;
        }
        let Some(rtt) = ack.rtt else { return };
        if let Some(epoch) = self.epoch
            && self.clock.at(ack.now) < epoch.start + self.hz
        {
            return;
        }
        let rtt = if self.is_coarse { eighths_of_ms(rtt) } else { rtt.max(Duration::from_us(1)) };
        if self.min_delay.is_zero() || rtt < self.min_delay {
            self.min_delay = rtt;
        }
        if window.in_slow_start() && self.slow_start.is_over(window, ack, rtt, self.min_delay) {
            window.ssthresh = window.cwnd;
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if !ack.is_cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            self.slow_start.on_growth(window, &ack.arrival);
        }
        let Some(acked) = window.past_slow_start(ack) else { return };
        let now = self.clock.at(ack.arrival.now);
        self.follow_curve(window.cwnd, acked, now);
        let mut per_segment = self.per_segment;
        if self.shape.ack_ratio {
            per_segment = (u64::from(per_segment) * 16 / u64::from(self.ack_sixteenths)) as u32;
        }
        window.additive_increase(per_segment, acked);
    }

    fn ssthresh(&mut self, window: &Window, _ctx: &Context) -> u32 {
        self.epoch = None;
        let cwnd = u64::from(window.cwnd);
        let Shape { beta, fast_convergence, .. } = self.shape;
        let gives_up_room = fast_convergence && window.cwnd < self.w_max;
        self.w_max = if gives_up_room { (cwnd * (BETA_SCALE + beta) / (2 * BETA_SCALE)) as u32 } else { window.cwnd };
        ((cwnd * beta / BETA_SCALE) as u32).max(2)
    }

    fn on_event(&mut self, _window: &mut Window, event: CaEvent, ctx: &Context) {
        let CaEvent::TxStart { idle } = event else {
            return;
        };
        let now = self.jiffies.at(ctx.now);
        let idle = now - self.jiffies.at(Instant::ZERO + (ctx.now - Instant::ZERO).saturating_sub(idle));
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + idle).min(now);
        }
    }

    fn on_state(&mut self, _window: &mut Window, state: CaState, ctx: &Context) {
        if state == CaState::Loss {
            self.forget(ctx);
        }
    }
}

/// A delay as Linux up to 5.5 keeps it: rounded down to eighths of a millisecond, at least one.
fn eighths_of_ms(delay: Duration) -> Duration {
    const EIGHTH_US: u64 = 125;
    Duration::from_us((delay.as_us() / EIGHTH_US).max(1) * EIGHTH_US)
}

impl<S: SlowStart> Cubic<S> {
    fn forget(&mut self, ctx: &Context) {
        let mut slow_start = std::mem::take(&mut self.slow_start);
        slow_start.restart(ctx);
        let Self { jiffies, clock, hz, is_coarse, .. } = *self;
        *self = Self { slow_start, jiffies, clock, hz, is_coarse, ..Self::new(self.shape) };
    }

    /// Recomputes how many acknowledged segments earn one more, when time or the window has moved.
    #[inline]
    fn follow_curve(&mut self, cwnd: u32, acked: u32, now: u64) {
        self.est_acked += acked;
        if self.seen_cwnd != cwnd || now - self.seen_at > self.hz / 32 {
            self.look_at_curve(cwnd, acked, now);
        }
    }

    #[inline(never)]
    fn look_at_curve(&mut self, cwnd: u32, acked: u32, now: u64) {
        let since = now - self.seen_at;
        match self.epoch {
            Some(_) if since == 0 => {}
            epoch => {
                self.seen_cwnd = cwnd;
                self.seen_at = now;
                let epoch = epoch.unwrap_or_else(|| self.start_epoch(cwnd, acked, now));
                let t = self.curve_time(now - epoch.start);
                let target = epoch.window_at(t);
                self.per_segment = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
                if self.shape.max_increment > 0 && t >= epoch.k {
                    self.per_segment = self.per_segment.max(self.least_per_segment(cwnd));
                }
                if self.w_max == 0 {
                    self.per_segment = self.per_segment.min(MAX_PER_SEGMENT_UNPROBED);
                }
            }
        }
        self.keep_up_with_reno(cwnd);
        self.per_segment = self.per_segment.max(MIN_PER_SEGMENT);
    }

    /// The growth bound of version 2.1, `max_increment` segments in 100 ms, as acknowledged segments for one more. The
    /// round trip is the smallest RTT in whole milliseconds, less one.
    fn least_per_segment(&self, cwnd: u32) -> u32 {
        let rtt_ms = (self.min_delay.as_us() / 1_000).saturating_sub(1).max(1);
        (u64::from(cwnd) * 100 / (self.shape.max_increment * rtt_ms)).min(u64::from(u32::MAX)) as u32
    }

    fn start_epoch(&mut self, cwnd: u32, acked: u32, now: u64) -> Epoch {
        self.est_acked = acked;
        self.w_est = cwnd;
        let below = u64::from(self.w_max.saturating_sub(cwnd));
        let epoch = Epoch { start: now, origin: self.w_max.max(cwnd), k: cube_root(below * ((1 << CURVE_SHIFT) / C)) };
        self.epoch = Some(epoch);
        epoch
    }

    /// The curve's time `jiffies` into the epoch, in 1/1024 s, one smallest RTT ahead.
    fn curve_time(&self, jiffies: u64) -> u64 {
        let delay = if self.is_coarse { Duration::from_ms(self.min_delay.as_us() / 1_000) } else { self.min_delay };
        let ahead = self.jiffies.covering(delay);
        ((jiffies + ahead) << TICKS) / self.hz
    }

    /// The Reno-friendly region (RFC 9438, section 4.3).
    fn keep_up_with_reno(&mut self, cwnd: u32) {
        let Some(eighths) = self.shape.friendly_eighths else { return };
        let step = ((cwnd * eighths) >> 3).max(1);
        if self.est_acked > step {
            let steps = (self.est_acked - 1) / step;
            self.est_acked -= steps * step;
            self.w_est += steps;
        }
        if self.w_est > cwnd {
            self.per_segment = self.per_segment.min(cwnd / (self.w_est - cwnd));
        }
    }
}

impl Epoch {
    /// W(t), RFC 9438, equation 1.
    fn window_at(&self, t: u64) -> u32 {
        let offset = t.abs_diff(self.k).min(MAX_OFFSET);
        let distance = ((C * offset * offset * offset) >> CURVE_SHIFT) as u32;
        if t < self.k { self.origin.saturating_sub(distance) } else { self.origin.saturating_add(distance) }
    }
}

/// The cube root as Linux 6.1 takes it, within 0.5 %: one step of Newton's method, which divides by 3.003 instead of 3 and by
/// x (x - 1) instead of x^2, from an estimate by the two leading octal digits.
fn cube_root(value: u64) -> u64 {
    if value < 8 {
        return u64::from(value > 0);
    }
    let others = value.ilog2() / 3 - 1;
    let estimate = (ESTIMATES[(value >> (3 * others)) as usize] << others) / ESTIMATE_UNIT;
    ((2 * estimate + value / (estimate * (estimate - 1))) * 341) >> 10
}

/// Of the cube root of each two octal digits, in 64ths: 1/32 above that of the interval's middle, since the step errs upwards
/// by the square of the estimate's error, and its divisor downwards by 0.1 %.
const ESTIMATES: [u64; 64] = estimates();
const ESTIMATE_UNIT: u64 = 64;
/// Deviations of Linux 6.1's table from the formula above. Without any one of these some of 400 replayed flows part, but for
/// those of 20 and 35, which are known from reading it and decide no growth at RTTs below 12 ms.
const OTHER_ESTIMATES: [(usize, i64); 23] = [
    (8, -2),
    (9, -1),
    (10, -1),
    (11, -1),
    (15, 1),
    (16, -1),
    (18, -1),
    (20, -1),
    (21, -1),
    (24, -1),
    (25, 1),
    (27, 1),
    (30, 1),
    (31, 1),
    (32, -1),
    (33, -1),
    (34, -1),
    (35, -1),
    (42, 1),
    (45, -1),
    (56, 1),
    (60, 1),
    (63, 1),
];

const fn estimates() -> [u64; 64] {
    let mut all = [0; 64];
    let mut digits = 0;
    while digits < 64 {
        // To the nearest: (2 x - 1)^3 <= (2 * 66)^3 (digits + 1/2).
        let cube = 4 * 66u64.pow(3) * (2 * digits as u64 + 1);
        while (2 * all[digits] + 1u64).pow(3) <= cube {
            all[digits] += 1;
        }
        digits += 1;
    }
    let mut at = 0;
    while at < OTHER_ESTIMATES.len() {
        let (digits, more) = OTHER_ESTIMATES[at];
        all[digits] = all[digits].saturating_add_signed(more);
        at += 1;
    }
    all
}

#[cfg(test)]
#[path = "cubic_tests.rs"]
mod tests;
