//! Compound TCP: Tan, Song, Zhang and Sridharan, "A Compound TCP Approach for High-Speed and Long Distance Networks",
//! INFOCOM 2006, and draft-sridharan-tcpm-ctcp-02.
//!
//! The window is the sum of two: a loss window, which is Reno's, and a delay window. While fewer than `gamma` segments
//! wait in queues, as Vegas estimates them, the delay window grows so that the sum gains `alpha * window^(3/4)` a round
//! trip; from there on it shrinks by `zeta` times what waits, so that the sum is never smaller than Reno's. A loss
//! leaves the sum `1 - beta` of itself. Slow start is Reno's, without a delay window.
//!
//! What the paper leaves open: the RTT of a round trip is the smallest in it, as in Vegas ([`RoundTrips`]), with at
//! least three samples in a round trip; the exponent is 3/4 for good, which is what the paper recommends. Not
//! modelled is the adaptation of `gamma` in later versions of Windows. Linux 6.1 has no such rule, so nothing but the
//! paper's own equations checks it: the worked numbers below, and its curve (`tests/curves/growth.rs`).

use daybreak_units::parameters::{Parameter, Settings};

use super::vegas::{RoundTrip, RoundTrips};
use super::{AckArrival, AckSample, CaEvent, CaState, Capabilities, Congestion, Context, Entry, Window};

/// The paper's, with its defaults (section IV.B; zeta: section III.B).
const PARAMETERS: &[Parameter] = &[
    Parameter::number("alpha", 0.125, (0.001, 10.0), "growth a round trip: alpha times the window to the 3/4"),
    Parameter::number("beta", 0.5, (0.01, 0.9), "part of the window that a loss takes"),
    Parameter::number("gamma", 30.0, (1.0, 10_000.0), "segments in queues from which the delay window shrinks"),
    Parameter::number("zeta", 1.0, (0.01, 100.0), "how much it shrinks for each of them"),
];

/// The rule in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "compound",
    summary: "Compound TCP (INFOCOM 2006)",
    parameters: PARAMETERS,
    capabilities: Capabilities::NONE,
    new,
};

fn new(settings: &Settings, _seed: u64) -> Box<dyn Congestion> {
    let [alpha, beta, gamma, zeta] = ["alpha", "beta", "gamma", "zeta"].map(|name| settings.number(name));
    Box::new(Compound { shape: Shape { alpha, beta, gamma, zeta }, ..Compound::default() })
}

/// What the parameters make of the rule.
#[derive(Clone, Copy, Debug)]
struct Shape {
    alpha: f64,
    beta: f64,
    gamma: f64,
    zeta: f64,
}

impl Default for Shape {
    fn default() -> Self {
        Self { alpha: 0.125, beta: 0.5, gamma: 30.0, zeta: 1.0 }
    }
}

/// The rule.
#[derive(Clone, Debug, Default)]
pub struct Compound {
    shape: Shape,
    /// The delay window in segments, whole ones of which are in `cwnd`; the rest of `cwnd` is the loss window.
    delay: f64,
    /// The delay window before the last reduction, for undo.
    prior_delay: f64,
    trips: RoundTrips,
}

impl Congestion for Compound {
    fn init(&mut self, _window: &mut Window, ctx: &Context) {
        self.trips.restart(ctx);
    }

    fn on_arrival(&mut self, _window: &mut Window, ack: &AckArrival) {
        self.trips.sample(ack);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        let trip = self.trips.end(ack);
        let Some(acked) = window.past_slow_start(ack) else { return };
        window.additive_increase(window.cwnd, acked);
        if self.trips.is_enabled
            && let Some(trip) = trip
            && trip.is_sampled()
        {
            self.compare(window, &trip);
        }
    }

    fn ssthresh(&mut self, window: &Window, _ctx: &Context) -> u32 {
        let loss = f64::from(self.loss_window(window)) / 2.0;
        self.prior_delay = self.delay;
        self.delay = (f64::from(window.cwnd) * (1.0 - self.shape.beta) - loss).max(0.0);
        ((loss + self.delay) as u32).max(2)
    }

    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        self.delay = self.prior_delay;
        window.cwnd.max(window.prior_cwnd)
    }

    fn on_event(&mut self, _window: &mut Window, event: CaEvent, ctx: &Context) {
        self.trips.on_event(event, ctx);
    }

    fn on_state(&mut self, _window: &mut Window, state: CaState, ctx: &Context) {
        self.trips.on_state(state, ctx);
        if state == CaState::Loss {
            self.delay = 0.0;
        }
    }
}

impl Compound {
    /// The part of the window that grows as Reno's does.
    fn loss_window(&self, window: &Window) -> u32 {
        window.cwnd.saturating_sub(self.delay as u32).max(1)
    }

    /// The decision of a round trip (section III.B, equations 1 to 6).
    fn compare(&mut self, window: &mut Window, trip: &RoundTrip) {
        let Shape { alpha, gamma, zeta, .. } = self.shape;
        let cwnd = f64::from(window.cwnd);
        let loss = self.loss_window(window);
        let queued = cwnd * (1.0 - f64::from(trip.base_rtt) / f64::from(trip.rtt));
        self.delay = if queued < gamma {
            // The fourth root of a cube by square roots, which are the same on every machine.
            self.delay + (alpha * (cwnd * cwnd * cwnd).sqrt().sqrt() - 1.0).max(0.0)
        } else {
            (self.delay - zeta * queued).max(0.0)
        };
        window.cwnd = loss.saturating_add(self.delay as u32).min(window.cwnd_clamp);
        if window.cwnd == window.cwnd_clamp {
            self.delay = f64::from(window.cwnd.saturating_sub(loss));
        }
        window.ssthresh = window.ssthresh.min(window.cwnd);
    }
}

