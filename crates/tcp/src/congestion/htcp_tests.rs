use super::*;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_ms(ms)
}

fn ctx(ms: u64) -> Context {
    Context { now: at(ms), jiffy: Duration::from_ms(1), ..Context::default() }
}

fn ack(ms: u64, acked: u32, rtt_ms: u64) -> AckArrival {
    AckArrival { now: at(ms), acked, rtt: Some(Duration::from_ms(rtt_ms)), ..AckArrival::default() }
}

fn rule() -> (HTcp, Window) {
    let (mut rule, mut window) = (HTcp::default(), Window::new(100, 50));
    rule.init(&mut window, &ctx(0));
    (rule, window)
}

#[test]
fn the_increase_is_reno_for_a_second_and_then_a_parabola() {
    let (mut rule, _) = rule();
    rule.parameters.use_rtt_scaling = false;
    // 2 (1 - beta) is 1 at a beta of 0.5, so alpha is the factor: 1 + 10 t + (t/2)^2 with t beyond a second.
    for (ms, alpha) in [(0, 1), (1_000, 1), (1_100, 2), (2_000, 11), (3_000, 22), (5_000, 45), (11_000, 126)] {
        rule.update_alpha(at(ms));
        assert_eq!(rule.alpha, alpha << SHIFT, "{ms} ms after a loss");
    }
}

#[test]
fn the_increase_is_scaled_by_the_rtt_against_a_tenth_of_a_second() {
    let (mut rule, _) = rule();
    // 45 at 100 ms; 10 ms would divide by 10, 1 ms by no more than that; 400 ms by no less than a half.
    for (rtt, alpha) in [(100, 45), (10, 4), (1, 4), (50, 22), (400, 90)] {
        rule.min_rtt = rtt;
        rule.update_alpha(at(5_000));
        assert_eq!(rule.alpha, alpha << SHIFT, "{rtt} ms");
    }
    let (mut rule, _) = self::rule();
    rule.min_rtt = 400;
    rule.update_alpha(at(500));
    assert_eq!(rule.alpha, 2 << SHIFT, "a long RTT doubles the first second too");
}

#[test]
fn the_window_grows_by_alpha_a_round_trip() {
    let (mut rule, mut window) = rule();
    rule.alpha = 4 << SHIFT;
    rule.parameters.use_rtt_scaling = false;
    // 25 acknowledged segments times 4 are a window; the next ACK then adds one.
    (0..25).for_each(|_| rule.on_ack(&mut window, &ack(0, 1, 100).sample()));
    assert_eq!((window.cwnd, window.cwnd_cnt), (100, 25));
    rule.on_ack(&mut window, &ack(0, 1, 100).sample());
    assert_eq!((window.cwnd, window.cwnd_cnt, rule.alpha), (101, 0, UNIT), "and alpha is computed anew");
}

#[test]
fn the_backoff_empties_the_queue_and_no_more() {
    let (mut rule, mut window) = rule();
    (rule.min_rtt, rule.last.max_rtt) = (60, 80);
    // The first loss after a change of throughput halves; the second, with the same throughput, takes a quarter.
    (rule.max_rate, rule.last.old_max_rate) = (1_000, 700);
    assert_eq!(rule.ssthresh(&window, &ctx(0)), 50);
    rule.last.max_rtt = 80;
    assert_eq!(rule.ssthresh(&window, &ctx(0)), 50, "one loss is waited for");
    rule.last.max_rtt = 80;
    assert_eq!(rule.ssthresh(&window, &ctx(0)), 75, "60/80 = 96/128");
    assert_eq!(rule.last.max_rtt, 79, "60 + 95 % of 20");
    rule.last.max_rtt = 61;
    assert_eq!(rule.ssthresh(&window, &ctx(0)), 79, "at most 102/128");
    (rule.min_rtt, rule.last.max_rtt) = (10, 20);
    assert_eq!(rule.ssthresh(&window, &ctx(0)), 50, "not at 10 ms");
    rule.max_rate = 1_201;
    rule.ssthresh(&window, &ctx(0));
    assert!(!rule.adapts, "a fifth more throughput");
    window.cwnd = 3;
    assert_eq!(rule.ssthresh(&window, &ctx(0)), 2);
}

#[test]
fn throughput_counts_whole_windows_and_is_settled_after_three_rtts() {
    let (mut rule, mut window) = rule();
    window.cwnd = 10;
    // The first interval has no beginning: it measures nothing.
    (0..9).for_each(|ms| rule.on_arrival(&mut window, &ack(1_000 + ms, 1, 20)));
    assert_eq!((rule.max_rate, rule.interval_acked), (0, 0));
    // Then 10 segments, less alpha, in 30 ms.
    (1..=9).for_each(|n| rule.on_arrival(&mut window, &ack(1_008 + 10 * n, 1, 20)));
    assert_eq!((rule.rate, rule.max_rate), (9 * 1_000 / 90 / 4, 25), "averaged, long after a loss");
    rule.last.at = 1_100;
    (1..=9).for_each(|n| rule.on_arrival(&mut window, &ack(1_098 + 3 * n, 1, 20)));
    assert_eq!((rule.rate, rule.max_rate), (9_000 / 27, 333), "taken as it is, soon after one");
    rule.on_arrival(&mut window, &AckArrival { state: CaState::Recovery, ..ack(1_200, 5, 20) });
    assert_eq!((rule.interval_acked, rule.interval_start), (0, Some(1_200)));
}

