use super::*;
use crate::congestion::slow_start::Classic;

const MS: Duration = Duration::from_ms(1);

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_ms(ms)
}

fn ack(now: Instant, acked: u32, rtt: Duration) -> AckArrival {
    AckArrival { now, acked, rtt: Some(rtt), ..AckArrival::default() }
}

/// One window of ACKs, each for `per_ack` segments, spread evenly over an RTT that ends at `end`.
fn one_round(rule: &mut Cubic<Classic>, window: &mut Window, end: Instant, rtt: Duration, per_ack: u32) {
    let cwnd = window.cwnd;
    let mut done = 0;
    while done < cwnd {
        let acked = per_ack.min(cwnd - done);
        done += acked;
        let now = end - rtt * u64::from(cwnd - done) / u64::from(cwnd);
        let sample = ack(now, acked, rtt);
        rule.on_arrival(window, &sample);
        rule.on_ack(window, &sample.sample());
    }
}

/// A rule that lost at `w_max` just before `at(0)`, with its window at the new threshold.
fn after_loss(w_max: u32) -> (Cubic<Classic>, Window) {
    let mut rule = Cubic::default();
    let mut window = Window::new(w_max, w_max);
    let ctx = Context { jiffy: MS, ..Context::default() };
    rule.init(&mut window, &ctx);
    window.ssthresh = rule.ssthresh(&window, &ctx);
    window.cwnd = window.ssthresh;
    (rule, window)
}

/// W(t) = C (t - K)^3 + W_max, RFC 9438 equations 1 and 2, in real numbers.
fn rfc_window(t: f64, cwnd: f64, w_max: f64) -> f64 {
    let k = ((w_max - cwnd) / 0.4).cbrt();
    0.4 * (t - k).powi(3) + w_max
}

#[test]
fn constants_are_those_of_the_rfc() {
    assert_eq!(Cubic::<Classic>::default().shape.friendly_eighths, Some(15), "8/15 = 0.533 for the RFC's 0.529");
    assert!((BETA as f64 / BETA_SCALE as f64 - 0.7).abs() < 0.001);
    assert!((C as f64 / 1024.0 - 0.4).abs() < 0.001);
}

#[test]
fn loss_at_a_thousand() {
    let (rule, window) = after_loss(1_000);
    // 1000 * 717 / 1024 = 700.2.
    assert_eq!((window.ssthresh, rule.w_max), (700, 1_000));
    // K = cbrt(300 / 0.4) = 9.086 s = 9303 / 1024 s; C is 0.1 % larger than 0.4, and the root is an approximation.
    assert_eq!(cube_root(300 * ((1 << CURVE_SHIFT) / C)), 9_294);
}

#[test]
fn fast_convergence_gives_up_room() {
    let (mut rule, mut window) = after_loss(1_000);
    window.cwnd = 800;
    // Below the last maximum: W_max = 800 * (1 + 0.7) / 2 = 680.
    assert_eq!(rule.ssthresh(&window, &Context::default()), 560);
    assert_eq!(rule.w_max, 680);
    window.cwnd = 900;
    rule.ssthresh(&window, &Context::default());
    assert_eq!(rule.w_max, 900);
    assert_eq!(rule.ssthresh(&Window::new(2, 2), &Context::default()), 2);
}

/// The whole curve of one epoch, concave and convex, at an RTT long enough for the cubic term to
/// rule: within a segment of the equation, evaluated one RTT behind since the window reaches W(t + RTT)
/// only when the RTT has passed.
#[test]
fn the_curve_is_the_equation() {
    for per_ack in [1, 2] {
        let rtt = Duration::from_ms(100);
        let (mut rule, mut window) = after_loss(1_000);
        for round in 1..=150u64 {
            one_round(&mut rule, &mut window, at(100 * round), rtt, per_ack);
            let want = rfc_window(0.1 * round as f64, 700.0, 1_000.0);
            let got = f64::from(window.cwnd);
            // The rate is an integer count of segments, so steps are coarse: 0.5 % of the window.
            assert!((got - want).abs() <= 1.0 + 0.005 * want, "round {round}: {got} against {want:.1}");
        }
    }
}

