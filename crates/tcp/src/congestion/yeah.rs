//! YeAH: Baiocchi, Castellani and Vacirca, "YeAH-TCP: yet another highspeed TCP", PFLDnet 2007, as Linux 6.1 has
//! it.
//!
//! While few segments wait in queues it grows as Scalable TCP ("fast" mode), otherwise as Reno ("slow" mode). It
//! measures the queue `Q = cwnd (RTT - baseRTT) / RTT` once a round trip, from its smallest RTT. Slow mode begins at
//! more than 80 segments, or at a queueing delay of an eighth of `baseRTT`; then, as long as the window is larger
//! than what a competing Reno flow is thought to have (`reno_count`), the queue is taken off the window
//! (precautionary decongestion, section 3 of the paper). A loss takes the queue, at least an eighth and at most
//! half; half when the last 16 round trips were slow, since others that are not so careful compete then.
//!
//! Follows Linux where the paper differs: the growth of the ACK that ends a round trip still follows the mode
//! before; at most half of the window is taken off at once; RTTs are measured as by Vegas, and with the
//! same forgetting of `baseRTT` when nothing is in flight; fewer than three samples are not
//! trusted; round trips end only with ACKs that find the window to be the limit.
//!
//! Validated by the worked numbers below, by its curve against the paper's queue (`tests/curves`), and by the
//! segments that Linux 6.1 sends on the same ACKs (`daybreak agree --segments`, docs/fidelity.md).

use super::vegas::{RoundTrip, RoundTrips};
use super::{
    AckArrival, AckSample, CaEvent, CaState, Capabilities, Congestion, Context, Entry, OlderRules, Window, scalable,
};

/// The rule in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "yeah",
    summary: "YeAH (Baiocchi et al., 2007)",
    parameters: &[],
    capabilities: Capabilities::NONE,
    new: |_, _| Box::new(Yeah::default()),
};

/// Largest queue of fast mode in segments (Q_max).
const MAX_QUEUE: u32 = 80;
/// Largest queueing delay of fast mode as a part of the base RTT: 1/phi.
const MAX_DELAY_PART: u32 = 8;
/// Decongestion takes at most a half.
const DECONGESTION_SHIFT: u32 = 1;
/// A loss takes at least an eighth.
const LOSS_SHIFT: u32 = 3;
/// Slow round trips after which a loss takes half (rho).
const COMPETING_TRIPS: u32 = 16;
/// Counted up to here.
const MAX_COUNT: u32 = 0xff_ffff;
/// Fast round trips after which no flow is thought to compete.
const ALONE_TRIPS: u32 = 50;
/// Smallest window of the competing flow.
const MIN_RENO: u32 = 2;
/// Largest window.
const MAX_WINDOW: u32 = u32::MAX / 128;

/// The rule.
#[derive(Clone, Copy, Debug)]
pub struct Yeah {
    trips: RoundTrips,
    /// Segments that waited in queues in the last round trip that was measured.
    queue: u32,
    /// Slow round trips in a row; fast mode while it is 0.
    slow_trips: u32,
    /// Fast round trips since the last loss, or since the competing flow was forgotten.
    fast_trips: u32,
    /// Window of a Reno flow that competes.
    reno_count: u32,
    /// Segments that the last ACK in the state Open acknowledged: used where ACKs are counted.
    last_acked: u32,
}

impl Default for Yeah {
    fn default() -> Self {
        Self {
            trips: RoundTrips::default(),
            queue: 0,
            slow_trips: 0,
            fast_trips: 0,
            reno_count: MIN_RENO,
            last_acked: 0,
        }
    }
}

impl Congestion for Yeah {
    fn init(&mut self, window: &mut Window, ctx: &Context) {
        self.trips.restart(ctx);
        window.cwnd_clamp = window.cwnd_clamp.min(MAX_WINDOW);
    }

    fn on_arrival(&mut self, _window: &mut Window, ack: &AckArrival) {
        if ack.state == CaState::Open {
            self.last_acked = ack.acked;
        }
        self.trips.sample(ack);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if !ack.is_cwnd_limited {
            return;
        }
        if let Some(acked) = window.past_slow_start_by_acks(ack) {
            if self.slow_trips > 0 {
                window.additive_increase(window.cwnd, acked);
            } else if window.older.have(OlderRules::COUNT_ACKS) {
                self.grow_by_last_sample(window);
            } else {
                window.additive_increase(window.cwnd.min(scalable::PER_SEGMENT), acked);
            }
        }
        if let Some(trip) = self.trips.end(ack).filter(RoundTrip::is_sampled) {
            self.judge(window, &trip);
        }
    }

