//! CDG: Hayes and Armitage, "Revisiting TCP congestion control using delay gradients", IFIP Networking 2011, as
//! Linux 6.1 has it.
//!
//! Reacts to how the RTT changes, not to how long it is: once a round trip the growth of its smallest RTT (or,
//! where that does not grow, of its largest) over the last 8 round trips gives a probability `1 - exp(-g / G)`
//! of a reduction to 0.7, without a loss (section 3 of the paper). Five reductions in a row that do not help
//! are the last, since others fill the queue then; and a shadow window keeps what was given up by them, so
//! that a loss leaves half of that and not of the present one. Otherwise it grows as Reno.
//!
//! Follows Linux where the paper differs: slow start ends by HyStart's signs, from the RTTs of one round trip and
//! at any window; the SYN's RTT belongs to the first round trip; an ACK of one segment after ACKs of several is taken for a delayed one and counts for the smallest
//! RTT only; the shadow window is at most twice the present one, and no larger when that is not the limit; the paper's
//! tolerance of losses on an uncongested path is off. `G` and the division by 8 are one factor, 42.
//!
//! What it draws comes from the run's seed. A replay of a kernel's segments finds what the kernel drew.
//!
//! Validated by the worked numbers below, by its curve against the paper's probability (`tests/curves`), and by
//! the segments that Linux 6.1 sends on the same ACKs (`daybreak agree --segments`, docs/fidelity.md).

use daybreak_units::parameters::{Parameter, Settings};

use super::{AckArrival, AckSample, CaEvent, Capabilities, Congestion, Context, Draws, Entry, Window, reno};

/// The rule in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "cdg",
    summary: "CDG, delay gradients (Hayes and Armitage, 2011)",
    parameters: PARAMETERS,
    capabilities: Capabilities::NONE,
    new: |settings, seed| Box::new(Cdg { parameters: Parameters::of(settings), ..Cdg::new(seed) }),
};

/// As parameters of Linux's module `tcp_cdg`, by the same names; there `backoff_beta` is in 1/1024. Its `window`, the
/// number of gradients in a sum, is read when it is loaded, and is 8.
const PARAMETERS: &[Parameter] = &[
    Parameter::number(
        "backoff_beta",
        DEFAULT.backoff_beta as f64 / BETA_SCALE as f64,
        (0.1, 1.0),
        "part of the window that a reduction leaves; kept in 1/1024",
    ),
    Parameter::count(
        "backoff_factor",
        DEFAULT.backoff_factor as u64,
        (0, 1_000_000),
        "1/G in 1/10^6 for a microsecond",
    ),
    Parameter::count(
        "hystart_detect",
        3,
        (0, 3),
        "signs that end slow start: 1 for trains of ACKs, 2 for delay, 3 for both",
    ),
    Parameter::count(
        "use_ineff",
        DEFAULT.use_ineff as u64,
        (0, 10_000),
        "reductions in a row without help after which there are none; 0 for no limit",
    ),
    Parameter::switch("use_shadow", DEFAULT.use_shadow, "a loss leaves half of the shadow window"),
    Parameter::switch("use_tolerance", DEFAULT.use_tolerance, "a loss does not count while the path is not full"),
];
const DEFAULT: Parameters = Parameters {
    backoff_beta: 724,
    backoff_factor: 42,
    hystart_train: true,
    hystart_delay: true,
    use_ineff: 5,
    use_shadow: true,
    use_tolerance: false,
};

/// Round trips whose gradients are summed (`window`).
const GRADIENTS: usize = 8;
/// Parameters of HyStart, in microseconds: the gap that ends a train of ACKs, the shortest train that counts, the
/// smallest RTT that a rise counts from; and RTT samples before the smallest one is judged.
const TRAIN_GAP: u32 = 3_000;
const MIN_TRAIN: u32 = 125;
const MIN_THRESHOLD: u32 = 125;
const ENOUGH_SAMPLES: u16 = 8;
/// Delayed ACKs in a row that are taken for such, at most.
const MAX_DELAYED: u8 = 5;
/// Microseconds by which a sum of gradients falls where a reduction helped.
const EFFECTUAL: i32 = -32;
/// The tolerance of losses ignores gradients below half of this.
const TOLERANCE_UNIT: i32 = 64;
const BETA_SCALE: u32 = 1_024;

