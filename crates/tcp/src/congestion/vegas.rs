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
//! Two switches make it what it was in Linux 2.6.22, and so in ns-2.35 (observed there: at 1 Gb/s and 10 ms the window
//! grows by one every other round trip, and stands still at 579 segments, where 1.5 seem to wait since the base RTT is
//! that of a first packet of 40 bytes):
//! * `past_window`: what is compared is what was sent in the round trip before, in halves of a segment that are rounded
//!   up, and the window goes one towards one more or less than it was at the start of that round trip;
//! * `syn_rtt`: the RTT of the SYN counts in `baseRTT`.
//!
//! Validated by the worked numbers below, by its curve against the equation above (`tests/curves`), and by the
//! segments that Linux 6.1 sends on the same ACKs (`daybreak agree --segments`, docs/fidelity.md).

use std::cmp::Ordering;

use daybreak_units::Duration;
use daybreak_units::parameters::{Parameter, Settings};

use super::{AckArrival, AckSample, CaEvent, CaState, Capabilities, Congestion, Context, Entry, Window, reno};

/// The rule in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "vegas",
    summary: "Vegas (Brakmo and Peterson, 1995)",
    parameters: PARAMETERS,
    capabilities: Capabilities::NONE,
    new: |settings, _| Box::new(Vegas { parameters: Parameters::of(settings), ..Vegas::default() }),
};

/// As parameters of Linux's module `tcp_vegas`, by the same names, in segments (section 3.2 of the paper).
const PARAMETERS: &[Parameter] = &[
    Parameter::count("alpha", DEFAULT.alpha as u64, (0, 1_000_000), "fewest segments that should wait in queues"),
    Parameter::count("beta", DEFAULT.beta as u64, (0, 1_000_000), "most segments that should"),
    Parameter::count("gamma", DEFAULT.gamma as u64, (0, 1_000_000), "most of them in slow start"),
    Parameter::switch("past_window", false, "compare the window of the round trip before, as Linux 2.6.22 does"),
    Parameter::switch("syn_rtt", false, "count the RTT of the SYN, as ns-2.35 does"),
];
const DEFAULT: Parameters = Parameters { alpha: 2, beta: 4, gamma: 1, past_window: false, syn_rtt: false };

/// An RTT that is not known, in microseconds.
const UNKNOWN: u32 = 0x7fff_ffff;
/// Fewest RTT samples in a round trip that show one without a delayed ACK.
const ENOUGH_SAMPLES: u16 = 3;
/// Smallest window that it sets.
const MIN_WINDOW: u32 = 2;

/// An RTT as Linux counts it here.
fn in_us(rtt: Duration) -> u32 {
    rtt.as_us() as u32 + 1
}

/// Values of [`PARAMETERS`].
#[derive(Clone, Copy, Debug)]
struct Parameters {
    /// Fewest segments that should wait in queues.
    alpha: u32,
    /// Most of them.
    beta: u32,
    /// Most of them in slow start.
    gamma: u32,
    /// The window that is compared is that of the round trip before.
    past_window: bool,
    /// The SYN's RTT counts.
    syn_rtt: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        DEFAULT
    }
}

impl Parameters {
    fn of(settings: &Settings) -> Self {
        let segments = |name| settings.whole(name) as u32;
        Self {
            alpha: segments("alpha"),
            beta: segments("beta"),
            gamma: segments("gamma"),
            past_window: settings.switch("past_window"),
            syn_rtt: settings.switch("syn_rtt"),
        }
    }
}

/// The rule.
#[derive(Clone, Copy, Debug, Default)]
pub struct Vegas {
    parameters: Parameters,
    trips: RoundTrips,
    past: PastWindow,
    /// RTT of the SYN until the first transmission, which forgets what was measured before.
    syn_rtt: Option<Duration>,
}

/// The round trip before, for [`Parameters::past_window`].
#[derive(Clone, Copy, Debug, Default)]
struct PastWindow {
    /// Its first byte.
    start: u64,
    /// The window when it began.
    cwnd: u32,
}

impl Congestion for Vegas {
    fn init(&mut self, window: &mut Window, ctx: &Context) {
        self.trips.restart(ctx);
        self.syn_rtt = ctx.syn_rtt.filter(|_| self.parameters.syn_rtt);
        self.past = PastWindow { start: ctx.snd_una, cwnd: window.cwnd };
    }

    fn on_arrival(&mut self, _window: &mut Window, ack: &AckArrival) {
        self.trips.sample(ack);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if !self.trips.is_enabled {
            reno::increase(window, ack);
        } else if let Some(trip) = self.trips.end(ack) {
            let past = std::mem::replace(&mut self.past, PastWindow { start: self.trips.start, cwnd: window.cwnd });
            if !trip.is_sampled() {
                reno::increase(window, ack);
            } else if self.parameters.past_window {
                self.compare_past(window, &trip, past, ack);
            } else {
                self.compare(window, &trip, ack.newly_delivered);
            }
        } else if window.in_slow_start() {
            window.slow_start(ack.newly_delivered);
        }
    }

