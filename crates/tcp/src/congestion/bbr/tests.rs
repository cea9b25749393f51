use super::super::{AckArrival, RateSample};
use super::*;

const MSS: u32 = 1_000;

/// A path of `per_round` segments a round of 10 ms, acknowledged once a round.
struct Rounds {
    rule: Bbr,
    window: Window,
    ack: AckSample,
    rtt: Option<Duration>,
}

impl Rounds {
    fn new() -> Self {
        Self::with_jiffy(Duration::from_ms(1))
    }

    fn with_jiffy(jiffy: Duration) -> Self {
        Self::with(jiffy, OlderRules::default())
    }

    fn with(jiffy: Duration, older: OlderRules) -> Self {
        let mut rule = Bbr::new(1);
        let mut window = Window { older, ..Window::new(10, u32::MAX) };
        rule.init(&mut window, &Context { srtt: Duration::from_ms(10), mss: MSS, jiffy, ..Context::default() });
        let ack = AckSample {
            arrival: AckArrival { mss: MSS, ..AckArrival::default() },
            srtt: Duration::from_ms(10),
            ..AckSample::default()
        };
        Self { rule, window, ack, rtt: Some(Duration::from_ms(10)) }
    }

    /// One round that delivers `segments` and finds `lost` more lost.
    fn round(&mut self, segments: u32, lost: u32, state: CaState, in_flight: u32) {
        self.ack(self.ack.delivered, segments, lost, state, in_flight);
    }

    /// An ACK whose newest segment was sent when `prior_delivered` segments had been delivered.
    fn ack(&mut self, prior_delivered: u64, segments: u32, lost: u32, state: CaState, in_flight: u32) {
        let interval = Duration::from_ms(10);
        self.ack = AckSample {
            arrival: AckArrival { now: self.ack.arrival.now + interval, rtt: self.rtt, ..self.ack.arrival },
            newly_delivered: segments,
            newly_lost: lost,
            delivered: self.ack.delivered + u64::from(segments),
            lost: self.ack.lost + u64::from(lost),
            in_flight,
            prior_in_flight: in_flight,
            rate: RateSample { delivered: Some(segments), interval, prior_delivered, ..RateSample::default() },
            state,
            ..self.ack
        };
        self.rule.control(&mut self.window, &self.ack);
    }

    fn ms(&self) -> u64 {
        self.ack.arrival.now.as_us() / 1_000
    }
}

#[test]
fn gains_are_those_of_the_draft() {
    assert!((HIGH_GAIN as f64 / 256.0 - 2.0 / 2f64.ln()).abs() < 0.003, "2/ln 2");
    assert!((DRAIN_GAIN as f64 / 256.0 - 2f64.ln() / 2.0).abs() < 0.003, "ln 2 / 2");
    assert_eq!(CYCLE.iter().sum::<u64>(), 8 * UNIT_GAIN, "a cycle neither builds nor drains a queue");
}

#[test]
fn the_first_pacing_rate_is_the_window_over_the_rtt() {
    // 10 segments of 1000 bytes in 10 ms are 1 MB/s; times 739/256, less 1 %.
    let rate = Rounds::new().window.pacing_rate.as_bytes_per_sec();
    assert!((rate as f64 / (1e6 * 739.0 / 256.0 * 0.99) - 1.0).abs() < 1e-4, "{rate}");
}

#[test]
fn three_rounds_without_a_quarter_more_fill_the_pipe() {
    let mut path = Rounds::new();
    for segments in [10, 20, 40, 80, 99, 99] {
        path.round(segments, 0, CaState::Open, 200);
        assert_eq!((path.rule.mode, path.rule.pacing_gain), (Mode::Startup, HIGH_GAIN), "{segments}");
    }
    // 99 is less than 5/4 of 80: the third such round ends STARTUP; 200 in flight are to be drained.
    path.round(99, 0, CaState::Open, 200);
    assert_eq!((path.rule.mode, path.rule.pacing_gain), (Mode::Drain, DRAIN_GAIN));
    // The product is 99 segments; at 28.3 MB/s a burst has 27, and three of them make 180.
    assert_eq!(path.window.ssthresh, 180);
    // Draining at 3.4 MB/s bursts have 3: 99 + 9, even.
    path.round(99, 0, CaState::Open, 109);
    assert_eq!(path.rule.mode, Mode::Drain);
    path.round(99, 0, CaState::Open, 108);
    assert_eq!(path.rule.mode, Mode::ProbeBw);
    assert!(path.rule.phase != 1, "never begins by draining");
}

