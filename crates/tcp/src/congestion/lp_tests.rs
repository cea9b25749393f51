use daybreak_units::Duration;

use super::*;

/// One segment is delivered, and the window was full.
fn growth() -> AckSample {
    AckSample { newly_delivered: 1, is_cwnd_limited: true, ..AckSample::default() }
}

/// An ACK that left the peer at `at` by our clock and took `back`; it answers what left us `out` before that.
fn ack(at: u32, out: u32, back: u32, ahead: u32) -> AckArrival {
    AckArrival {
        acked: 1,
        rtt: Some(Duration::from_ms(u64::from(out + back))),
        timestamps: Timestamps { value: at.wrapping_add(ahead), echo: at - out, now: at + back },
        ..AckArrival::default()
    }
}

/// A rule that has seen delays of 10 to 30 ms, of late 10 ms.
fn rule(ahead: u32) -> (Lp, Window) {
    let (mut rule, mut window) = (Lp::default(), Window::new(100, 50));
    (0..40).for_each(|n| rule.on_arrival(&mut window, &ack(1_000 + 10 * n, 10, 10, ahead)));
    rule.min_delay = ahead.wrapping_add(10);
    (rule.max_delay, rule.reserve) = (ahead.wrapping_add(30), ahead.wrapping_add(30));
    (window.cwnd, rule.gave_way) = (100, None);
    (rule, window)
}

#[test]
fn the_first_delay_is_the_smallest_and_the_largest_so_it_gives_way() {
    let (mut rule, mut window) = (Lp::default(), Window::new(100, 50));
    let mut next = |n: u32| {
        rule.on_arrival(&mut window, &ack(1_000 + 10 * n, 10, 10, 7_000));
        window.cwnd
    };
    assert_eq!([next(0), next(1), next(2)], [100, 50, 50], "two ACKs make a clock");
    assert_eq!((rule.min_delay, rule.max_delay, rule.gave_way), (7_010, 14_020, Some(1_020)));
}

#[test]
fn gives_way_at_fifteen_percent_of_the_delays() {
    let (mut rule, mut window) = rule(0);
    assert_eq!((rule.peer.hz, rule.min_delay, rule.threshold(), window.cwnd), (1_000, 10, 13, 100));
    // Smoothed by an eighth: 10 + (34 - 10)/8 = 13.
    rule.on_arrival(&mut window, &ack(1_400, 33, 10, 0));
    assert_eq!((rule.delay_x8 >> 3, window.cwnd), (12, 100));
    let (mut rule, mut window) = self::rule(0);
    rule.on_arrival(&mut window, &ack(1_400, 34, 10, 0));
    assert_eq!((rule.delay_x8 >> 3, window.cwnd), (13, 50));
    assert_eq!((rule.min_delay, rule.max_delay, rule.gave_way), (13, 26, Some(1_410)));
}

#[test]
fn does_not_grow_for_three_round_trips_and_falls_to_one_at_a_second_sign() {
    let (mut rule, mut window) = rule(0);
    rule.on_arrival(&mut window, &ack(1_400, 34, 10, 0));
    rule.on_ack(&mut window, &growth());
    assert_eq!((window.cwnd, window.cwnd_cnt, rule.inference), (50, 1, 3 * 44), "this ACK still counts");
    let next = ack(1_500, 13, 10, 0);
    rule.on_arrival(&mut window, &next);
    rule.on_ack(&mut window, &growth());
    assert!(!rule.is_inferring, "100 ms later: three round trips of 23 ms are over");
    assert_eq!(window.cwnd_cnt, 2);
    let (mut rule, mut window) = self::rule(0);
    rule.on_arrival(&mut window, &ack(1_400, 34, 10, 0));
    let next = ack(1_430, 80, 10, 0);
    rule.on_arrival(&mut window, &next);
    assert!(rule.is_inferring);
    rule.on_ack(&mut window, &growth());
    assert_eq!(window.cwnd_cnt, 0);
    // The threshold is 13 + 15 % of 13 now: a smoothed delay of 21 is a second sign.
    assert_eq!((rule.delay_x8 >> 3, window.cwnd), (21, 1));
}