#[cfg(test)]
mod tests {
    use daybreak_units::Duration;

    use super::*;

    const MSS: u64 = 1_000;

    /// A round trip of `cwnd` segments, which are acknowledged one by one with this RTT.
    fn round_trip(rule: &mut Compound, window: &mut Window, una: &mut u64, rtt_us: u64) {
        for _ in 0..window.cwnd {
            *una += MSS;
            let sample = AckArrival {
                acked: 1,
                rtt: Some(Duration::from_us(rtt_us)),
                snd_una: *una,
                snd_nxt: *una + u64::from(window.cwnd) * MSS,
                ..AckArrival::default()
            };
            rule.on_arrival(window, &sample);
            rule.on_ack(window, &sample.sample());
        }
    }

    #[test]
    fn an_empty_path_adds_the_fourth_root_of_the_cube() {
        // 10000 segments: 10000^(3/4) / 8 = 125. The loss window gains 1 of them, the delay window 124.
        let (mut rule, mut window, mut una) = (Compound::default(), Window::new(10_000, 5_000), 0);
        // The first ACK begins a round trip; the second of the next one ends it.
        (0..2).for_each(|_| round_trip(&mut rule, &mut window, &mut una, 10_000));
        assert!((10_125..=10_127).contains(&window.cwnd), "{}", window.cwnd);
        assert!((rule.delay - 124.0).abs() < 0.1, "{}", rule.delay);
    }

    #[test]
    fn what_waits_is_taken_from_the_delay_window_and_never_from_the_loss_window() {
        let (mut rule, mut window) = (Compound::default(), Window::new(1_000, 500));
        rule.delay = 200.0;
        // 1 - 10/11.11 of a thousand segments wait: 100, or all of them where the RTT is ten times the base.
        let trip = |rtt| RoundTrip { rtt, base_rtt: 10_000, samples: 9 };
        rule.compare(&mut window, &trip(11_111));
        assert_eq!((window.cwnd, rule.delay.round()), (900, 100.0));
        rule.compare(&mut window, &trip(100_000));
        assert_eq!((window.cwnd, rule.delay), (800, 0.0));
        assert!(!window.in_slow_start(), "a smaller window is no reason to start slowly");
    }

    #[test]
    fn fewer_than_gamma_segments_may_wait() {
        // 29 and 31 of 1000 segments wait.
        for (rtt, grows) in [(10_298, true), (10_320, false)] {
            let (mut rule, mut window) = (Compound::default(), Window::new(1_000, 500));
            rule.delay = 100.0;
            rule.compare(&mut window, &RoundTrip { rtt, base_rtt: 10_000, samples: 9 });
            assert_eq!(window.cwnd > 1_000, grows, "{}", window.cwnd);
        }
    }

    #[test]
    fn a_loss_halves_the_sum_and_undo_gives_the_delay_window_back() {
        let (mut rule, mut window) = (Compound::default(), Window::new(1_000, 500));
        rule.delay = 600.0;
        window.prior_cwnd = 1_000;
        assert_eq!(rule.ssthresh(&window, &Context::default()), 500);
        assert_eq!(rule.delay, 300.0, "500 less half of the loss window of 400");
        window.cwnd = 500;
        assert_eq!((rule.undo_cwnd(&window), rule.delay), (1_000, 600.0));
        rule.on_state(&mut window, CaState::Loss, &Context::default());
        assert_eq!(rule.delay, 0.0);
    }

    #[test]
    fn a_small_window_is_renos() {
        // Up to 16 segments 16^(3/4) / 8 = 1 is what Reno adds itself.
        let (mut rule, mut window, mut una) = (Compound::default(), Window::new(10, 5), 0);
        (0..4).for_each(|_| round_trip(&mut rule, &mut window, &mut una, 10_000));
        assert_eq!((window.cwnd, rule.delay), (14, 0.0));
    }

    #[test]
    fn a_round_trip_begins_with_what_is_sent_first_and_anew_after_idle_time() {
        let (mut rule, mut window) = (Compound::default(), Window::new(1_000, 500));
        let ctx = |snd_nxt| Context { snd_nxt, ..Context::default() };
        rule.init(&mut window, &ctx(5 * MSS));
        let ack = |una| AckArrival {
            snd_una: una,
            snd_nxt: 9 * MSS,
            rtt: Some(Duration::from_us(10_000)),
            ..AckArrival::default()
        };
        rule.on_arrival(&mut window, &ack(5 * MSS));
        assert_eq!(rule.trips.end(&ack(5 * MSS).sample()), None, "it ends with more than that");
        let trip = rule.trips.end(&ack(6 * MSS).sample()).expect("it is over");
        assert_eq!((trip.base_rtt, trip.samples), (10_001, 1));
        // What was measured may be of another path by then.
        rule.on_arrival(&mut window, &ack(6 * MSS));
        rule.on_event(&mut window, CaEvent::TxStart { idle: Duration::ZERO }, &ctx(6 * MSS));
        assert_eq!(rule.trips.end(&ack(7 * MSS).sample()).map(|trip| trip.samples), Some(0));
    }

    #[test]
    fn gamma_segments_in_queues_are_too_many() {
        // Of 60 segments at twice the RTT exactly 30 wait.
        let (mut rule, mut window) = (Compound { delay: 40.0, ..Compound::default() }, Window::new(60, 50));
        rule.compare(&mut window, &RoundTrip { rtt: 20_000, base_rtt: 10_000, samples: 9 });
        assert_eq!((window.cwnd, rule.delay), (30, 10.0));
    }
}