/// A rule in PROBE_BW with a product of 100 segments.
fn probing() -> Rounds {
    probing_as(OlderRules::default())
}

fn probing_as(older: OlderRules) -> Rounds {
    let mut path = Rounds::with(Duration::from_ms(1), older);
    for segments in [10, 20, 40, 80, 100, 100, 100, 100, 100] {
        path.round(segments, 0, CaState::Open, 50);
    }
    assert_eq!(path.rule.mode, Mode::ProbeBw);
    path
}

#[test]
fn packets_are_conserved_for_a_round_of_recovery_and_the_window_comes_back() {
    let mut path = probing();
    let before = path.window.cwnd;
    assert_eq!(path.rule.ssthresh(&path.window.clone(), &Context::default()), path.window.ssthresh);
    path.round(20, 5, CaState::Recovery, 60);
    assert_eq!(path.window.cwnd, 80, "in flight and what was just delivered");
    path.ack(0, 10, 0, CaState::Recovery, 70);
    assert_eq!(path.window.cwnd, 80, "sent before the recovery: as many out as in, not more");
    path.ack(0, 10, 4, CaState::Recovery, 62);
    assert_eq!(path.window.cwnd, 76, "lost segments are taken off");
    path.round(10, 0, CaState::Recovery, 70);
    assert_eq!(path.window.cwnd, 86, "a round later growth is free again");
    path.ack(0, 10, 0, CaState::Open, 70);
    assert!(path.window.cwnd > 200, "back towards {before}, as far as the target allows");
}

/// What a timeout is told, with `lost` segments lost so far.
fn times_out(path: &mut Rounds, lost: u64) {
    let ctx = Context { delivered: path.ack.delivered, lost, ..Context::default() };
    path.rule.on_state(&mut path.window, CaState::Loss, &ctx);
}

#[test]
fn a_timeout_counts_the_rounds_of_startup_anew() {
    // bbr_set_state() forgets the bandwidth that the pipe may have: the next round has grown, whatever it delivers.
    let mut path = Rounds::new();
    for segments in [10, 20, 40, 80, 99, 99] {
        path.round(segments, 0, CaState::Open, 200);
    }
    times_out(&mut path, 0);
    for _ in 0..3 {
        path.round(99, 0, CaState::Loss, 200);
        assert_eq!(path.rule.mode, Mode::Startup);
    }
    path.round(99, 0, CaState::Loss, 200);
    assert_eq!(path.rule.mode, Mode::Drain);
}

#[test]
fn a_timeout_that_is_undone_before_an_ack_gives_the_window_back() {
    let mut path = probing();
    let before = path.window.cwnd;
    path.rule.ssthresh(&path.window.clone(), &Context::default());
    times_out(&mut path, 0);
    path.window.cwnd = 1;
    path.ack(0, 10, 0, CaState::Open, 70);
    assert_eq!(path.window.cwnd, before);
}

#[test]
fn timeouts_show_a_policer() {
    let mut path = probing();
    times_out(&mut path, 0);
    // Two intervals with a loss at their ends, of three rounds of 20 segments for 10 ms each, half as many lost.
    for lost in [30, 60] {
        for _ in 0..3 {
            assert_eq!(path.rule.policer.bandwidth_in_use(), None);
            path.round(20, 0, CaState::Loss, 20);
        }
        times_out(&mut path, lost);
    }
    assert_eq!(path.rule.policer.bandwidth_in_use(), Some(Bandwidth::of(60, 30_000)));
}

#[test]
fn probe_rtt_after_ten_seconds_for_two_hundred_ms() {
    let mut path = probing();
    // The RTT rises by a tenth: its minimum, taken with the first ACK at 10 ms, is not seen again.
    path.rtt = Some(Duration::from_ms(11));
    let mut small = Vec::new();
    while path.ms() < 12_000 {
        let in_flight = path.window.cwnd.min(100);
        path.round(in_flight, 0, CaState::Open, in_flight);
        if path.rule.mode == Mode::ProbeRtt {
            assert_eq!(path.window.cwnd, MIN_CWND);
            small.push(path.ms());
        }
    }
    // The first ACK more than ten seconds later; the window is small with the next; 200 ms from then.
    assert_eq!((small[0], small[small.len() - 1]), (10_020, 10_230));
    assert_eq!(small.len(), 22, "one stretch");
    assert!(path.window.cwnd > 200, "the window came back");
    assert_eq!(path.rule.min_rtt_us, Some(11_000), "the expired minimum gave way");
}