#[test]
fn short_rtts_are_reno_friendly() {
    // RTT 10 ms at 70 of 100 segments: K = 4.2 s, while 30 segments at 8/15 an RTT take 0.56 s.
    let rtt = Duration::from_ms(10);
    let (mut rule, mut window) = after_loss(100);
    for round in 1..=100u64 {
        one_round(&mut rule, &mut window, at(10 * round), rtt, 1);
        let want = 70.0 + round as f64 * 8.0 / 15.0;
        // The window follows W_est, and the rate towards it is looked at again after HZ/32 = 31 ms
        // when the window did not move: it may be three rounds late, 1.6 segments, and both are whole numbers.
        let behind = want - f64::from(window.cwnd);
        assert!((-0.5..=3.6).contains(&behind), "round {round}: {} against {want:.1}", window.cwnd);
    }
}

#[test]
fn before_any_loss_one_in_twenty() {
    let mut rule = Cubic::<Classic>::default();
    let mut window = Window::new(200, 200);
    rule.init(&mut window, &Context { jiffy: MS, ..Context::default() });
    one_round(&mut rule, &mut window, at(100), Duration::from_ms(100), 1);
    assert_eq!(window.cwnd, 210);
}

#[test]
fn never_faster_than_half_a_window_a_round() {
    // 20 s past K the curve is 3200 segments above: two segments acknowledged for each one more.
    let (mut rule, mut window) = after_loss(100);
    one_round(&mut rule, &mut window, at(100), Duration::from_ms(100), 1);
    let cwnd = window.cwnd;
    one_round(&mut rule, &mut window, at(24_000), Duration::from_ms(100), 1);
    assert_eq!(window.cwnd, cwnd + cwnd / 2);
}

/// What a rule with these parameters makes of a loss at 1000 segments, then of one at 800: threshold and `W_max`.
fn two_losses(beta: f64, fast_convergence: bool) -> [(u32, u32); 2] {
    let mut rule = Cubic::<Classic>::new(Shape::new(beta, fast_convergence, true));
    let ctx = Context { jiffy: MS, ..Context::default() };
    [1_000, 800].map(|cwnd| (rule.ssthresh(&Window::new(cwnd, cwnd), &ctx), rule.w_max))
}

#[test]
fn parameters_shape_the_reduction() {
    // 819/1024: 1000 becomes 799.8; 800 becomes 639.8 and is remembered as 800 (1024 + 819) / 2048 = 719.9.
    assert_eq!(two_losses(0.8, true), [(799, 1_000), (639, 719)]);
    assert_eq!(two_losses(0.8, false), [(799, 1_000), (639, 800)]);
    assert_eq!(two_losses(0.7001953125, true), [(700, 1_000), (560, 680)]);
}

#[test]
fn without_friendliness_only_the_curve_counts() {
    // 10 ms after a loss at 20 segments the curve is flat and W_est is what grows.
    let grown = |friendly: bool| {
        let mut rule = Cubic::<Classic>::new(Shape::new(0.7, true, friendly));
        let mut window = Window::new(20, 20);
        let ctx = Context { jiffy: MS, ..Context::default() };
        rule.init(&mut window, &ctx);
        window.ssthresh = rule.ssthresh(&window, &ctx);
        window.cwnd = window.ssthresh;
        for round in 1..=100 {
            one_round(&mut rule, &mut window, at(10 * round), MS * 10, 1);
        }
        window.cwnd
    };
    assert!(grown(true) > 40, "{}", grown(true));
    assert!(grown(false) <= 20, "{}", grown(false));
}