#[test]
fn the_largest_rtt_rises_by_steps_and_in_open_only() {
    let (mut rule, mut window) = rule();
    rule.on_arrival(&mut window, &ack(0, 1, 20));
    rule.on_arrival(&mut window, &ack(0, 1, 41));
    assert_eq!((rule.min_rtt, rule.last.max_rtt), (20, 20), "21 ms at once");
    rule.on_arrival(&mut window, &ack(0, 1, 40));
    rule.on_arrival(&mut window, &AckArrival { state: CaState::Disorder, ..ack(0, 1, 50) });
    assert_eq!(rule.last.max_rtt, 40);
}

#[test]
fn undo_restores_the_time_of_the_last_loss() {
    let (mut rule, mut window) = rule();
    rule.last.at = 100;
    rule.ssthresh(&window, &ctx(900));
    rule.on_state(&mut window, CaState::Recovery, &ctx(900));
    assert_eq!(rule.last.at, 900);
    window.prior_cwnd = 120;
    assert_eq!(rule.undo_cwnd(&window), 120);
    rule.on_state(&mut window, CaState::Open, &ctx(950));
    assert_eq!(rule.last.at, 100);
    rule.on_state(&mut window, CaState::Recovery, &ctx(2_000));
    rule.on_state(&mut window, CaState::Open, &ctx(2_050));
    assert_eq!(rule.last.at, 2_050, "the event ends with Open");
}

#[test]
fn a_connection_counts_from_its_beginning_in_the_jiffies_of_its_host() {
    let (mut rule, mut window) = (HTcp::default(), Window::new(10, 5));
    rule.parameters.use_rtt_scaling = false;
    rule.init(&mut window, &Context { jiffy: Duration::from_ms(4), ..ctx(400) });
    assert_eq!((rule.last.at, rule.jiffies.hz(), rule.clock.at(at(800))), (100, 250, 200));
    assert!(!rule.parameters.use_rtt_scaling, "parameters stay");
}

#[test]
fn growth_counts_what_an_ack_in_open_acknowledged_and_stops_at_the_clamp() {
    for (state, counted) in [(CaState::Open, 3), (CaState::Disorder, 1)] {
        let (mut rule, mut window) = rule();
        rule.on_arrival(&mut window, &AckArrival { state, ..ack(0, 3, 20) });
        rule.on_ack(&mut window, &ack(0, 3, 20).sample());
        assert_eq!(window.cwnd_cnt, counted, "{state:?}");
    }
    let (mut rule, mut window) = rule();
    (window.cwnd_cnt, window.cwnd_clamp) = (100, 100);
    rule.on_ack(&mut window, &ack(0, 1, 20).sample());
    assert_eq!((window.cwnd, window.cwnd_cnt), (100, 0));
}

#[test]
fn without_a_largest_rtt_a_loss_halves() {
    // All samples were of other states than Open.
    let (mut rule, window) = rule();
    (rule.min_rtt, rule.adapts, rule.parameters.use_bandwidth_switch) = (60, true, false);
    assert_eq!((rule.ssthresh(&window, &ctx(0)), rule.last.max_rtt), (50, 0));
}

#[test]
fn the_backoff_adapts_to_rtts_of_more_than_ten_ms() {
    for (min_rtt, max_rtt, ssthresh) in [(10, 14, 50), (11, 14, 78)] {
        let (mut rule, window) = rule();
        (rule.min_rtt, rule.last.max_rtt, rule.adapts) = (min_rtt, max_rtt, true);
        rule.parameters.use_bandwidth_switch = false;
        assert_eq!(rule.ssthresh(&window, &ctx(0)), ssthresh, "{min_rtt} ms");
    }
}

#[test]
fn a_fifth_more_or_less_throughput_is_a_change() {
    for (old, new, adapts) in [(10, 7, false), (10, 8, true), (10, 12, true), (10, 13, false), (5, 1, false)] {
        let (mut rule, _) = rule();
        (rule.last.old_max_rate, rule.max_rate, rule.adapts) = (old, new, true);
        rule.update_beta();
        assert_eq!(rule.adapts, adapts, "{new} after {old}");
    }
}

#[test]
fn the_smallest_rtt_falls() {
    let (mut rule, mut window) = rule();
    for (rtt, min_rtt) in [(20, 20), (25, 20), (15, 15)] {
        rule.on_arrival(&mut window, &ack(0, 1, rtt));
        assert_eq!(rule.min_rtt, min_rtt);
    }
}

#[test]
fn an_interval_of_throughput_lasts_for_the_smallest_rtt_and_disorder_counts() {
    for (ms, state, rate) in [
        (1_019, CaState::Open, 300),
        (1_020, CaState::Open, (3 * 300 + 500) / 4),
        (1_020, CaState::Disorder, (3 * 300 + 500) / 4),
        (1_020, CaState::Recovery, 300),
    ] {
        let (mut rule, mut window) = rule();
        (rule.min_rtt, rule.rate, rule.interval_start) = (20, 300, Some(1_000));
        window.cwnd = 10;
        rule.on_arrival(&mut window, &AckArrival { rtt: None, state, ..ack(ms, 10, 20) });
        assert_eq!(rule.rate, rate, "{ms} ms in {state:?}");
    }
}
