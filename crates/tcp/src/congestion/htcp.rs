//! H-TCP: Leith and Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004, and
//! draft-leith-tcp-htcp-06, as Linux 6.1 has it.
//!
//! The longer the last loss is ago, the faster the window grows: during the first second by Reno's segment a
//! round trip, then by `1 + 10 (t - 1) + ((t - 1) / 2)^2` (draft, section 3), scaled by the RTT against 100 ms.
//! A loss cuts the window to `RTT_min / RTT_max` of it, between 0.5 and 0.8, so that the queue empties and no
//! more (adaptive backoff); to 0.5 where the throughput before this loss and the one before differ by more than
//! a fifth. The increase is multiplied by `2 (1 - beta)`, so that flows of different `beta` share alike.
//!
//! Follows Linux where the draft differs:
//! * Time and RTTs are jiffies, RTTs rounded up: below a jiffy the smallest and the largest RTT are equal, and
//!   `beta` is never above 0.5 while the smallest RTT is 10 ms or less.
//! * The largest RTT rises by at most 20 ms at once and fades by a twentieth of its distance with each loss.
//! * Throughput is what was acknowledged in at least one window and one smallest RTT. The first interval begins
//!   at the start of the machine, so the first throughput is none.
//! * The window's increment is checked with each ACK: it is one segment, however large the increase is.
//! * An undone reduction restores the time of the last loss, the largest RTT and the throughput.
//!
//! Validated by the worked numbers below, by its curve against the equation above (`tests/curves`), and by the
//! segments that Linux 6.1 sends on the same ACKs (`daybreak agree --segments`, docs/fidelity.md).

use daybreak_units::parameters::{Parameter, Settings};
use daybreak_units::{Duration, Instant};

use super::{AckArrival, AckSample, CaState, Capabilities, Congestion, Context, Entry, Window};
use crate::jiffies::{Jiffies, JiffyClock};

/// The rule in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "htcp",
    summary: "H-TCP (Leith and Shorten, 2004)",
    parameters: PARAMETERS,
    capabilities: Capabilities::NONE,
    new: |settings, _| Box::new(HTcp { parameters: Parameters::of(settings), ..HTcp::default() }),
};

/// As parameters of Linux's module `tcp_htcp`, by the same names.
const PARAMETERS: &[Parameter] = &[
    Parameter::switch("use_rtt_scaling", true, "scale the increase by the RTT against 100 ms"),
    Parameter::switch("use_bandwidth_switch", true, "return to a beta of 0.5 when the throughput changes"),
];

/// `alpha` and `beta` are kept in 1/128.
const SHIFT: u32 = 7;
const UNIT: u32 = 1 << SHIFT;
/// 0.5 (draft, section 3).
const BETA_MIN: u32 = 64;
/// 0.8.
const BETA_MAX: u32 = 102;
/// The backoff adapts only above this RTT.
const MIN_ADAPTIVE_RTT: Duration = Duration::from_ms(10);
/// The largest RTT rises by at most this at once.
const MAX_RISE: Duration = Duration::from_ms(20);
/// Percent of its distance from the smallest RTT that the largest keeps after a loss.
const MAX_RTT_KEPT: u64 = 95;
/// Time after a loss, in smallest RTTs, that does not count as steady.
const SETTLING_RTTS: u64 = 3;
/// RTT scaling is in 1/8, and between 0.5 and 10.
const SCALE_SHIFT: u32 = 3;
const SCALE_MIN: u32 = 1 << 2;
const SCALE_MAX: u32 = 10 << SCALE_SHIFT;

/// Values of [`PARAMETERS`].
#[derive(Clone, Copy, Debug)]
struct Parameters {
    /// The increase is scaled by the RTT against 100 ms.
    use_rtt_scaling: bool,
    /// A change of the throughput leads back to a `beta` of 0.5.
    use_bandwidth_switch: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { use_rtt_scaling: true, use_bandwidth_switch: true }
    }
}