/// Values of [`PARAMETERS`].
#[derive(Clone, Copy, Debug)]
struct Parameters {
    /// The window after a reduction in 1/1024: sqrt(0.5).
    backoff_beta: u32,
    /// 1/G for the sum of gradients, in 1/10^6 for each microsecond: 1000 / (3 * 8).
    backoff_factor: u32,
    /// HyStart's signs.
    hystart_train: bool,
    hystart_delay: bool,
    /// Reductions in a row without help after which there are none; 0 for no limit.
    use_ineff: u16,
    /// A loss leaves half of the shadow window.
    use_shadow: bool,
    /// A loss does not count while the path is not full.
    use_tolerance: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        DEFAULT
    }
}

impl Parameters {
    fn of(settings: &Settings) -> Self {
        let signs = settings.whole("hystart_detect");
        Self {
            backoff_beta: (settings.number("backoff_beta") * f64::from(BETA_SCALE)).round() as u32,
            backoff_factor: settings.whole("backoff_factor") as u32,
            hystart_train: signs & 1 != 0,
            hystart_delay: signs & 2 != 0,
            use_ineff: settings.whole("use_ineff") as u16,
            use_shadow: settings.switch("use_shadow"),
            use_tolerance: settings.switch("use_tolerance"),
        }
    }
}

/// What the rule thinks of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Judgement {
    #[default]
    Unknown,
    /// The queue is not full (only with the tolerance of losses).
    NotFull,
    /// It is.
    Full,
    /// The rule reduces the window.
    Backoff,
}

/// Smallest and largest RTT of a round trip, or how they changed, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Extremes {
    min: i32,
    max: i32,
}

impl Extremes {
    fn one(rtt: i32) -> Self {
        Self { min: rtt, max: rtt }
    }
}

/// The rule.
#[derive(Clone, Debug)]
pub struct Cdg {
    parameters: Parameters,
    draws: Draws,
    state: State,
}

/// What it forgets after idle time.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// RTTs of this round trip and of the one before.
    now: Option<Extremes>,
    before: Option<Extremes>,
    gradients: [Extremes; GRADIENTS],
    sum: Extremes,
    /// The gradient that is overwritten next; all of them are known.
    place: usize,
    is_filled: bool,
    judgement: Judgement,
    /// Delayed ACKs that are expected.
    delayed: u8,
    /// The round trip ends when more than this is acknowledged.
    end: u64,
    /// What the window would be without reductions that were not for a loss.
    shadow: u32,
    /// Reductions in a row that did not help.
    backoffs: u16,
    /// HyStart: samples of the round trip, smallest RTT, last ACK and first of the train (microseconds).
    samples: u16,
    min_rtt: u32,
    train: Option<(u64, u64)>,
}

impl Cdg {
    /// A rule that draws its reductions from `seed`.
    pub fn new(seed: u64) -> Self {
        Self { parameters: Parameters::default(), draws: Draws::new(seed, "cdg"), state: State::default() }
    }

    fn restart(&mut self, window: &Window, ctx: &Context) {
        self.state = State { end: ctx.snd_nxt, shadow: window.cwnd, ..State::default() };
    }
}

impl Congestion for Cdg {
    fn init(&mut self, window: &mut Window, ctx: &Context) {
        self.restart(window, ctx);
        self.state.now = ctx.syn_rtt.filter(|rtt| !rtt.is_zero()).map(|rtt| Extremes::one(rtt.as_us() as i32));
    }

