use daybreak_units::parameters::Value;
use daybreak_units::{Duration, Instant};

use super::*;

const MSS: u64 = 1_000;

fn rule(cwnd: u32, ssthresh: u32) -> (Cdg, Window) {
    let (mut rule, mut window) = (Cdg::new(1), Window::new(cwnd, ssthresh));
    rule.init(&mut window, &Context { snd_nxt: 1, ..Context::default() });
    (rule, window)
}

fn ack(una: u64, rtt_us: u64) -> AckArrival {
    AckArrival {
        now: Instant::ZERO + Duration::from_us(100 * una),
        acked: 1,
        rtt: Some(Duration::from_us(rtt_us)),
        snd_una: 1 + una * MSS,
        snd_nxt: 1 + una * MSS,
        ..AckArrival::default()
    }
}

/// A round trip of one ACK; draws `backs_off`, if it draws.
fn round_trip(rule: &mut Cdg, window: &mut Window, una: u64, rtt_us: u64, backs_off: u32) -> usize {
    rule.draws.follow(vec![backs_off]);
    rule.on_arrival(window, &ack(una, rtt_us));
    rule.on_ack(window, &ack(una, rtt_us).sample());
    rule.draws.made().len()
}

#[test]
fn the_exponential_is_exact_to_a_ten_thousandth() {
    for x in [0u32, 1, 255, 256, 4_200, 42_000, 693_147, 1_000_000, 5_000_000, 16_000_000] {
        let (found, want) = (f64::from(exp_minus(x)) / f64::from(u32::MAX), (-f64::from(x) / 1e6).exp());
        assert!((found - want).abs() < 1e-4, "{x}: {found} of {want}");
    }
    assert_eq!((exp_minus(0), exp_minus(1 << 24), exp_minus(u32::MAX)), (u32::MAX, 0, 0));
}

#[test]
fn the_chance_follows_the_growth_of_the_rtt() {
    // 1 ms in 8 round trips: 1 - exp(-0.042) = 4.1 %; 20 ms: 56.8 %.
    for (gradient, want) in [(1_000, 0.0411), (20_000, 0.568), (100_000, 0.985)] {
        let drawn = (0..2_000).filter(|&seed| Cdg::new(seed).backs_off(gradient, &mut Window::new(9, 9))).count();
        let share = drawn as f64 / 2_000.0;
        assert!((share - want).abs() < 0.03, "{gradient} us: {share} of {want}");
    }
}

#[test]
fn gradients_are_summed_over_eight_round_trips() {
    let mut state = State::default();
    let at = |rtt| Extremes { min: rtt, max: rtt };
    // 100 us more each: extrapolated to eight of them, then the sum of eight.
    for n in 0..12 {
        assert_eq!(state.gradient(at(100 * n), at(100 * n + 100), false), 800, "after {} round trips", n + 1);
    }
    assert_eq!(
        state.gradient(at(0), Extremes { min: -800, max: 500 }, false),
        700 + 500,
        "the largest, as the smallest fell"
    );
    state.backoffs = 3;
    state.gradient(at(0), Extremes { min: 0, max: -1_300 }, false);
    assert_eq!(state.backoffs, 0, "it helped");
    // So it does if either sum, not each, has fallen by 32 us (`tcp_cdg_grad`).
    for (min, max, backoffs) in [(-32, 0, 0), (0, -32, 0), (-31, -31, 3)] {
        let mut state = State { backoffs: 3, ..State::default() };
        state.gradient(at(0), Extremes { min, max }, false);
        assert_eq!(state.backoffs, backoffs, "{min} us and {max} us");
    }
}

#[test]
fn a_growing_rtt_leads_to_a_reduction_without_loss() {
    let (mut rule, mut window) = rule(100, 50);
    assert_eq!(round_trip(&mut rule, &mut window, 1, 10_000, 1), 0, "one round trip has no gradient");
    assert_eq!(round_trip(&mut rule, &mut window, 2, 10_000, 1), 0, "the RTT has not grown");
    assert_eq!((window.cwnd_cnt, window.backs_off), (2, false));
    assert_eq!(round_trip(&mut rule, &mut window, 3, 11_000, 0), 1);
    assert_eq!((window.cwnd_cnt, window.backs_off), (3, false), "drawn, and not reduced");
    assert_eq!(round_trip(&mut rule, &mut window, 4, 12_000, 1), 1);
    assert_eq!((window.cwnd_cnt, window.backs_off), (3, true), "this ACK does not grow the window");
    assert_eq!(rule.ssthresh(&window, &Context::default()), 70, "100 * 724/1024");
    let ctx = Context { snd_nxt: 1 + 10 * MSS, ..Context::default() };
    rule.on_event(&mut window, CaEvent::CompleteCwr, &ctx);
    assert_eq!((rule.state.judgement, rule.state.end), (Judgement::Unknown, 1 + 10 * MSS));
}