impl Parameters {
    fn of(settings: &Settings) -> Self {
        let switch = |name| settings.switch(name);
        Self { use_rtt_scaling: switch("use_rtt_scaling"), use_bandwidth_switch: switch("use_bandwidth_switch") }
    }
}

/// What a reduction changes, and an undo restores.
#[derive(Clone, Copy, Debug, Default)]
struct Congested {
    /// End of the last congestion event, in jiffies.
    at: u64,
    /// Largest RTT in jiffies.
    max_rtt: u64,
    /// Largest throughput before the last loss, in segments a second.
    old_max_rate: u32,
}

/// The rule.
#[derive(Clone, Debug)]
pub struct HTcp {
    parameters: Parameters,
    jiffies: Jiffies,
    clock: JiffyClock,
    /// Segments a round trip, in 1/128.
    alpha: u32,
    /// The window after a loss in 1/128 of the one before.
    beta: u32,
    /// A loss has been seen since the throughput changed: `beta` may adapt.
    adapts: bool,
    /// Segments that the last ACK acknowledged, if its growth is still to come.
    acked: u32,
    /// Smallest RTT in jiffies; 0 before the first.
    min_rtt: u64,
    last: Congested,
    /// As before the reduction that lasts, for undo.
    undo: Option<Congested>,
    /// Segments acknowledged in this interval, and its start; `None` before the first.
    interval_acked: u32,
    interval_start: Option<u64>,
    /// Throughput, averaged, and its largest since the last loss, in segments a second.
    rate: u32,
    max_rate: u32,
}

impl Default for HTcp {
    fn default() -> Self {
        Self {
            parameters: Parameters::default(),
            jiffies: Jiffies::default(),
            clock: JiffyClock::new(Jiffies::default()),
            alpha: UNIT,
            beta: BETA_MIN,
            adapts: false,
            acked: 1,
            min_rtt: 0,
            last: Congested::default(),
            undo: None,
            interval_acked: 0,
            interval_start: None,
            rate: 0,
            max_rate: 0,
        }
    }
}

impl Congestion for HTcp {
    fn init(&mut self, _window: &mut Window, ctx: &Context) {
        let jiffies = ctx.jiffies();
        let last = Congested { at: jiffies.at(ctx.now), ..Congested::default() };
        let clock = JiffyClock::new(jiffies);
        *self = Self { jiffies, clock, last, parameters: self.parameters, ..Self::default() };
    }

    fn on_arrival(&mut self, window: &mut Window, ack: &AckArrival) {
        if ack.state == CaState::Open {
            self.acked = ack.acked;
        }
        if let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero()) {
            self.measure_rtt(self.jiffies.covering(rtt), ack.state);
        }
        if self.parameters.use_bandwidth_switch {
            self.measure_rate(window.cwnd, ack);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if !ack.is_cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            window.slow_start(ack.newly_delivered);
            return;
        }
        if window.cwnd_cnt.wrapping_mul(self.alpha) >> SHIFT >= window.cwnd {
            window.cwnd += u32::from(window.cwnd < window.cwnd_clamp);
            window.cwnd_cnt = 0;
            self.update_alpha(ack.arrival.now);
        } else {
            window.cwnd_cnt += self.acked;
        }
        self.acked = 1;
    }

    fn ssthresh(&mut self, window: &Window, ctx: &Context) -> u32 {
        self.update_beta();
        self.update_alpha(ctx.now);
        let (min, max) = (self.min_rtt, self.last.max_rtt);
        if min > 0 && max > min {
            self.last.max_rtt = min + (max - min) * MAX_RTT_KEPT / 100;
        }
        (window.cwnd.wrapping_mul(self.beta) >> SHIFT).max(2)
    }

    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        if let Some(before) = self.undo.take() {
            self.last = before;
        }
        window.cwnd.max(window.prior_cwnd)
    }

    fn on_state(&mut self, _window: &mut Window, state: CaState, ctx: &Context) {
        let now = self.clock.at(ctx.now);
        match state {
            CaState::Open => {
                if self.undo.take().is_some() {
                    self.last.at = now;
                }
            }
            CaState::Disorder => {}
            CaState::Cwr | CaState::Recovery | CaState::Loss => {
                self.undo = Some(self.last);
                self.last.at = now;
            }
        }
    }
}

