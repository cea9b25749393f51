//! Vegas: Brakmo and Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet", IEEE JSAC
//! 13(8), 1995, as Linux 6.1 has it.
//!
//! Once a round trip the window is compared with what the path holds when it is empty. `cwnd (RTT - baseRTT) /
//! baseRTT` segments more than that wait in queues (section 3 of the paper reckons with rates, which is the same):
//! with fewer than 2 the window grows by one, with more than 4 it shrinks by one, and slow start ends at more than 1.
//! `RTT` is the smallest of the round trip, `baseRTT` the smallest of all. Losses are treated as by Reno.
//!
//! Follows Linux where the paper differs:
//! * Slow start doubles every round trip, not every other; the paper's own retransmission is not there.
//! * Fewer than three RTT samples in a round trip are not trusted (delayed ACKs): it grows as Reno then.
//! * The window is compared when the round trip's ACK arrives, so with what has been sent in it, and grows also
//!   while it is not the limit; `ssthresh` is never left below three quarters of the window.
//! * Only in Open; and when nothing is in flight, also at the retransmission after a timeout, `baseRTT` is forgotten
//!   and measured anew, though a queue of others may stand then.
//! * Microseconds are counted with one more, so that no RTT is zero, and the product above has 32 bits: beyond 4295
//!   segment-seconds in queues it overflows.
//!
//! Validated by the worked numbers below, by its curve against the equation above (`tests/curves`), and by the
//! segments that Linux 6.1 sends on the same ACKs (`daybreak agree --segments`, docs/fidelity.md).

use daybreak_units::parameters::{Parameter, Settings};

use super::{AckSample, CaEvent, CaState, Congestion, Context, Entry, Window, reno};

/// The rule in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "vegas",
    summary: "Vegas (Brakmo and Peterson, 1995)",
    parameters: PARAMETERS,
    new: |settings, _| Box::new(Vegas { parameters: Parameters::of(settings), ..Vegas::default() }),
};

/// As parameters of Linux's module `tcp_vegas`, by the same names, in segments (section 3.2 of the paper).
const PARAMETERS: &[Parameter] = &[
    Parameter::count("alpha", DEFAULT.alpha as u64, (0, 1_000_000), "fewest segments that should wait in queues"),
    Parameter::count("beta", DEFAULT.beta as u64, (0, 1_000_000), "most segments that should"),
    Parameter::count("gamma", DEFAULT.gamma as u64, (0, 1_000_000), "most of them in slow start"),
];
const DEFAULT: Parameters = Parameters { alpha: 2, beta: 4, gamma: 1 };

/// An RTT that is not known, in microseconds.
const UNKNOWN: u32 = 0x7fff_ffff;
/// Fewest RTT samples in a round trip that show one without a delayed ACK.
const ENOUGH_SAMPLES: u16 = 3;
/// Smallest window that it sets.
const MIN_WINDOW: u32 = 2;

/// Values of [`PARAMETERS`].
#[derive(Clone, Copy, Debug)]
struct Parameters {
    /// Fewest segments that should wait in queues.
    alpha: u32,
    /// Most of them.
    beta: u32,
    /// Most of them in slow start.
    gamma: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        DEFAULT
    }
}

impl Parameters {
    fn of(settings: &Settings) -> Self {
        let segments = |name| settings.whole(name) as u32;
        Self { alpha: segments("alpha"), beta: segments("beta"), gamma: segments("gamma") }
    }
}

/// The rule.
#[derive(Clone, Copy, Debug, Default)]
pub struct Vegas {
    parameters: Parameters,
    trips: RoundTrips,
}

impl Congestion for Vegas {
    fn init(&mut self, _window: &mut Window, ctx: &Context) {
        self.trips.restart(ctx);
    }

    fn on_ack_sample(&mut self, _window: &mut Window, ack: &AckSample) {
        self.trips.sample(ack);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if !self.trips.is_enabled {
            reno::increase(window, ack);
        } else if let Some(trip) = self.trips.end(ack) {
            if trip.is_sampled() {
                self.compare(window, &trip, ack.acked);
            } else {
                reno::increase(window, ack);
            }
        } else if window.in_slow_start() {
            window.slow_start(ack.acked);
        }
    }

