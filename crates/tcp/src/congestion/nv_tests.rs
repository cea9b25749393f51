use daybreak_units::{Duration, Instant};

use super::*;

const MSS: u32 = 1_000;

fn rule(cwnd: u32, ssthresh: u32) -> (Nv, Window) {
    let (mut rule, mut window) = (Nv::new(1), Window::new(cwnd, ssthresh));
    rule.init(&mut window, &Context { jiffy: Duration::from_ms(1), ..Context::default() });
    (rule, window)
}

/// The `n`th ACK, each of one segment, of which `delivered` were delivered in the RTT.
fn ack(n: u64, rtt_us: u64, delivered: u64) -> AckArrival {
    AckArrival {
        now: Instant::ZERO + Duration::from_us(100 * n),
        acked: 1,
        rtt: Some(Duration::from_us(rtt_us)),
        delivered: 1_000 + n,
        prior_delivered: 1_000 + n - delivered,
        snd_una: n * u64::from(MSS),
        snd_nxt: (n + 100) * u64::from(MSS),
        mss: MSS,
        ..AckArrival::default()
    }
}

/// One segment is delivered, and the window was full.
fn growth() -> AckSample {
    AckSample { newly_delivered: 1, is_cwnd_limited: true, ..AckSample::default() }
}

/// ACKs `from` to `to`; the window after the last.
fn run(rule: &mut Nv, window: &mut Window, acks: std::ops::RangeInclusive<u64>, rtt_us: u64, delivered: u64) {
    for n in acks {
        rule.on_arrival(window, &ack(n, rtt_us, delivered));
    }
}

#[test]
fn the_window_is_what_the_rate_needs_and_ten_segments() {
    // 100 segments in 10 ms, 12.5 ms at present: the rate needs 80 segments at 10 ms; 200 are 110 too many.
    let (mut rule, mut window) = rule(200, 150);
    rule.trip = Trip { rtt: 12_500, end: u64::MAX, ..rule.trip };
    run(&mut rule, &mut window, 1..=60, 12_500, 100);
    (rule.min_rtt, rule.trip.trips) = (10_000, 1);
    assert_eq!(rule.trip.max_rate, 640_000, "64 Mbit/s");
    rule.trip.end = 60 * u64::from(MSS);
    rule.on_arrival(&mut window, &ack(61, 12_500, 100));
    // 30 % of 110, as 38/128.
    assert_eq!((window.ssthresh, window.cwnd, rule.may_grow), (90, 200 - 32, false));
    assert_eq!((rule.trip.samples, rule.trip.trips, rule.trip.max_rate), (0, 0, 0));
}

#[test]
fn a_small_excess_is_taken_at_once() {
    for (cwnd, after) in [(92, 90), (93, 91), (96, 94), (100, 98), (101, 98)] {
        let (mut rule, mut window) = rule(cwnd, 50);
        (rule.trip.trips, rule.trip.samples) = (2, 60);
        assert!(rule.shrinks(&mut window, 90));
        assert_eq!(window.cwnd, after, "{cwnd} of 90");
    }
}

#[test]
fn a_decision_needs_samples_and_round_trips() {
    let (mut rule, mut window) = rule(200, 150);
    for (trips, samples, decides) in [(1, 60, false), (2, 59, false), (2, 60, true)] {
        (rule.trip.trips, rule.trip.samples) = (trips, samples);
        assert_eq!(rule.shrinks(&mut window.clone(), 90), decides, "{samples} samples in {trips} round trips");
    }
    (rule.trip.trips, rule.trip.samples, rule.may_grow) = (11, 59, true);
    assert!(!rule.shrinks(&mut window, 90) && !rule.may_grow, "it waits, but does not grow any more");
    window.ssthresh = u32::MAX;
    rule.trip.samples = 30;
    assert!(rule.shrinks(&mut window, 90), "slow start ends sooner");
    rule.trip.samples = 19;
    assert!(!rule.allows_growth());
    rule.trip.samples = 20;
    assert!(rule.allows_growth() && rule.may_grow);
}

#[test]
fn it_grows_only_where_it_may_and_at_most_by_one_for_four() {
    let (mut rule, mut window) = rule(2, 2);
    (1..=4).for_each(|_| rule.on_ack(&mut window, &growth()));
    assert_eq!(window.cwnd, 3);
    rule.may_grow = false;
    (1..=9).for_each(|_| rule.on_ack(&mut window, &growth()));
    assert_eq!((window.cwnd, window.cwnd_cnt), (3, 0));
}

#[test]
fn timeouts_slow_its_growth_down() {
    let (mut rule, mut window) = rule(10, 5);
    rule.on_state(&mut window, CaState::Loss, &Context::default());
    rule.on_state(&mut window, CaState::Loss, &Context::default());
    rule.may_grow = true;
    (1..=39).for_each(|_| rule.on_ack(&mut window, &growth()));
    assert_eq!((window.cwnd, rule.slowness), (10, 2));
    rule.on_ack(&mut window, &growth());
    assert_eq!(window.cwnd, 11, "one in four round trips");
    rule.trip.samples = 20;
    (0..9).for_each(|_| assert!(rule.allows_growth()));
    assert_eq!((rule.slowness, rule.grown), (1, 0), "nine decisions to grow");
    (0..20).for_each(|_| rule.on_state(&mut window, CaState::Loss, &Context::default()));
    assert_eq!(rule.slowness, 8);
}