#[test]
fn ten_seconds_without_a_smaller_rtt_count_from_the_end_of_probe_rtt() {
    let mut path = probing();
    let (mut begun, mut ended) = (Vec::new(), Vec::new());
    while begun.len() < 3 {
        let before = path.rule.mode;
        path.round(100, 0, CaState::Open, 3);
        match (before, path.rule.mode) {
            (Mode::ProbeBw, Mode::ProbeRtt) => begun.push(path.ms()),
            (Mode::ProbeRtt, Mode::ProbeBw) => ended.push(path.ms()),
            _ => {}
        }
    }
    // The RTT of 10 ms was first seen at 10 ms, and never a smaller one. PROBE_RTT ends with the first ACK after 200
    // ms, and the next begins with the first that comes more than ten seconds after that.
    assert_eq!((begun[0], ended[0]), (10_020, 10_230));
    assert_eq!((begun[1], begun[2]), (ended[0] + 10_010, ended[1] + 10_010));
}

#[test]
fn the_window_may_grow_by_what_is_acknowledged() {
    let mut path = probing();
    path.window.cwnd = 50;
    path.round(100, 0, CaState::Open, 50);
    assert_eq!(path.window.cwnd, 150);
    path.round(100, 0, CaState::Open, 50);
    // Twice the product, bursts, surplus ACKs (a whole round's 100, bunched): 200 + 100 + 6.
    let probe = if path.rule.phase == 0 { 2 } else { 0 };
    assert_eq!(path.window.cwnd, (150 + 100).min(306 + probe));
}

#[test]
fn older_windows_have_no_surplus_and_two_segments_more_in_all_phases() {
    let window = |older| {
        let mut path = probing_as(older);
        path.rule.phase = 3;
        for _ in 0..3 {
            path.round(100, 0, CaState::Open, 250);
        }
        assert_eq!((path.rule.pacing_gain, path.rule.burst()), (UNIT_GAIN, 9));
        path.window.cwnd
    };
    assert_eq!(window(OlderRules::default()), 328, "twice the product, a round's surplus of 100, and bursts: 27, even");
    assert_eq!(window(OlderRules::NO_ACK_AGGREGATION), 228);
    assert_eq!(window(OlderRules::WIDE_PROBES), 330);
}

#[test]
fn older_phases_that_probe_need_two_segments_more_in_flight_and_those_that_drain_none() {
    // The product is 100 segments, and bursts have 12.
    let limits = |older, phase| {
        let mut path = probing_as(older);
        path.rule.pacing_rate = 12_500_000;
        path.rule.phase = phase;
        [UNIT_GAIN, CYCLE[0]].map(|gain| path.rule.window_for(path.rule.max_bandwidth.max(), gain))
    };
    let (usual, older) = (OlderRules::default(), OlderRules::WIDE_PROBES);
    assert_eq!((limits(usual, 0), limits(usual, 1)), ([138, 164], [136, 162]), "by the phase");
    assert_eq!((limits(older, 0), limits(older, 1)), ([136, 164], [136, 164]), "by the gain");
}

#[test]
fn older_pacing_is_at_the_whole_bandwidth_and_looks_at_no_departure() {
    for (older, rate, in_network) in
        [(OlderRules::default(), 9_900_000, 50), (OlderRules::TIMER_PACING, 10_000_000, 100)]
    {
        let mut path = probing_as(older);
        path.rule.pacing_gain = UNIT_GAIN;
        path.rule.set_pacing_rate(&mut path.window, Duration::from_ms(10), path.rule.bandwidth(), UNIT_GAIN);
        let paced = path.window.pacing_rate.as_bytes_per_sec();
        assert!(paced.abs_diff(rate) < 100, "100 segments of 1000 bytes in 10 ms, less 1 %: {paced}");
        // What the bandwidth delivers in the 5 ms before the next segment may leave.
        path.ack.earliest_departure = path.ack.arrival.now + Duration::from_ms(5);
        assert!(path.rule.in_network(&path.ack, 100).abs_diff(in_network) <= 1);
    }
}