    fn on_arrival(&mut self, _window: &mut Window, ack: &AckArrival) {
        let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero()) else { return };
        self.state.sample(rtt.as_us() as i32, ack);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        let mut is_limited = ack.is_cwnd_limited;
        if window.in_slow_start() {
            self.state.judge_slow_start(&self.parameters, window, ack);
            if !window.in_slow_start() {
                // That half of it was used counts in slow start alone.
                is_limited = window.was_full;
            }
        }
        if ack.arrival.snd_una > self.state.end && self.state.now.is_some() {
            let gradient = self.state.end_trip(self.parameters.use_tolerance, ack.arrival.snd_nxt);
            if gradient > 0 && self.backs_off(gradient, window) {
                return;
            }
        }
        let state = &mut self.state;
        if !is_limited {
            state.shadow = state.shadow.min(window.cwnd);
            return;
        }
        let before = window.cwnd;
        reno::increase(window, ack);
        // A clamp may have made the window smaller.
        state.shadow = state.shadow.saturating_add(window.cwnd.saturating_sub(before));
    }

    fn ssthresh(&mut self, window: &Window, _ctx: &Context) -> u32 {
        let (parameters, state) = (&self.parameters, &mut self.state);
        match state.judgement {
            Judgement::Backoff => {
                let cut = window.cwnd * parameters.backoff_beta.min(BETA_SCALE) / BETA_SCALE;
                return cut.max(2);
            }
            Judgement::NotFull if parameters.use_tolerance => return window.cwnd,
            Judgement::NotFull | Judgement::Full | Judgement::Unknown => {}
        }
        state.shadow = (state.shadow / 2).min(window.cwnd);
        let kept = if parameters.use_shadow { state.shadow } else { 0 };
        kept.max(reno::halved(window))
    }

    fn on_event(&mut self, window: &mut Window, event: CaEvent, ctx: &Context) {
        match event {
            CaEvent::WindowRestart => self.restart(window, ctx),
            CaEvent::CompleteCwr => {
                let state = &mut self.state;
                state.judgement = Judgement::Unknown;
                state.end = ctx.snd_nxt;
                state.before = state.now.take();
            }
            CaEvent::TxStart { .. } | CaEvent::Loss => {}
        }
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        Some(&mut self.draws)
    }
}

impl Cdg {
    /// Draws whether the growth of the RTT leads to a reduction.
    fn backs_off(&mut self, gradient: i32, window: &mut Window) -> bool {
        let exponent = (gradient as u32).wrapping_mul(self.parameters.backoff_factor);
        if !self.draws.exceeds(exp_minus(exponent)) {
            return false;
        }
        let state = &mut self.state;
        if self.parameters.use_ineff > 0 {
            state.backoffs = state.backoffs.wrapping_add(1);
            if state.backoffs > self.parameters.use_ineff {
                return false;
            }
        }
        state.shadow = state.shadow.max(window.cwnd);
        state.judgement = Judgement::Backoff;
        window.backs_off = true;
        true
    }
}

impl State {
    fn sample(&mut self, rtt: i32, ack: &AckArrival) {
        if ack.sacked_out == 0 {
            if ack.acked == 1 && self.delayed > 0 {
                if let Some(now) = &mut self.now {
                    now.min = now.min.min(rtt);
                }
                self.delayed -= 1;
                return;
            }
            if ack.acked > 1 && self.delayed < MAX_DELAYED {
                self.delayed += 1;
            }
        }
        self.now = Some(match self.now {
            None => Extremes::one(rtt),
            Some(now) => Extremes { min: now.min.min(rtt), max: now.max.max(rtt) },
        });
    }