#[test]
fn version_2_1_grows_by_310_segments_a_second_less_a_millisecond() {
    // 16 segments in 100 ms, times 31/16, and (RTT - 1 ms) / RTT of it: 279 a second at 10 ms. Unbounded, the curve would
    // be 0.4 * 20^3 = 3200 segments above its middle and make good for it in some round trips.
    let shape = Shape { max_increment: 16, ack_ratio: true, ..Shape::new(0.8, true, true) };
    let mut rule = Cubic::<Classic> {
        min_delay: Duration::from_us(10_020),
        ack_sixteenths: 31,
        epoch: Some(Epoch { start: 0, origin: 5_000, k: 0 }),
        w_max: 5_000,
        ..Cubic::new(shape)
    };
    let mut window = Window::new(5_000, 4_000);
    for n in 0..500_000u64 {
        let now = at(20_000) + Duration::from_us(2 * n);
        rule.on_ack(&mut window, &ack(now, 1, Duration::from_ms(10)).sample());
    }
    // As many ACKs a second as the first window has, so that growth falls as the window grows: the root of
    // 5000^2 + 2 * 500000 * 2.79 is 5271.6.
    assert!((5_270..=5_273).contains(&window.cwnd), "{}", window.cwnd);
}

#[test]
fn an_ack_for_every_segment_is_counted_as_31_sixteenths() {
    // 32 - 32 / 16 + 1 = 31, and 31 - 31 / 16 + 1 = 31: the fraction is lost.
    let mut rule = Cubic::<Classic>::new(Shape { ack_ratio: true, ..Shape::new(0.8, true, true) });
    let mut window = Window::new(100, 50);
    for (acks, sixteenths) in [(1, 31), (1000, 31)] {
        (0..acks).for_each(|_| rule.on_arrival(&mut window, &ack(at(1), 1, Duration::from_ms(10))));
        assert_eq!(rule.ack_sixteenths, sixteenths);
    }
    (0..100).for_each(|_| rule.on_arrival(&mut window, &ack(at(1), 4, Duration::from_ms(10))));
    assert!((60..=64).contains(&rule.ack_sixteenths), "4 segments an ACK, {}", rule.ack_sixteenths);
}

#[test]
fn idle_time_shifts_the_epoch() {
    let run = |idle: u64| {
        let (mut rule, mut window) = after_loss(1_000);
        let rtt = Duration::from_ms(100);
        (1..=50).for_each(|round| one_round(&mut rule, &mut window, at(100 * round), rtt, 1));
        let start = CaEvent::TxStart { idle: Duration::from_ms(idle) };
        rule.on_event(&mut window, start, &Context { now: at(5_000 + idle), ..Context::default() });
        (51..=80).for_each(|round| one_round(&mut rule, &mut window, at(100 * round + idle), rtt, 1));
        window.cwnd
    };
    assert_eq!(run(0), run(60_000));
}

#[test]
fn a_timeout_forgets_everything() {
    let (mut rule, mut window) = after_loss(1_000);
    one_round(&mut rule, &mut window, at(100), Duration::from_ms(100), 1);
    assert!(!rule.min_delay.is_zero() && rule.epoch.is_some());
    rule.on_state(&mut window, CaState::Loss, &Context::default());
    assert_eq!((rule.w_max, rule.min_delay, rule.epoch.is_none()), (0, Duration::ZERO, true));
}

#[test]
fn samples_within_a_second_of_the_epoch_are_discarded() {
    for (jiffy_ms, is_after_timeout) in [(1, false), (10, false), (10, true)] {
        let (mut rule, mut window) = after_loss(1_000);
        let ctx = Context { jiffy: MS * jiffy_ms, ..Context::default() };
        rule.init(&mut window, &ctx);
        if is_after_timeout {
            rule.on_state(&mut window, CaState::Loss, &ctx);
        }
        one_round(&mut rule, &mut window, at(100), Duration::from_ms(100), 1000);
        rule.on_arrival(&mut window, &ack(at(1_099), 1, Duration::from_ms(50)));
        assert_eq!(rule.min_delay, Duration::from_ms(100));
        rule.on_arrival(&mut window, &ack(at(1_100), 1, Duration::from_ms(50)));
        assert_eq!(rule.min_delay, Duration::from_ms(50), "jiffies of {jiffy_ms} ms");
    }
}