    fn ssthresh(&mut self, window: &Window, _ctx: &Context) -> u32 {
        reno::halved(window)
    }

    fn on_event(&mut self, _window: &mut Window, event: CaEvent, ctx: &Context) {
        self.trips.on_event(event, ctx);
    }

    fn on_state(&mut self, _window: &mut Window, state: CaState, ctx: &Context) {
        self.trips.on_state(state, ctx);
    }
}

impl Vegas {
    /// The decision of a round trip.
    fn compare(&self, window: &mut Window, trip: &RoundTrip, acked: u32) {
        let Parameters { alpha, beta, gamma } = self.parameters;
        let queued = window.cwnd.wrapping_mul(trip.rtt - trip.base_rtt) / trip.base_rtt;
        if window.in_slow_start() {
            if queued > gamma {
                // What the path held without the queue, and one more for what the division cuts off.
                let held = u64::from(window.cwnd) * u64::from(trip.base_rtt) / u64::from(trip.rtt);
                window.cwnd = window.cwnd.min(held as u32 + 1);
                window.ssthresh = window.ssthresh.min(window.cwnd);
            } else {
                window.slow_start(acked);
            }
        } else if queued > beta {
            window.cwnd -= 1;
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if queued < alpha {
            window.cwnd += 1;
        }
        window.cwnd = window.cwnd.min(window.cwnd_clamp).max(MIN_WINDOW);
        window.ssthresh = window.ssthresh.max((window.cwnd >> 1) + (window.cwnd >> 2));
    }
}

/// What one round trip has shown. RTTs are in microseconds, and one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RoundTrip {
    /// Smallest RTT of the round trip.
    pub rtt: u32,
    /// Smallest RTT of all.
    pub base_rtt: u32,
    /// RTT samples in it.
    pub samples: u16,
}

impl RoundTrip {
    /// Whether its RTT may be trusted.
    pub fn is_sampled(&self) -> bool {
        self.samples >= ENOUGH_SAMPLES
    }
}

/// Measures RTTs round trip by round trip; YeAH does it the same way.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTrips {
    /// The rule of Vegas applies: the state is Open.
    pub is_enabled: bool,
    /// The round trip ends when more than this is acknowledged.
    end: u64,
    now: RoundTrip,
}

impl Default for RoundTrips {
    fn default() -> Self {
        Self { is_enabled: true, end: 0, now: RoundTrip { rtt: UNKNOWN, base_rtt: UNKNOWN, samples: 0 } }
    }
}

impl RoundTrips {
    /// Forgets all.
    pub fn restart(&mut self, ctx: &Context) {
        *self = Self { end: ctx.snd_nxt, ..Self::default() };
    }

    /// Takes the RTT of an ACK.
    pub fn sample(&mut self, ack: &AckSample) {
        let Some(rtt) = ack.rtt else { return };
        let rtt = rtt.as_us() as u32 + 1;
        self.now.base_rtt = self.now.base_rtt.min(rtt);
        self.now.rtt = self.now.rtt.min(rtt);
        self.now.samples = self.now.samples.wrapping_add(1);
    }

    /// The round trip that this ACK ends, if it does; the next one begins.
    pub fn end(&mut self, ack: &AckSample) -> Option<RoundTrip> {
        if ack.snd_una <= self.end {
            return None;
        }
        self.end = ack.snd_nxt;
        let trip = self.now;
        self.now = RoundTrip { rtt: UNKNOWN, samples: 0, ..trip };
        Some(trip)
    }

    pub fn on_event(&mut self, event: CaEvent, ctx: &Context) {
        match event {
            CaEvent::WindowRestart | CaEvent::TxStart { .. } => self.restart(ctx),
            CaEvent::CompleteCwr | CaEvent::Loss => {}
        }
    }

    /// Open begins a round trip.
    pub fn on_state(&mut self, state: CaState, ctx: &Context) {
        self.is_enabled = state == CaState::Open;
        if self.is_enabled {
            self.end = ctx.snd_nxt;
            self.now = RoundTrip { rtt: UNKNOWN, samples: 0, ..self.now };
        }
    }
}

#[cfg(test)]
mod tests {
    use daybreak_units::Duration;

    use super::*;

    const MSS: u64 = 1_000;