    /// HyStart: a train of ACKs that lasts half of the smallest RTT, or an RTT an eighth above it.
    fn judge_slow_start(&mut self, parameters: &Parameters, window: &mut Window, ack: &AckSample) {
        let rtt = self.now.map(|now| now.min as u32);
        if let Some(rtt) = rtt {
            self.min_rtt = if self.min_rtt == 0 { rtt } else { self.min_rtt.min(rtt) };
        }
        if self.min_rtt == 0 {
            return;
        }
        if parameters.hystart_train && self.is_train_long(ack) {
            window.ssthresh = window.cwnd;
            return;
        }
        if !parameters.hystart_delay {
            return;
        }
        if self.samples < ENOUGH_SAMPLES {
            self.samples += 1;
        } else if rtt.is_some_and(|rtt| rtt > (self.min_rtt + self.min_rtt / 8).max(MIN_THRESHOLD)) {
            window.ssthresh = window.cwnd;
        }
    }

    fn is_train_long(&mut self, ack: &AckSample) -> bool {
        let now = ack.arrival.now.as_us();
        match self.train {
            Some((last, first)) if ack.is_cwnd_limited => {
                if now >= last + u64::from(TRAIN_GAP) {
                    return false;
                }
                self.train = Some((now, first));
                now > first + u64::from((self.min_rtt / 2).max(MIN_TRAIN))
            }
            _ => {
                self.train = Some((now, now));
                false
            }
        }
    }

    /// The gradient of the round trip that ends, 0 if there is none; the next one begins.
    fn end_trip(&mut self, use_tolerance: bool, snd_nxt: u64) -> i32 {
        let gradient = match (self.before, self.now) {
            (Some(before), Some(now)) => self.gradient(before, now, use_tolerance),
            _ => 0,
        };
        self.end = snd_nxt;
        self.before = self.now.take();
        self.train = None;
        self.samples = 0;
        gradient
    }

    /// The sum of the last gradients, as if all of them were known.
    fn gradient(&mut self, before: Extremes, now: Extremes, use_tolerance: bool) -> i32 {
        let new = Extremes { min: now.min - before.min, max: now.max - before.max };
        let old = std::mem::replace(&mut self.gradients[self.place], new);
        self.sum = Extremes { min: self.sum.min + new.min - old.min, max: self.sum.max + new.max - old.max };
        self.place = (self.place + 1) % GRADIENTS;
        let sum = self.sum;
        let mut gradient = if sum.min > 0 { sum.min } else { sum.max };
        self.is_filled |= self.place == 0;
        if !self.is_filled {
            gradient = gradient * GRADIENTS as i32 / self.place as i32;
        }
        if sum.min <= EFFECTUAL || sum.max <= EFFECTUAL {
            self.backoffs = 0;
        }
        if use_tolerance {
            self.judgement = judged(sum).unwrap_or(self.judgement);
        }
        gradient
    }
}

/// Whether the queue is full: its smallest RTT rises and its largest cannot.
fn judged(sum: Extremes) -> Option<Judgement> {
    let rounded = |sum: i32| (sum + sum.signum() * (TOLERANCE_UNIT / 2)) / TOLERANCE_UNIT;
    match (rounded(sum.min), rounded(sum.max)) {
        (1.., ..=0) => Some(Judgement::Full),
        (1.., 1..) | (_, ..=-1) => Some(Judgement::NotFull),
        _ => None,
    }
}

/// `exp(-x / 10^6)` in 1/(2^32 - 1): the lowest eight bits of `x` linearly, the others as a product of powers.
fn exp_minus(x: u32) -> u32 {
    /// `exp(-0.000256 * 2^n)` in 1/65536.
    const POWERS: [u32; 16] = [
        65_519, 65_502, 65_469, 65_402, 65_268, 65_002, 64_471, 63_423, 61_379, 57_485, 50_424, 38_796, 22_966, 8_048,
        988, 15,
    ];
    let (low, bits) = (x & 0xff, x >> 8);
    if bits >> POWERS.len() > 0 {
        return 0;
    }
    let mut result = u64::from(u32::MAX - low * (u32::MAX / 1_000_000));
    for (n, power) in POWERS.iter().enumerate() {
        if bits >> n & 1 == 1 {
            result = (result * u64::from(*power)) >> 16;
        }
    }
    result as u32
}

#[cfg(test)]
#[path = "cdg_tests.rs"]
mod tests;