    fn ssthresh(&mut self, window: &Window, _ctx: &Context) -> u32 {
        let half = (window.cwnd / 2).max(2);
        let decrease =
            if self.slow_trips < COMPETING_TRIPS { self.queue.min(half).max(window.cwnd >> LOSS_SHIFT) } else { half };
        self.fast_trips = 0;
        self.reno_count = (self.reno_count / 2).max(MIN_RENO);
        window.cwnd.saturating_sub(decrease).max(2)
    }

    fn on_event(&mut self, _window: &mut Window, event: CaEvent, ctx: &Context) {
        self.trips.on_event(event, ctx);
    }

    fn on_state(&mut self, _window: &mut Window, state: CaState, ctx: &Context) {
        self.trips.on_state(state, ctx);
    }
}

impl Yeah {
    /// Fast mode up to Linux 5.6: an ACK counts as many segments as the last RTT sample acknowledged, and then one.
    fn grow_by_last_sample(&mut self, window: &mut Window) {
        window.cwnd_cnt += std::mem::replace(&mut self.last_acked, 1);
        if window.cwnd_cnt > window.cwnd.min(scalable::PER_SEGMENT) {
            window.cwnd = (window.cwnd + 1).min(window.cwnd_clamp);
            window.cwnd_cnt = 0;
        }
    }