    /// A rule, and a window of which everything is out.
    fn rule(cwnd: u32, ssthresh: u32) -> (Vegas, Window) {
        let (mut rule, mut window) = (Vegas::default(), Window::new(cwnd, ssthresh));
        rule.init(&mut window, &Context { snd_nxt: 1, ..Context::default() });
        (rule, window)
    }

    /// One ACK of one segment that `una` and `nxt` say in segments.
    fn ack(rule: &mut Vegas, window: &mut Window, una: u64, nxt: u64, rtt_us: u64) {
        let sample = AckSample {
            acked: 1,
            rtt: Some(Duration::from_us(rtt_us)),
            is_cwnd_limited: true,
            snd_una: 1 + una * MSS,
            snd_nxt: 1 + nxt * MSS,
            ..AckSample::default()
        };
        rule.on_ack_sample(window, &sample);
        rule.on_ack(window, &sample);
    }

    /// A round trip of five ACKs, of which the last ends it.
    fn round_trip(rule: &mut Vegas, window: &mut Window, rtt_us: u64) {
        rule.trips.end = 1 + 4 * MSS;
        (1..=5).for_each(|n| ack(rule, window, n, 9, rtt_us));
    }

    #[test]
    fn between_two_and_four_segments_may_wait() {
        // 100 segments and a base RTT of 10 ms: 2 wait at 10.2 ms, 5 at 10.5 ms. Microseconds count one more.
        let base = 9_999;
        for (rtt, cwnd) in [(base, 101), (10_198, 101), (10_199, 100), (10_498, 100), (10_499, 99)] {
            let (mut rule, mut window) = rule(100, 50);
            rule.trips.now.base_rtt = base as u32 + 1;
            round_trip(&mut rule, &mut window, rtt);
            assert_eq!(window.cwnd, cwnd, "an RTT of {rtt} us");
        }
    }

    #[test]
    fn slow_start_ends_at_what_the_path_holds() {
        let (mut rule, mut window) = rule(100, u32::MAX);
        rule.trips.now.base_rtt = 10_000;
        rule.trips.end = 1 + 5 * MSS;
        // Below the end of the round trip: slow start.
        (1..=5).for_each(|n| ack(&mut rule, &mut window, n, 9, 12_499));
        assert_eq!(window.cwnd, 105);
        // 105 segments in 12.5 ms: 84 in 10 ms, and one.
        ack(&mut rule, &mut window, 6, 9, 12_499);
        assert_eq!((window.cwnd, window.ssthresh), (85, 85));
    }

    #[test]
    fn two_samples_are_not_trusted() {
        let (mut rule, mut window) = rule(100, 50);
        rule.trips.now.base_rtt = 10_000;
        rule.trips.end = 1 + MSS;
        ack(&mut rule, &mut window, 1, 9, 20_000);
        ack(&mut rule, &mut window, 2, 9, 20_000);
        assert_eq!((window.cwnd, window.cwnd_cnt), (100, 1), "as Reno, and only with the ACK that ends it");
    }

    #[test]
    fn only_open_and_from_a_fresh_round_trip() {
        let (mut rule, mut window) = rule(100, 50);
        let ctx = Context { snd_nxt: 1 + 20 * MSS, ..Context::default() };
        rule.on_state(&mut window, CaState::Disorder, &ctx);
        round_trip(&mut rule, &mut window, 20_000);
        assert_eq!((window.cwnd, window.cwnd_cnt), (100, 5), "as Reno");
        rule.on_state(&mut window, CaState::Open, &ctx);
        assert_eq!((rule.trips.now.rtt, rule.trips.now.base_rtt, rule.trips.end), (UNKNOWN, 20_001, 1 + 20 * MSS));
        rule.on_event(&mut window, CaEvent::TxStart { idle: Duration::ZERO }, &ctx);
        assert_eq!(rule.trips.now.base_rtt, UNKNOWN, "nothing was in flight: the base RTT is forgotten");
    }

    #[test]
    fn the_threshold_stays_near_the_window() {
        let (mut rule, mut window) = rule(100, 50);
        round_trip(&mut rule, &mut window, 10_000);
        assert_eq!((window.cwnd, window.ssthresh), (101, 50 + 25));
        assert_eq!(rule.ssthresh(&window, &Context::default()), 50);
    }
}