/// The curve's own time is exact to 1/1024 s, whatever a jiffy is: 2.5 s and an RTT of 95 ms ahead, in whole jiffies.
#[test]
fn the_curve_counts_in_the_jiffies_of_the_host() {
    for (jiffy_ms, ahead_ms) in [(1, 95), (4, 96), (10, 100)] {
        let (mut rule, mut window) = after_loss(1_000);
        let ctx = Context { jiffy: MS * jiffy_ms, ..Context::default() };
        rule.init(&mut window, &ctx);
        rule.on_state(&mut window, CaState::Loss, &ctx);
        rule.on_arrival(&mut window, &ack(at(1_000), 1, Duration::from_ms(95)));
        let want = (2_500 + ahead_ms) * 1_024 / 1_000;
        assert_eq!(rule.curve_time(2_500 / jiffy_ms), want, "jiffies of {jiffy_ms} ms");
    }
}

/// Up to Linux 5.5 delays are eighths of a millisecond, and the curve looks ahead by whole ones: of 1.9 ms, one jiffy of a
/// millisecond instead of two.
#[test]
fn older_stacks_look_ahead_by_whole_milliseconds() {
    for (older, ahead_ms) in [(OlderRules::default(), 2), (OlderRules::MS_DELAYS, 1)] {
        let mut rule = Cubic::<Classic>::default();
        let mut window = Window { older, ..Window::new(100, 50) };
        rule.init(&mut window, &Context { jiffy: MS, ..Context::default() });
        rule.on_arrival(&mut window, &ack(at(1_000), 1, Duration::from_us(1_900)));
        assert_eq!(rule.curve_time(2_500), (2_500 + ahead_ms) * 1_024 / 1_000);
        assert_eq!(rule.min_delay, Duration::from_us(if ahead_ms == 1 { 1_875 } else { 1_900 }));
    }
}

/// The first round of HyStart begins with the connection and ends with what was sent by then: a train of ACKs that is
/// longer than half of the smallest RTT, 5 ms, ends slow start.
#[test]
fn slow_start_begins_with_the_connection() {
    let mut rule = Cubic::<crate::congestion::slow_start::HyStart>::default();
    let mut window = Window::new(20, u32::MAX);
    rule.init(&mut window, &Context { now: at(1_000), snd_nxt: 30_000, jiffy: MS, ..Context::default() });
    let exit = (1..20).find(|ms| {
        let sample = AckArrival { snd_una: 1 + ms * 1_000, ..ack(at(1_000 + ms), 1, Duration::from_ms(10)) };
        rule.on_arrival(&mut window, &sample);
        window.ssthresh < u32::MAX
    });
    assert_eq!(exit, Some(6));
}

#[test]
fn cube_roots_are_those_of_linux() {
    let one = (1 << CURVE_SHIFT) / C;
    // Segments below the last maximum, K in the kernel's runs, and the exact root.
    for (below, k, exact) in [(1, 1_388, 1_389), (29, 4_271, 4_268), (39, 4_714, 4_711), (50, 5_120, 5_118)] {
        assert_eq!(cube_root(below * one), k, "exactly {exact}");
        assert_eq!((below as f64 * one as f64).cbrt() as u64, exact);
    }
    // One for each estimate that is not the formula's: with that of the formula K is another.
    let others = [26, 29, 33, 36, 49, 52, 58, 68, 10, 100, 13, 109, 17, 202].map(|below| cube_root(below * one));
    assert_eq!(
        others,
        [4_116, 4_271, 4_456, 4_587, 5_088, 5_185, 5_379, 5_671, 2_991, 6_451, 3_266, 6_636, 3_573, 8_154]
    );
    let more = [67, 82, 88, 98, 107, 114, 146, 181, 194].map(|below| cube_root(below * one));
    assert_eq!(more, [5_639, 6_036, 6_181, 6_406, 6_594, 6_734, 7_314, 7_860, 8_044]);
    assert_eq!([0, 1, 7, 8].map(cube_root), [0, 1, 1, 2]);
    for value in (1..3_000).map(|below| below * one).chain([u64::MAX]) {
        let part = cube_root(value) as f64 / (value as f64).cbrt();
        assert!((part - 1.0).abs() < 0.005, "{value}: {part}");
    }
}