#[test]
fn only_a_restart_from_application_idle_time_may_end_probe_rtt() {
    let mut path = probing();
    path.rtt = Some(Duration::from_ms(11));
    while path.rule.mode != Mode::ProbeRtt {
        path.round(100, 0, CaState::Open, 3);
    }
    let small = path.window.cwnd;
    let start = CaEvent::TxStart { idle: Duration::from_ms(300) };
    let restart = |path: &mut Rounds, after_ms, is_app_limited| {
        let now = path.ack.arrival.now + Duration::from_ms(after_ms);
        path.rule.on_event(&mut path.window, start, &Context { now, is_app_limited, ..Context::default() });
        (path.rule.mode, path.window.cwnd)
    };
    assert_eq!(restart(&mut path, 300, false), (Mode::ProbeRtt, small), "the window was full: not idle");
    // The 200 ms began with the ACK above and end after their last jiffy.
    assert_eq!(restart(&mut path, 200, true), (Mode::ProbeRtt, small));
    let (mode, cwnd) = restart(&mut path, 201, true);
    assert_eq!((mode, small), (Mode::ProbeBw, MIN_CWND));
    assert!(cwnd > 100, "the window before is restored: {cwnd}");
}

#[test]
fn probe_rtt_counts_in_the_jiffies_of_the_host() {
    // 200 ms are twenty jiffies of 10 ms, and the last of them must be over.
    let mut path = Rounds::with_jiffy(Duration::from_ms(10));
    path.rtt = Some(Duration::from_ms(11));
    while path.rule.mode != Mode::ProbeRtt {
        path.round(10, 0, CaState::Open, 3);
    }
    for (after_ms, mode) in [(209, Mode::ProbeRtt), (210, Mode::Startup)] {
        let now = path.ack.arrival.now + Duration::from_ms(after_ms);
        let ctx = Context { now, is_app_limited: true, ..Context::default() };
        path.rule.is_full = false;
        path.rule.on_event(&mut path.window, CaEvent::TxStart { idle: Duration::from_ms(300) }, &ctx);
        assert_eq!(path.rule.mode, mode, "{after_ms} ms");
    }
}

#[test]
fn an_ack_that_delivers_nothing_is_no_delivery() {
    let mut path = probing();
    let before = (path.rule.delivered_us, path.rule.max_bandwidth.max(), path.rule.rounds);
    path.ack.newly_delivered = 0;
    path.ack.arrival.now += Duration::from_ms(10);
    // tcp_rate_gen() leaves an interval of zero where it has no sample.
    path.ack.rate = RateSample { delivered: Some(0), interval: Duration::ZERO, ..path.ack.rate };
    path.rule.control(&mut path.window, &path.ack);
    assert_eq!((path.rule.delivered_us, path.rule.max_bandwidth.max(), path.rule.rounds), before);
}

#[test]
fn undo_leaves_the_window_to_the_end_of_recovery() {
    // bbr_undo_cwnd() returns the present window; the saved one comes back with the next ACK.
    let mut path = probing();
    path.window.cwnd = 77;
    assert_eq!(path.rule.undo_cwnd(&path.window), 77);
}

#[test]
fn a_policers_rate_is_used_for_48_rounds_and_a_timeout_ends_one() {
    let mut path = probing();
    times_out(&mut path, 0);
    for lost in [30, 60] {
        (0..3).for_each(|_| path.round(20, 0, CaState::Loss, 20));
        times_out(&mut path, lost);
    }
    (0..47).for_each(|_| times_out(&mut path, 60));
    assert!(path.rule.policer.bandwidth_in_use().is_some());
    times_out(&mut path, 60);
    assert_eq!(path.rule.policer.bandwidth_in_use(), None);
}

#[test]
fn probing_for_bandwidth_ends_with_a_loss_or_a_full_pipe_but_lasts_for_the_smallest_rtt() {
    for (after_ms, lost, in_flight, phase) in
        [(11, 0, 50, 0), (11, 1, 50, 1), (11, 0, 300, 1), (10, 1, 300, 0), (9, 1, 300, 0)]
    {
        let mut path = probing();
        (path.rule.phase, path.rule.pacing_gain) = (0, CYCLE[0]);
        path.rule.phase_us = path.rule.delivered_us;
        path.rule.delivered_us += after_ms * 1_000;
        path.ack = AckSample { newly_lost: lost, prior_in_flight: in_flight, ..path.ack };
        path.rule.cycle(&path.ack);
        assert_eq!(path.rule.phase, phase, "{after_ms} ms, {lost} lost, {in_flight} in flight");
    }
}