#[test]
fn the_smallest_rtt_is_of_the_last_seconds() {
    let (mut rule, mut window) = rule(10, 5);
    rule.trip.end = u64::MAX;
    rule.draws.follow(vec![0, 255]);
    run(&mut rule, &mut window, 1..=1, 300, 10);
    assert_eq!((rule.trip.rtt, rule.min_rtt), (300, 300), "twice the first, and the first itself");
    run(&mut rule, &mut window, 2..=2, 100, 10);
    assert_eq!((rule.trip.rtt, rule.min_rtt, rule.next_min_rtt), (200, 200, 200));
    // 2 s are 20,000 ACKs of 100 us each; then 3.75 s, then 6.24 s.
    run(&mut rule, &mut window, 19_999..=19_999, 600, 10);
    assert_eq!((rule.min_rtt, rule.next_period), (200, 2_000));
    run(&mut rule, &mut window, 20_000..=20_000, 400, 10);
    assert_eq!((rule.min_rtt, rule.next_min_rtt, rule.next_period), (200, u32::MAX, 5_750));
    run(&mut rule, &mut window, 20_001..=20_001, 400, 10);
    run(&mut rule, &mut window, 57_500..=57_500, 400, 10);
    assert_eq!((rule.min_rtt, rule.next_period), (400, 5_750 + 5 * 639 * 1_000 / 512));
}

#[test]
fn one_ack_a_round_trip_lets_the_window_grow() {
    let (mut rule, mut window) = rule(4, 2);
    rule.may_grow = false;
    let alone = AckArrival { acked: 3, ..ack(3, 100, 3) };
    rule.on_arrival(&mut window, &alone);
    assert_eq!((rule.coalesced, rule.may_grow, rule.trip.samples), (6, true, 0));
    assert_eq!(rule.trip.end, (103 + 6) * u64::from(MSS));
}

#[test]
fn a_loss_takes_a_fifth_and_measures_anew() {
    let (mut rule, mut window) = rule(100, 50);
    assert_eq!(rule.ssthresh(&window, &Context::default()), 79, "100 * 819/1024");
    run(&mut rule, &mut window, 1..=5, 100, 10);
    rule.on_state(&mut window, CaState::Recovery, &Context::default());
    assert!(!rule.may_grow && rule.is_reset_due);
    rule.on_state(&mut window, CaState::Open, &Context { snd_una: 77, ..Context::default() });
    assert_eq!((rule.trip.rtt, rule.trip.end, rule.trip.samples, rule.may_grow), (0, 77, 0, false));
}

#[test]
fn after_a_reset_in_mid_stream_acknowledged_bytes_count_from_there() {
    let (mut rule, mut window) = rule(100, 50);
    let start = 1_000 * u64::from(MSS);
    rule.reset(start);
    let coalesced = rule.coalesced;
    // The first ACK beyond it is of one segment and no burst, which would have made the rule expect longer ones.
    rule.on_arrival(&mut window, &ack(1_001, 100, 50));
    assert_eq!((rule.trip.snd_una, rule.coalesced), (start + u64::from(MSS), coalesced));
}

#[test]
fn disorder_is_measured_and_recovery_is_not() {
    for (state, samples) in
        [(CaState::Open, 1), (CaState::Disorder, 1), (CaState::Cwr, 0), (CaState::Recovery, 0), (CaState::Loss, 0)]
    {
        let (mut rule, mut window) = rule(200, 150);
        rule.trip.end = u64::MAX;
        rule.on_arrival(&mut window, &AckArrival { state, ..ack(1, 10_000, 100) });
        assert_eq!(rule.trip.samples, samples, "{state:?}");
    }
}

#[test]
fn a_period_that_is_over_halves_what_an_ack_may_hold_back() {
    for (before, after) in [(20, 10), (9, 4), (5, 4)] {
        let (mut rule, _) = rule(200, 150);
        (rule.coalesced, rule.next_min_rtt) = (before, 77);
        rule.renew_min_rtt(Instant::ZERO + Duration::from_secs(60));
        assert_eq!((rule.coalesced, rule.min_rtt, rule.next_min_rtt), (after, 77, u32::MAX));
    }
}

#[test]
fn an_ack_is_coalesced_if_it_is_alone_and_has_nearly_all() {
    let three = 3 * u64::from(MSS);
    for (samples, acked, coalesced, is_coalesced) in [
        (1, three, 4, true),
        (1, three - 1, 4, false),
        (2, three, 4, false),
        (1, u64::MAX, MOST_COALESCED - 1, true),
        (1, u64::MAX, MOST_COALESCED, false),
    ] {
        let (mut rule, _) = rule(200, 150);
        (rule.trip.samples, rule.coalesced) = (samples, coalesced);
        assert_eq!(rule.is_coalesced(acked, MSS), is_coalesced, "{acked} of {coalesced}");
    }
}

#[test]
fn between_what_the_rate_needs_and_two_segments_less_nothing_is_decided() {
    // 640 in the rule's unit times 10 ms are 80 segments; ten may wait.
    for (cwnd, may_grow, after, ssthresh) in
        [(88, true, 88, 150), (89, false, 89, 150), (90, false, 90, 150), (91, false, 90, 90)]
    {
        let (mut rule, mut window) = rule(cwnd, 150);
        rule.trip = Trip { max_rate: 640_000, samples: 60, trips: 2, ..rule.trip };
        (rule.min_rtt, rule.may_grow) = (10_000, false);
        rule.decides(&mut window, MSS);
        assert_eq!((rule.may_grow, window.cwnd, window.ssthresh), (may_grow, after, ssthresh), "{cwnd}");
    }
}

#[test]
fn before_the_first_reduction_half_of_the_samples_are_enough() {
    for (ssthresh, samples, shrinks) in [(u32::MAX, 29, false), (u32::MAX, 30, true), (50, 59, false), (50, 60, true)] {
        let (mut rule, mut window) = rule(100, ssthresh);
        (rule.trip.trips, rule.trip.samples) = (2, samples);
        assert_eq!(rule.shrinks(&mut window, 90), shrinks, "{samples} below {ssthresh}");
    }
}