#[test]
fn segments_an_ack_are_estimated_from_acks_in_open_alone_and_only_where_they_count() {
    for (ack_ratio, acked, state, sixteenths) in [
        (true, 1, CaState::Open, 31),
        (true, 4, CaState::Open, 34),
        (true, 0, CaState::Open, 32),
        (true, 1, CaState::Disorder, 32),
        (false, 1, CaState::Open, 32),
    ] {
        let (mut rule, mut window) = after_loss(100);
        rule.shape.ack_ratio = ack_ratio;
        rule.on_arrival(&mut window, &AckArrival { state, ..ack(at(5), acked, MS) });
        assert_eq!(rule.ack_sixteenths, sixteenths, "{acked} in {state:?}");
    }
}

#[test]
fn a_timeout_forgets_how_many_segments_an_ack_had() {
    // As in Linux 2.6.22 and the TCP of ns-2, where it begins again with two.
    let (mut rule, mut window) = after_loss(100);
    rule.shape.ack_ratio = true;
    rule.on_arrival(&mut window, &ack(at(5), 1, MS));
    assert_eq!(rule.ack_sixteenths, 31);
    rule.on_state(&mut window, CaState::Loss, &Context::default());
    assert_eq!(rule.ack_sixteenths, 32);
}

#[test]
fn a_loss_at_the_window_of_the_last_one_gives_up_no_room() {
    for (cwnd, w_max) in [(1_000, 1_000), (999, 849)] {
        let (mut rule, mut window) = after_loss(1_000);
        window.cwnd = cwnd;
        rule.ssthresh(&window, &Context::default());
        assert_eq!(rule.w_max, w_max, "lost at {cwnd}");
    }
}

#[test]
fn within_a_jiffy_the_curve_is_looked_at_once() {
    let (mut rule, mut window) = after_loss(1_000);
    rule.shape.friendly_eighths = None;
    rule.on_ack(&mut window, &ack(at(100), 1, MS).sample());
    let of_curve = rule.per_segment;
    // A window of another size would have another rate, from the next jiffy on.
    rule.follow_curve(2 * window.cwnd, 1, 100);
    assert_eq!((rule.per_segment, rule.seen_cwnd), (of_curve, window.cwnd));
    rule.follow_curve(2 * window.cwnd, 1, 101);
    assert_eq!(rule.per_segment, 200 * window.cwnd, "above the target");
}

#[test]
fn the_reno_flow_gains_a_segment_for_more_than_fifteen_eighths_of_a_window_and_pulls_this_one_along() {
    for (est_acked, w_est, left) in [(187, 100, 187), (188, 101, 1), (374, 101, 187), (375, 102, 1)] {
        let (mut rule, _) = after_loss(1_000);
        (rule.est_acked, rule.w_est) = (est_acked, 100);
        rule.keep_up_with_reno(100);
        assert_eq!((rule.w_est, rule.est_acked), (w_est, left), "{est_acked}");
    }
    for (w_est, per_segment) in [(100, 50), (101, 50), (104, 25), (150, 2)] {
        let (mut rule, _) = after_loss(1_000);
        (rule.w_est, rule.per_segment) = (w_est, 50);
        rule.keep_up_with_reno(100);
        assert_eq!(rule.per_segment, per_segment, "{w_est}");
    }
}