#[test]
fn five_reductions_that_do_not_help_are_the_last() {
    let (mut rule, mut window) = rule(100, 50);
    let mut reduced = 0;
    for n in 1..20 {
        round_trip(&mut rule, &mut window, n, 10_000 + 1_000 * n, 1);
        reduced += u32::from(std::mem::take(&mut window.backs_off));
    }
    assert_eq!(reduced, 5);
}

#[test]
fn the_shadow_window_keeps_what_was_given_up() {
    let (mut rule, mut window) = rule(100, 50);
    (1..=3).for_each(|n| {
        round_trip(&mut rule, &mut window, n, 10_000 + 1_000 * n, 1);
    });
    assert_eq!(rule.state.shadow, 100);
    // Reduced to 70 without a loss; a loss then leaves 50, half of the shadow, not 35.
    window.cwnd = 70;
    rule.on_event(&mut window, CaEvent::CompleteCwr, &Context::default());
    assert_eq!(rule.ssthresh(&window, &Context::default()), 50);
    assert_eq!((rule.state.shadow, rule.ssthresh(&window, &Context::default())), (50, 35));
    rule.state.shadow = 100;
    rule.on_ack(&mut window, &AckSample { is_cwnd_limited: false, ..ack(9, 10_000).sample() });
    assert_eq!(rule.state.shadow, 70, "a window that is not the limit has nothing in its shadow");
}

#[test]
fn a_lone_segment_after_several_is_a_delayed_ack() {
    let (mut rule, mut window) = rule(100, 50);
    let several = AckArrival { acked: 2, ..ack(2, 10_000) };
    rule.on_arrival(&mut window, &several);
    rule.on_arrival(&mut window, &ack(3, 50_000));
    rule.on_arrival(&mut window, &ack(4, 12_000));
    assert_eq!(rule.state.now, Some(Extremes { min: 10_000, max: 12_000 }), "one was expected");
    rule.on_arrival(&mut window, &several);
    rule.on_arrival(&mut window, &AckArrival { sacked_out: 1, ..ack(5, 50_000) });
    assert_eq!(rule.state.now, Some(Extremes { min: 10_000, max: 50_000 }), "not while something is SACKed");
}

#[test]
fn slow_start_ends_by_a_long_train_or_a_longer_rtt() {
    // ACKs 100 us apart, an RTT of 1 ms: after half of it.
    let (mut rule, mut window) = rule(10, u32::MAX);
    rule.state.end = u64::MAX;
    (1..=6).for_each(|n| {
        round_trip(&mut rule, &mut window, n, 1_000, 0);
    });
    assert_eq!(window.ssthresh, u32::MAX);
    round_trip(&mut rule, &mut window, 7, 1_000, 0);
    assert_eq!(window.ssthresh, 16, "600 us");
    // Nine samples in a round trip with an eighth more than the smallest of all.
    let (mut rule, mut window) = self::rule(10, u32::MAX);
    (rule.state.end, rule.parameters.hystart_train, rule.state.min_rtt) = (u64::MAX, false, 1_000);
    (1..=8).for_each(|n| {
        round_trip(&mut rule, &mut window, n, 1_126, 0);
    });
    assert_eq!(window.ssthresh, u32::MAX);
    round_trip(&mut rule, &mut window, 9, 1_126, 0);
    assert_eq!(window.ssthresh, 18);
}

#[test]
fn the_ack_that_ends_slow_start_counts_only_if_the_window_was_full() {
    // What half of the window in use allows is slow start's: the train ends it with the seventh ACK, 600 us after the first.
    for (was_full, counted) in [(true, 1), (false, 0)] {
        let (mut rule, mut window) = rule(10, u32::MAX);
        rule.state.end = u64::MAX;
        window.was_full = was_full;
        (1..=7).for_each(|n| {
            round_trip(&mut rule, &mut window, n, 1_000, 0);
        });
        assert_eq!((window.ssthresh, window.cwnd, window.cwnd_cnt), (16, 16, counted));
    }
}

#[test]
fn the_tolerance_of_losses_knows_a_full_queue() {
    let sum = |min, max| judged(Extremes { min, max });
    assert_eq!(sum(32, 31), Some(Judgement::Full));
    assert_eq!((sum(32, 32), sum(0, -32)), (Some(Judgement::NotFull), Some(Judgement::NotFull)));
    assert_eq!((sum(31, 31), sum(-500, 100)), (None, None));
    let (mut rule, window) = rule(100, 50);
    rule.parameters.use_tolerance = true;
    rule.state.judgement = Judgement::NotFull;
    assert_eq!(rule.ssthresh(&window, &Context::default()), 100);
}