#[test]
fn bursts_have_two_segments_from_1_2_mbit_on() {
    for (rate, segments) in [(149_999, 1), (150_000, 2), (150_001, 2)] {
        assert_eq!(Bbr { pacing_rate: rate, ..Bbr::new(1) }.min_tso_segments(), segments, "{rate} bytes a second");
    }
}

#[test]
fn what_probe_rtt_holds_back_is_no_limit_of_the_path() {
    let mut path = probing();
    assert!(!path.rule.marks_app_limited());
    path.rtt = Some(Duration::from_ms(11));
    while path.rule.mode != Mode::ProbeRtt {
        path.round(100, 0, CaState::Open, 3);
    }
    assert!(path.rule.marks_app_limited());
}

#[test]
fn a_restart_lasts_until_something_of_it_is_delivered() {
    for (delivered, lasts) in [(None, true), (Some(0), true), (Some(1), false)] {
        let mut path = probing();
        path.rule.is_idle_restart = true;
        path.ack.rate.delivered = delivered;
        path.rule.learn_rtt(&mut path.window, &path.ack);
        assert_eq!(path.rule.is_idle_restart, lasts, "{delivered:?}");
    }
}

#[test]
fn the_first_rtt_makes_a_pacing_rate_of_the_window() {
    // bbr_init_pacing_rate_from_rtt() takes 1 ms where there is none.
    let mut rule = Bbr::new(1);
    let mut window = Window::new(10, u32::MAX);
    rule.init(&mut window, &Context { mss: MSS, ..Context::default() });
    let of_1_ms = rule.pacing_rate;
    rule.set_pacing_rate(&mut window, Duration::ZERO, Bandwidth::default(), HIGH_GAIN);
    assert_eq!((rule.has_seen_rtt, rule.pacing_rate), (false, of_1_ms));
    rule.set_pacing_rate(&mut window, Duration::from_ms(10), Bandwidth::default(), HIGH_GAIN);
    assert!(rule.has_seen_rtt && rule.pacing_rate.abs_diff(of_1_ms / 10) < 1_000, "{of_1_ms}: {}", rule.pacing_rate);
}

#[test]
fn the_window_is_set_by_acks_that_deliver() {
    let mut path = probing();
    path.window.cwnd = 77;
    for (newly_delivered, cwnd) in [(0, 77), (1, 73)] {
        path.ack = AckSample { newly_delivered, newly_lost: 5, ..path.ack };
        path.rule.set_cwnd(&mut path.window, &path.ack, path.rule.bandwidth());
        assert_eq!(path.window.cwnd, cwnd, "five lost, {newly_delivered} delivered");
    }
}

#[test]
fn a_window_in_recovery_or_probe_rtt_is_not_known_to_be_good() {
    // bbr_save_cwnd(): the larger one counts then.
    for (prior_state, mode, cwnd, saved) in [
        (CaState::Open, Mode::ProbeBw, 50, 50),
        (CaState::Cwr, Mode::ProbeBw, 50, 50),
        (CaState::Recovery, Mode::ProbeBw, 50, 100),
        (CaState::Loss, Mode::ProbeBw, 50, 100),
        (CaState::Loss, Mode::ProbeBw, 150, 150),
        (CaState::Open, Mode::ProbeRtt, 50, 100),
    ] {
        let mut rule = Bbr { prior_state, mode, prior_cwnd: 100, ..Bbr::new(1) };
        rule.save_cwnd(&Window::new(cwnd, u32::MAX));
        assert_eq!(rule.prior_cwnd, saved, "{prior_state:?}, {mode:?}");
    }
}

#[test]
fn a_policers_rate_is_used_for_48_rounds_of_acks() {
    let mut path = probing();
    times_out(&mut path, 0);
    for lost in [30, 60] {
        (0..3).for_each(|_| path.round(20, 0, CaState::Loss, 20));
        times_out(&mut path, lost);
    }
    for _ in 0..47 {
        path.round(20, 0, CaState::Open, 20);
        assert!(path.rule.policer.bandwidth_in_use().is_some());
    }
    path.round(20, 0, CaState::Open, 20);
    assert_eq!(path.rule.policer.bandwidth_in_use(), None);
}