impl HTcp {
    fn measure_rtt(&mut self, rtt: u64, state: CaState) {
        if self.min_rtt == 0 || rtt < self.min_rtt {
            self.min_rtt = rtt;
        }
        if state == CaState::Open {
            let max = self.last.max_rtt.max(self.min_rtt);
            let rises = rtt > max && rtt <= max + self.jiffies.covering(MAX_RISE);
            self.last.max_rtt = if rises { rtt } else { max };
        }
    }

    /// Throughput over intervals of a window and a smallest RTT (draft, section 3, "adaptive backoff").
    fn measure_rate(&mut self, cwnd: u32, ack: &AckArrival) {
        let now = self.clock.at(ack.now);
        if ack.state > CaState::Disorder {
            self.interval_acked = 0;
            self.interval_start = Some(now);
            return;
        }
        self.interval_acked += ack.acked;
        let enough = cwnd.wrapping_sub((self.alpha >> SHIFT).max(1));
        let span = self.interval_start.map(|start| now - start);
        if self.interval_acked < enough || self.min_rtt == 0 || span.is_some_and(|span| span < self.min_rtt) {
            return;
        }
        let rate = span.map_or(0, |span| (u64::from(self.interval_acked) * self.jiffies.hz() / span) as u32);
        if (now - self.last.at) / self.min_rtt <= SETTLING_RTTS {
            self.rate = rate;
            self.max_rate = rate;
        } else {
            self.rate = (3 * self.rate + rate) / 4;
            self.max_rate = self.max_rate.max(self.rate);
        }
        self.interval_acked = 0;
        self.interval_start = Some(now);
    }

    fn update_beta(&mut self) {
        if self.parameters.use_bandwidth_switch {
            let (rate, old) = (self.max_rate, self.last.old_max_rate);
            self.last.old_max_rate = rate;
            if !(4 * old..=6 * old).contains(&(5 * rate)) {
                self.beta = BETA_MIN;
                self.adapts = false;
                return;
            }
        }
        let (min, max) = (self.min_rtt, self.last.max_rtt);
        if self.adapts && min > self.jiffies.covering(MIN_ADAPTIVE_RTT) && max > 0 {
            self.beta = ((min << SHIFT) / max).clamp(u64::from(BETA_MIN), u64::from(BETA_MAX)) as u32;
        } else {
            self.beta = BETA_MIN;
            self.adapts = true;
        }
    }

    /// The increase at `now`. Linux reckons in 32 bits, which overflow some 130 seconds after a loss.
    fn update_alpha(&mut self, now: Instant) {
        let hz = self.jiffies.hz() as u32;
        let since = (self.clock.at(now) - self.last.at) as u32;
        let mut factor = 1;
        if since > hz {
            let later = since - hz;
            let half = later / 2;
            factor = 1 + later.wrapping_mul(10).wrapping_add(half.wrapping_mul(half) / hz) / hz;
        }
        if self.parameters.use_rtt_scaling && self.min_rtt > 0 {
            let scale = (hz << SCALE_SHIFT) / (10 * self.min_rtt as u32);
            factor = (factor << SCALE_SHIFT) / scale.clamp(SCALE_MIN, SCALE_MAX);
            factor = factor.max(1);
        }
        self.alpha = 2u32.wrapping_mul(factor).wrapping_mul(UNIT - self.beta);
        if self.alpha == 0 {
            self.alpha = UNIT;
        }
    }
}

#[cfg(test)]
#[path = "htcp_tests.rs"]
mod tests;