#[test]
fn idle_time_forgets_all() {
    let (mut rule, mut window) = rule(100, 50);
    (1..=3).for_each(|n| {
        round_trip(&mut rule, &mut window, n, 10_000 + 1_000 * n, 0);
    });
    rule.on_event(&mut window, CaEvent::WindowRestart, &Context { snd_nxt: 77, ..Context::default() });
    assert_eq!(
        (rule.state.before, rule.state.sum, rule.state.shadow, rule.state.end),
        (None, Extremes::default(), 100, 77)
    );
}

#[test]
fn parameters_default_to_those_of_linux_and_the_signs_of_hystart_are_bits() {
    let settings = |given: &[(&str, Value)]| Settings::new(PARAMETERS, given.iter().copied()).expect("declared");
    assert_eq!(format!("{:?}", Parameters::of(&settings(&[]))), format!("{DEFAULT:?}"));
    for (signs, train, delay) in [(0, false, false), (1, true, false), (2, false, true), (3, true, true)] {
        let parameters = Parameters::of(&settings(&[("hystart_detect", Value::Count(signs))]));
        assert_eq!((parameters.hystart_train, parameters.hystart_delay), (train, delay), "{signs}");
    }
}

#[test]
fn the_syn_is_the_first_sample_of_the_client() {
    let (mut rule, mut window) = (Cdg::new(1), Window::new(10, 9));
    for (syn_rtt, now) in
        [(None, None), (Some(Duration::ZERO), None), (Some(Duration::from_us(70)), Some(Extremes::one(70)))]
    {
        rule.init(&mut window, &Context { snd_nxt: 5, syn_rtt, ..Context::default() });
        assert_eq!((rule.state.now, rule.state.end, rule.state.shadow), (now, 5, 10));
    }
}

#[test]
fn only_the_tolerance_of_losses_keeps_the_window_where_the_queue_is_not_full() {
    for (use_tolerance, ssthresh) in [(true, 100), (false, 50)] {
        let (mut rule, window) = rule(100, 50);
        (rule.parameters.use_tolerance, rule.parameters.use_shadow) = (use_tolerance, false);
        rule.state.judgement = Judgement::NotFull;
        assert_eq!(rule.ssthresh(&window, &Context::default()), ssthresh);
    }
}

#[test]
fn without_a_limit_reductions_in_vain_go_on() {
    for (use_ineff, reductions) in [(0, 9), (5, 5), (1, 1)] {
        let (mut rule, mut window) = rule(100, 50);
        rule.parameters.use_ineff = use_ineff;
        rule.draws.follow(vec![1; 9]);
        assert_eq!((0..9).filter(|_| rule.backs_off(1_000, &mut window)).count(), reductions);
    }
}

#[test]
fn five_delayed_acks_at_most_are_expected() {
    let (mut rule, mut window) = rule(100, 50);
    (1..=9).for_each(|n| rule.on_arrival(&mut window, &AckArrival { acked: 2, ..ack(2 * n, 1_000) }));
    assert_eq!(rule.state.delayed, 5);
}

#[test]
fn slow_start_ends_where_the_rtt_is_more_than_an_eighth_above_the_smallest() {
    for (rtt_us, is_over) in [(9_000, false), (9_001, true)] {
        let (mut rule, mut window) = rule(100, u32::MAX);
        (rule.parameters.hystart_train, rule.state.min_rtt, rule.state.samples) = (false, 8_000, ENOUGH_SAMPLES);
        rule.state.now = Some(Extremes::one(rtt_us));
        rule.state.judge_slow_start(&rule.parameters, &mut window, &ack(1, 9_000).sample());
        assert_eq!(!window.in_slow_start(), is_over, "{rtt_us} us");
    }
}

#[test]
fn a_train_has_no_gap_of_three_ms_and_a_window_that_is_full() {
    // Half of the smallest RTT of 8 ms is over with the ACK at 105 ms, if that belongs to the train from 100 ms on.
    for (last_us, is_limited, is_long) in
        [(102_001, true, true), (102_000, true, false), (104_000, true, true), (104_000, false, false)]
    {
        let mut state = State { min_rtt: 8_000, train: Some((last_us, 100_000)), ..State::default() };
        let arrival = AckArrival { now: Instant::ZERO + Duration::from_us(105_000), ..ack(1, 8_000) };
        let ack = AckSample { is_cwnd_limited: is_limited, ..arrival.sample() };
        assert_eq!(state.is_train_long(&ack), is_long, "after one at {last_us} us, {is_limited}");
    }
}