    fn ssthresh(&mut self, window: &Window, _ctx: &Context) -> u32 {
        reno::halved(window)
    }

    fn on_event(&mut self, _window: &mut Window, event: CaEvent, ctx: &Context) {
        self.trips.on_event(event, ctx);
        if let Some(rtt) = self.syn_rtt.take() {
            self.trips.now.base_rtt = in_us(rtt);
        }
    }

    fn on_state(&mut self, _window: &mut Window, state: CaState, ctx: &Context) {
        self.trips.on_state(state, ctx);
    }
}

impl Vegas {
    /// The decision of a round trip.
    fn compare(&self, window: &mut Window, trip: &RoundTrip, acked: u32) {
        let Parameters { alpha, beta, gamma, .. } = self.parameters;
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

    /// The decision of Linux 2.6.22, in halves of a segment.
    fn compare_past(&self, window: &mut Window, trip: &RoundTrip, past: PastWindow, ack: &AckSample) {
        let Parameters { alpha, beta, gamma, .. } = self.parameters;
        let sent = 2 * (self.trips.start - past.start) / u64::from(ack.arrival.mss.max(1));
        let held = sent * u64::from(trip.base_rtt) / u64::from(trip.rtt);
        let queued = sent - held;
        if window.in_slow_start() {
            if queued > 2 * u64::from(gamma) {
                window.cwnd = window.cwnd.min((held / 2) as u32 + 1);
                window.ssthresh = MIN_WINDOW;
            } else {
                window.slow_start(ack.newly_delivered);
            }
        } else {
            let aim = if queued > 2 * u64::from(beta) {
                past.cwnd - 1
            } else {
                past.cwnd + u32::from(queued < 2 * u64::from(alpha))
            };
            match aim.cmp(&window.cwnd) {
                Ordering::Greater => window.cwnd += 1,
                Ordering::Less => window.cwnd -= 1,
                Ordering::Equal => {}
            }
        }
        window.cwnd = window.cwnd.min(window.cwnd_clamp).max(MIN_WINDOW);
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
    /// First byte of the round trip that ended last.
    start: u64,
    /// The round trip ends when more than this is acknowledged.
    end: u64,
    now: RoundTrip,
}

impl Default for RoundTrips {
    fn default() -> Self {
        Self { is_enabled: true, start: 0, end: 0, now: RoundTrip { rtt: UNKNOWN, base_rtt: UNKNOWN, samples: 0 } }
    }
}

impl RoundTrips {
    /// Forgets all.
    pub fn restart(&mut self, ctx: &Context) {
        *self = Self { start: ctx.snd_nxt, end: ctx.snd_nxt, ..Self::default() };
    }

    /// Takes the RTT of an ACK.
    pub fn sample(&mut self, ack: &AckArrival) {
        let Some(rtt) = ack.rtt else { return };
        let rtt = in_us(rtt);
        self.now.base_rtt = self.now.base_rtt.min(rtt);
        self.now.rtt = self.now.rtt.min(rtt);
        self.now.samples = self.now.samples.wrapping_add(1);
    }

    /// The round trip that this ACK ends, if it does; the next one begins.
    pub fn end(&mut self, ack: &AckSample) -> Option<RoundTrip> {
        if ack.arrival.snd_una <= self.end {
            return None;
        }
        self.start = self.end;
        self.end = ack.arrival.snd_nxt;
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
    use super::*;

    const MSS: u64 = 1_000;

    /// A rule, and a window of which everything is out.
    fn rule(cwnd: u32, ssthresh: u32) -> (Vegas, Window) {
        let (mut rule, mut window) = (Vegas::default(), Window::new(cwnd, ssthresh));
        rule.init(&mut window, &Context { snd_nxt: 1, ..Context::default() });
        (rule, window)
    }

    /// One ACK of one segment; `una` and `nxt` are in segments.
    fn ack(rule: &mut Vegas, window: &mut Window, una: u64, nxt: u64, rtt_us: u64) {
        let sample = AckArrival {
            acked: 1,
            rtt: Some(Duration::from_us(rtt_us)),
            mss: MSS as u32,
            snd_una: 1 + una * MSS,
            snd_nxt: 1 + nxt * MSS,
            ..AckArrival::default()
        };
        rule.on_arrival(window, &sample);
        rule.on_ack(window, &sample.sample());
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
    fn linux_2_6_22_compares_the_round_trip_before_in_halves() {
        // 100 segments were sent. With a base RTT of 10 ms, 3 halves wait at 10.151 ms, 4 at 10.153 ms,
        // 8 at 10.416 ms and 9 at 10.418 ms.
        for (rtt, cwnd) in [(10_000, 101), (10_151, 101), (10_153, 100), (10_416, 100), (10_418, 99)] {
            let (mut rule, mut window) = rule(100, 50);
            rule.parameters.past_window = true;
            rule.trips.now.base_rtt = 10_000;
            rule.trips.end = 1 + 100 * MSS;
            rule.past = PastWindow { start: 1, cwnd: 100 };
            rule.trips.now.samples = 10;
            ack(&mut rule, &mut window, 101, 200, rtt - 1);
            assert_eq!(window.cwnd, cwnd, "an RTT of {rtt} us");
            // The next round trip began with 100 as well: it aims where the window is already.
            rule.trips.now.samples = 10;
            ack(&mut rule, &mut window, 201, 300, rtt - 1);
            assert_eq!(window.cwnd, cwnd, "every other round trip");
        }
    }

    #[test]
    fn slow_start_of_linux_2_6_22_ends_with_the_lowest_threshold() {
        let (mut rule, mut window) = rule(100, u32::MAX);
        rule.parameters.past_window = true;
        rule.trips.now = RoundTrip { rtt: UNKNOWN, base_rtt: 10_000, samples: 10 };
        rule.trips.end = 1 + 80 * MSS;
        rule.past = PastWindow { start: 1, cwnd: 80 };
        ack(&mut rule, &mut window, 81, 180, 12_499);
        assert_eq!((window.cwnd, window.ssthresh), (65, 2), "80 segments in 12.5 ms are 64 in 10 ms, and one");
    }

    #[test]
    fn the_syn_counts_until_an_idle_connection_forgets_it() {
        let syn = Context { snd_nxt: 1, syn_rtt: Some(Duration::from_us(9_000)), ..Context::default() };
        for (syn_rtt, base_rtt) in [(true, 9_001), (false, 10_001)] {
            let (mut rule, mut window) = rule(100, 50);
            rule.parameters.syn_rtt = syn_rtt;
            rule.init(&mut window, &syn);
            rule.on_event(&mut window, CaEvent::TxStart { idle: Duration::ZERO }, &syn);
            ack(&mut rule, &mut window, 1, 9, 10_000);
            assert_eq!(rule.trips.now.base_rtt, base_rtt);
            rule.on_event(&mut window, CaEvent::TxStart { idle: Duration::ZERO }, &syn);
            assert_eq!(rule.trips.now.base_rtt, UNKNOWN);
        }
    }

    #[test]
    fn the_threshold_stays_near_the_window() {
        let (mut rule, mut window) = rule(100, 50);
        round_trip(&mut rule, &mut window, 10_000);
        assert_eq!((window.cwnd, window.ssthresh), (101, 50 + 25));
        assert_eq!(rule.ssthresh(&window, &Context::default()), 50);
    }

    #[test]
    fn gamma_segments_may_wait_in_slow_start() {
        // 100 segments: one waits at 10.1 ms, two at 10.2 ms.
        for (rtt, cwnd) in [(10_100, 101), (10_200, 99)] {
            let (rule, mut window) = rule(100, u32::MAX);
            rule.compare(&mut window, &RoundTrip { rtt, base_rtt: 10_000, samples: 9 }, 1);
            assert_eq!(window.cwnd, cwnd, "{rtt} us");
        }
    }

    #[test]
    fn linux_2_6_22_takes_the_limits_twice() {
        // 200 halves were sent. At 10.25 ms 5 of them wait, at 10.3 ms 6, at 10.36 ms 7.
        let (past, sample) =
            (PastWindow { start: 1, cwnd: 100 }, AckArrival { mss: MSS as u32, ..AckArrival::default() });
        for (ssthresh, rtt, cwnd) in
            [(50, 10_250, 101), (50, 10_300, 100), (u32::MAX, 10_300, 101), (u32::MAX, 10_360, 97)]
        {
            let (mut rule, mut window) = rule(100, ssthresh);
            (rule.parameters.alpha, rule.parameters.beta, rule.parameters.gamma) = (3, 5, 3);
            rule.trips.start = 1 + 100 * MSS;
            let trip = RoundTrip { rtt, base_rtt: 10_000, samples: 9 };
            rule.compare_past(&mut window, &trip, past, &AckSample { newly_delivered: 1, ..sample.sample() });
            assert_eq!(window.cwnd, cwnd, "{rtt} us below {ssthresh}");
        }
    }

    #[test]
    fn a_round_trip_begins_without_a_sample() {
        let mut trips = RoundTrips::default();
        let ctx = Context { snd_nxt: 7, ..Context::default() };
        trips.restart(&ctx);
        assert_eq!((trips.start, trips.end), (7, 7));
        let ack = AckArrival { rtt: Some(Duration::from_us(5)), snd_una: 8, snd_nxt: 9, ..AckArrival::default() };
        trips.sample(&ack);
        assert_eq!(trips.end(&ack.sample()), Some(RoundTrip { rtt: 6, base_rtt: 6, samples: 1 }));
        assert_eq!(trips.now, RoundTrip { rtt: UNKNOWN, base_rtt: 6, samples: 0 });
        trips.sample(&ack);
        trips.on_state(CaState::Open, &ctx);
        assert_eq!(trips.now, RoundTrip { rtt: UNKNOWN, base_rtt: 6, samples: 0 });
    }
}