#[test]
fn seven_of_eight_differences_of_the_clocks_keep_it_from_giving_way() {
    for (ahead, cwnd) in [(0, 50), (1 << 20, 50), ((1 << 29) - 100, 50), (1 << 29, 100), (3_000_000_000, 100)] {
        let (mut rule, mut window) = rule(ahead);
        rule.on_arrival(&mut window, &ack(1_400, 34, 10, ahead));
        assert_eq!(window.cwnd, cwnd, "the peer's clock is {ahead} ticks ahead");
    }
}

#[test]
fn the_peers_clock_rate_moves_by_a_64th_rounded_down() {
    let mut clock = PeerClock::default();
    let stamps = |value, echo| Timestamps { value, echo, now: 0 };
    clock.estimate(&stamps(100, 50));
    assert_eq!(clock.hz, 0, "two ACKs are needed");
    clock.estimate(&stamps(110, 60));
    assert_eq!(clock.hz, 1_000);
    clock.estimate(&stamps(110, 61));
    clock.estimate(&stamps(111, 61));
    assert_eq!(clock.hz, 1_000, "both clocks must move");
    clock.estimate(&stamps(112, 63));
    assert_eq!(clock.hz, 992, "1000 - 500/64, rounded down");
    clock.estimate(&stamps(114, 64));
    assert_eq!(clock.hz, 1_007, "992 + 1008/64");
    // More than 1000: the clock's ticks count for nothing, and the delay is the echo's.
    assert_eq!(clock.delay(&stamps(115, 65)), Some(65u32.wrapping_neg()));
}

#[test]
fn the_largest_delay_is_the_largest_but_one() {
    let mut rule = Lp::default();
    for (delay, max) in [(10, 10), (30, 10), (20, 20), (50, 30), (40, 40)] {
        rule.learn(delay);
        assert_eq!(rule.max_delay, max, "after {delay}");
    }
}

#[test]
fn without_timestamps_it_is_reno() {
    let (mut rule, mut window) = (Lp::default(), Window::new(100, 50));
    let ack = AckArrival { timestamps: Timestamps { now: 77, ..Timestamps::default() }, ..ack(100, 10, 10, 0) };
    for _ in 0..100 {
        rule.on_arrival(&mut window, &ack);
        rule.on_ack(&mut window, &growth());
    }
    assert_eq!(window.cwnd, 101);
}

#[test]
fn a_delay_of_nothing_is_not_known_and_a_tick_is_the_least_round_trip() {
    // tcp_lp_owd_calculator() and tcp_lp_pkts_acked(): "if (owd > 0)", "if (delta > 0)".
    for (value, delay) in [(50, None), (51, Some(1)), (60, Some(10))] {
        let mut clock = PeerClock { hz: RESOLUTION, last: None };
        assert_eq!(clock.delay(&Timestamps { value, echo: 50, now: 70 }), delay);
    }
    let (mut rule, mut window) = rule(0);
    for (out, back, inference) in [(7, 3, 30), (0, 0, 30), (1, 0, 3)] {
        rule.on_arrival(&mut window, &AckArrival { rtt: None, ..ack(2_000, out, back, 0) });
        assert_eq!(rule.inference, inference, "{out} and {back} ms");
    }
}

#[test]
fn it_infers_for_less_than_three_round_trips() {
    for (ticks, is_inferring) in [(29, true), (30, false), (31, false)] {
        let (mut rule, mut window) = rule(0);
        let arrival = AckArrival { rtt: None, ..ack(2_000, 7, 3, 0) };
        (rule.delay_x8, rule.min_delay, rule.max_delay) = (0, 10, 30);
        rule.gave_way = Some(arrival.timestamps.now - ticks);
        rule.on_arrival(&mut window, &arrival);
        assert_eq!(rule.is_inferring, is_inferring, "{ticks} ticks");
    }
}