    /// The mode of the next round trip.
    fn judge(&mut self, window: &mut Window, trip: &RoundTrip) {
        let delay = trip.rtt - trip.base_rtt;
        self.queue = (u64::from(window.cwnd) * u64::from(delay) / u64::from(trip.rtt)) as u32;
        if self.queue <= MAX_QUEUE && delay <= trip.base_rtt / MAX_DELAY_PART {
            self.slow_trips = 0;
            self.fast_trips += 1;
            if self.fast_trips > ALONE_TRIPS {
                self.reno_count = MIN_RENO;
                self.fast_trips = 0;
            }
            return;
        }
        if self.queue > MAX_QUEUE && window.cwnd > self.reno_count {
            let decrease = self.queue.min(window.cwnd >> DECONGESTION_SHIFT);
            window.cwnd = (window.cwnd - decrease).max(self.reno_count);
            window.ssthresh = window.cwnd;
        }
        if self.reno_count <= MIN_RENO {
            self.reno_count = (window.cwnd / 2).max(MIN_RENO);
        } else {
            self.reno_count += 1;
        }
        self.slow_trips = (self.slow_trips + 1).min(MAX_COUNT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mode after a round trip of 10 ms on an empty path.
    fn after(rule: &mut Yeah, window: &mut Window, rtt: u32) {
        rule.judge(window, &RoundTrip { rtt, base_rtt: 10_000, samples: 9 });
    }

    fn ack(acked: u32) -> AckSample {
        AckSample { newly_delivered: acked, is_cwnd_limited: true, ..AckSample::default() }
    }

    #[test]
    fn fast_mode_ends_at_eighty_segments_or_an_eighth_of_the_rtt() {
        let (mut rule, mut window) = (Yeah::default(), Window::new(1_000, 500));
        // 800 us of 10.8 ms are 74 segments of 1000, 880 us of 10.88 ms are 80, 900 us of 10.9 ms are 82.
        for (rtt, is_slow) in [(10_000, false), (10_800, false), (10_880, false), (10_900, true)] {
            after(&mut rule, &mut window, rtt);
            assert_eq!(rule.slow_trips > 0, is_slow, "{rtt} us: {} queued", rule.queue);
        }
        let (mut rule, mut window) = (Yeah::default(), Window::new(100, 50));
        after(&mut rule, &mut window, 11_250);
        assert_eq!(rule.slow_trips, 0);
        after(&mut rule, &mut window, 11_251);
        assert_eq!((rule.slow_trips, window.cwnd), (1, 100), "a small queue, but a long delay: nothing to take off");
    }

    #[test]
    fn decongestion_takes_the_queue_at_most_half_down_to_the_competitor() {
        let (mut rule, mut window) = (Yeah::default(), Window::new(1_000, 500));
        after(&mut rule, &mut window, 12_500);
        assert_eq!((rule.queue, window.cwnd, window.ssthresh, rule.reno_count), (200, 800, 800, 400));
        after(&mut rule, &mut window, 40_000);
        assert_eq!((rule.queue, window.cwnd, rule.reno_count), (600, 400, 401), "600 of 800, so half");
        after(&mut rule, &mut window, 40_000);
        assert_eq!((window.cwnd, rule.reno_count), (400, 402), "not below the competitor's 401");
    }

    #[test]
    fn grows_as_scalable_when_fast_and_as_reno_when_slow() {
        let (mut rule, mut window) = (Yeah::default(), Window::new(1_000, 500));
        rule.trips.restart(&Context { snd_nxt: 1, ..Context::default() });
        rule.on_ack(&mut window, &ack(200));
        assert_eq!(window.cwnd, 1_002);
        rule.slow_trips = 1;
        rule.on_ack(&mut window, &ack(1_002));
        assert_eq!(window.cwnd, 1_003);
    }

    #[test]
    fn a_loss_takes_the_queue_between_an_eighth_and_a_half() {
        let (ctx, window) = (Context::default(), Window::new(1_000, 500));
        for (queue, slow_trips, ssthresh) in [(0, 0, 875), (200, 15, 800), (700, 0, 500), (200, 16, 500)] {
            let mut rule = Yeah { queue, slow_trips, reno_count: 401, fast_trips: 9, ..Yeah::default() };
            assert_eq!(rule.ssthresh(&window, &ctx), ssthresh, "{queue} queued after {slow_trips} slow trips");
            assert_eq!((rule.reno_count, rule.fast_trips), (200, 0));
        }
        assert_eq!(Yeah::default().ssthresh(&Window::new(1, 2), &ctx), 2);
    }

    #[test]
    fn fifty_one_fast_round_trips_forget_the_competitor() {
        let mut rule = Yeah { reno_count: 400, ..Yeah::default() };
        let mut window = Window::new(100, 50);
        (0..50).for_each(|_| after(&mut rule, &mut window, 10_000));
        assert_eq!(rule.reno_count, 400);
        after(&mut rule, &mut window, 10_000);
        assert_eq!((rule.reno_count, rule.fast_trips), (2, 0));
    }

    #[test]
    fn older_stacks_count_the_last_sample_in_fast_mode_and_acks_in_slow_mode() {
        let mut window = Window { older: OlderRules::COUNT_ACKS, ..Window::new(4, 1) };
        let mut rule = Yeah::default();
        rule.on_arrival(&mut window, &AckArrival { acked: 2, ..AckArrival::default() });
        // Two of the sample, then one an ACK; more than the window is needed.
        let grown: Vec<u32> = (0..4)
            .map(|_| {
                rule.on_ack(&mut window, &ack(2));
                window.cwnd
            })
            .collect();
        assert_eq!(grown, [4, 4, 4, 5]);
        rule.slow_trips = 1;
        let mut window = Window { older: OlderRules::COUNT_ACKS, ..Window::new(4, 1) };
        let grown: Vec<u32> = (0..4)
            .map(|_| {
                rule.on_ack(&mut window, &ack(2));
                window.cwnd
            })
            .collect();
        assert_eq!(grown, [4, 4, 4, 5], "a window of ACKs");
    }

    #[test]
    fn a_connection_has_a_largest_window_and_its_round_trips_follow_its_state() {
        let (mut rule, mut window) = (Yeah::default(), Window::new(10, 5));
        let ctx = Context { snd_nxt: 7, ..Context::default() };
        rule.init(&mut window, &ctx);
        assert_eq!(window.cwnd_clamp, MAX_WINDOW);
        let trip = |una| AckArrival { snd_una: una, snd_nxt: 20, ..AckArrival::default() }.sample();
        assert_eq!(rule.trips.end(&trip(7)), None, "it ends with more than that");
        rule.on_state(&mut window, CaState::Recovery, &ctx);
        assert!(!rule.trips.is_enabled);
        rule.on_event(&mut window, CaEvent::WindowRestart, &Context { snd_nxt: 9, ..ctx });
        assert!(rule.trips.is_enabled);
        assert_eq!((rule.trips.end(&trip(9)), rule.trips.end(&trip(10)).is_some()), (None, true));
    }

    #[test]
    fn eighty_segments_may_wait_and_the_competitors_window_stays() {
        // 80 of 400 segments wait at 12.5 ms, a long delay; 81 of 405.
        for (cwnd, reno_count, after_it, ssthresh) in
            [(400, 2, 400, 50), (405, 2, 324, 324), (405, 405, 405, 50), (405, 404, 404, 404)]
        {
            let (mut rule, mut window) = (Yeah { reno_count, ..Yeah::default() }, Window::new(cwnd, 50));
            after(&mut rule, &mut window, 12_500);
            assert_eq!((window.cwnd, window.ssthresh, rule.slow_trips), (after_it, ssthresh, 1), "{cwnd}");
        }
        let (mut rule, mut window) = (Yeah::default(), Window::new(800, 50));
        after(&mut rule, &mut window, 40_000);
        assert_eq!(window.cwnd, 400, "600 wait: half at most");
    }
}
