//! Queues that are served analytically do what all others do, with fewer events.

mod rig;

use daybreak_fabric::control::Action;
use daybreak_fabric::queue::Limits;
use daybreak_fabric::{Config, Ecn, ForkConfig, QueueConfig, RouteSwitchConfig, Step};
use daybreak_units::Duration;
use daybreak_units::parameters::Value;
use proptest::prelude::*;
use rig::{DropReason, Rig, link, of_packets, queue, us, with_discipline};

fn unobserved(queue: QueueConfig) -> QueueConfig {
    QueueConfig { observed: false, ..queue }
}

/// Four packets at once, two of which can wait.
fn burst(queue: QueueConfig, declared: &[Action]) -> Rig {
    let mut rig = Rig::new(&[link(10, 5)], &[queue]);
    rig.path(&[Step::Queue(0)]);
    rig.declare(declared);
    for _ in 0..4 {
        rig.send(us(0), 0, 1250);
    }
    rig
}

#[test]
fn an_analytic_queue_costs_one_event_a_packet() {
    let mut rig = burst(unobserved(of_packets(2, &[0])), &[]);
    rig.run_to_end();
    assert_eq!(rig.delivered, [(us(6), 0), (us(7), 1), (us(8), 2)]);
    assert_eq!(rig.dropped, [(us(0), DropReason::QueueFull, 0, 3)]);
    assert_eq!(rig.wakes, 3);
}

/// Bytes that wait are counted modulo 2^32, so more must not wait where a limit counts them.
#[test]
fn a_queue_for_more_than_4_gib_is_not_analytic() {
    let wakes = |bytes| {
        let mut rig = burst(unobserved(queue(Limits { packets: None, bytes }, &[0])), &[]);
        rig.run_to_end();
        assert_eq!(rig.delivered.len(), 4);
        rig.wakes
    };
    assert_eq!([None, Some((1 << 32) - 1), Some(1 << 32)].map(wakes), [4, 4, 7]);
}

/// Links in a row, each fed by the one before only, need one event in all.
#[test]
fn analytic_links_in_a_row_cost_one_event() {
    let config = |index| unobserved(queue(Limits::default(), &[index]));
    let mut rig = Rig::new(&[link(10, 5), link(10, 3), link(40, 1)], &[config(0), config(1), config(2)]);
    rig.path(&[Step::Queue(0), Step::Queue(1), Step::Queue(2)]);
    for _ in 0..3 {
        rig.send(us(0), 0, 1250);
    }
    rig.run_to_end();
    let first = us(11) + Duration::from_ns(250);
    assert_eq!(rig.delivered, [(first, 0), (first + Duration::from_us(1), 1), (first + Duration::from_us(2), 2)]);
    assert_eq!(rig.wakes, 3);
    assert!(rig.fabric().link_totals(us(99)).all(|link| (link.packets, link.arrived) == (3, 3)));
}

/// What is late keeps its order, so when it arrives is known when it comes.
#[test]
fn jitter_costs_no_event() {
    let run = |observed| {
        let mut jittered = link(10, 5);
        jittered.jitter = Duration::from_us(3);
        let mut rig = Rig::new(&[jittered], &[QueueConfig { observed, ..of_packets(2, &[0]) }]);
        rig.path(&[Step::Queue(0)]);
        for _ in 0..4 {
            rig.send(us(0), 0, 1250);
        }
        rig.run_to_end();
        assert_eq!(rig.dropped, [(us(0), DropReason::QueueFull, 0, 3)]);
        (rig.delivered, rig.wakes)
    };
    let ((delivered, wakes), (expected, more)) = (run(false), run(true));
    assert_eq!(delivered, expected);
    assert!(delivered.iter().zip([6, 7, 8]).all(|(&(at, _), least)| at > us(least) && at < us(least + 3)));
    assert_eq!((wakes, more), (3, 5));
}

/// Four packets at once, two of which can wait: when each leaves is said when it is sent.
#[test]
fn announced_packets_cost_no_event() {
    let run = |observed| {
        let mut rig = Rig::new(&[link(10, 5)], &[QueueConfig { observed, announced: true, ..of_packets(2, &[0]) }]);
        rig.path(&[Step::Queue(0)]);
        rig.announce = true;
        for _ in 0..4 {
            rig.send(us(0), 0, 1250);
            rig.note_departures();
        }
        for at in 1..9 {
            rig.run_until(us(at));
            rig.note_departures();
        }
        rig.leaves.sort();
        (rig.leaves, rig.wakes)
    };
    let left = vec![us(0), us(0), us(1), us(2)];
    assert_eq!((run(false), run(true)), ((left.clone(), 3), (left, 5)));
}

/// A queue that other packets come to as well, behind a route switch or another queue, is not for announced ones.
#[test]
fn a_queue_of_announced_packets_is_entered_first() {
    let wakes = |announced: bool, paths: Vec<Vec<Step>>| {
        let queues = [0, 1].map(|link| QueueConfig { announced, ..unobserved(of_packets(9, &[link])) });
        let route_switch = RouteSwitchConfig { alternatives: vec![1], initial: 0, hold_limit: None };
        let mut rig = Rig::of(Config {
            links: vec![link(10, 5), link(10, 5)],
            queues: queues.into(),
            route_switches: vec![route_switch],
            paths,
            ..Config::default()
        });
        (0..3).for_each(|_| rig.send(us(0), 0, 1250));
        rig.run_to_end();
        assert_eq!(rig.delivered.len(), 3);
        rig.wakes
    };
    let direct = || vec![vec![Step::Queue(0)], vec![Step::Queue(1)]];
    assert_eq!([wakes(false, direct()), wakes(true, direct())], [3, 3]);
    let behind = || vec![vec![Step::RouteSwitch(0)], vec![Step::Queue(1)]];
    assert_eq!([wakes(false, behind()), wakes(true, behind())], [3, 5]);
    let second = || vec![vec![Step::Queue(0), Step::Queue(1)], vec![Step::Queue(0)]];
    assert_eq!([wakes(false, second()), wakes(true, second())], [6, 8]);
}

/// Whatever can be changed about a queue, or may happen to it, it is then not served analytically: a second event is
/// needed for each packet that waits.
#[test]
fn what_can_change_is_not_analytic() {
    let hold = daybreak_fabric::circuit::Downtime::Hold;
    let changes = [
        Action::OpenGate { queue: 0, link: 0 },
        Action::CloseGate { queue: 0, link: 0, downtime: hold },
        Action::SetLimit { queue: 0, packets: None, bytes: None },
        Action::SetRate { link: 0, rate_bps: 10_000_000_000 },
        Action::SetParameter { queue: 0, parameter: "threshold".into(), value: Value::Packets(1) },
    ];
    for change in changes {
        let mut rig = burst(unobserved(of_packets(2, &[0])), std::slice::from_ref(&change));
        rig.run_to_end();
        assert_eq!(rig.wakes, 3 + 2, "{change:?}");
    }
    let returns = QueueConfig { returned_limit: Some(1), ..unobserved(of_packets(2, &[0])) };
    let draws = unobserved(with_discipline("red", &[], Limits { packets: Some(2), bytes: None }, &[0]));
    for queue in [returns, draws] {
        let mut rig = burst(queue.clone(), &[]);
        rig.run_to_end();
        assert_eq!(rig.wakes, 3 + 2, "{queue:?}");
    }
    let mut lossy = link(10, 5);
    lossy.loss_ppb = 1;
    let mut rig = Rig::new(&[lossy], &[unobserved(of_packets(2, &[0]))]);
    rig.path(&[Step::Queue(0)]);
    (0..2).for_each(|_| rig.send(us(0), 0, 1250));
    rig.run_to_end();
    assert_eq!(rig.wakes, 2 + 1);
    let mut rig = Rig::of(Config {
        links: vec![link(10, 5)],
        queues: vec![unobserved(of_packets(2, &[0]))],
        forks: vec![ForkConfig { queue: 0, tails: vec![(0, 0)], overflow: None }],
        paths: vec![vec![], vec![Step::Fork(0)]],
        ..Config::default()
    });
    (0..2).for_each(|_| rig.send(us(0), 1, 1250));
    rig.run_to_end();
    assert_eq!(rig.delivered, [(us(6), 0), (us(7), 1)]);
    assert_eq!(rig.wakes, 2 + 1);
}

#[test]
#[should_panic(expected = "SetRate { link: 0, rate_bps: 1000000 } is applied, but the fabric was not told")]
fn an_action_of_which_the_fabric_does_not_know_is_refused() {
    let mut rig = burst(unobserved(of_packets(2, &[0])), &[]);
    rig.apply(us(1), &Action::SetRate { link: 0, rate_bps: 1_000_000 });
}

#[test]
fn marks_are_settled_on_arrival() {
    let run = |observed| {
        let threshold = [("threshold", Value::Packets(1))];
        let queue = with_discipline("ecn_threshold", &threshold, Limits { packets: Some(4), bytes: None }, &[0]);
        let mut rig = Rig::new(&[link(10, 5)], &[QueueConfig { observed, ..queue }]);
        rig.path(&[Step::Queue(0)]);
        for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::Ect0, Ecn::Ect1, Ecn::NotEct, Ecn::Ect0] {
            rig.ecn = ecn;
            rig.send(us(0), 0, 1250);
        }
        rig.run_to_end();
        let totals: Vec<_> = rig.fabric().queue_totals().collect();
        (rig.deliveries.iter().map(|packet| packet.ecn).collect::<Vec<_>>(), totals[0].marked, totals[0].dropped)
    };
    // The first is sent at once; then 0, 1, 2 and 3 wait, and the last does not fit.
    assert_eq!(run(true), (vec![Ecn::Ect0, Ecn::Ect1, Ecn::Ect0, Ecn::Ce, Ecn::NotEct], 1, 1));
    assert_eq!(run(false), run(true));
}

proptest! {
    /// Observing a queue changes nothing.
    #[test]
    fn observed_or_not_the_outcome_is_the_same(
        packets in prop::collection::vec((0u64..3_000, 0u32..3, 40u32..9_000, 0u8..3), 1..300),
        paths in 1u32..4,
        limit_packets in prop::option::of(0u64..8),
        limit_bytes in prop::option::of(0u64..30_000),
        threshold in prop::option::of((any::<bool>(), 1u64..6, any::<bool>())),
        jitters in prop::array::uniform5(prop_oneof![Just(0u64), 0u64..8_000]),
    ) {
        let limits = Limits { packets: limit_packets, bytes: limit_bytes };
        let run = |observed: [bool; 5], metered: [bool; 5]| {
            let of_kind = |limits, link| match threshold {
                None => rig::queue(limits, &[link]),
                Some((in_bytes, most, count)) => {
                    let most = if in_bytes { Value::Bytes(4_000 * most) } else { Value::Packets(most) };
                    let given = [("threshold", most), ("count_arrival", Value::Switch(count))];
                    with_discipline("ecn_threshold", &given, limits, &[link])
                }
            };
            let config = |queue: usize, limits| QueueConfig {
                observed: observed[queue],
                metered: metered[queue],
                announced: queue < 2,
                ..of_kind(limits, queue as u32)
            };
            // The last two are fed by one queue each and drop nothing.
            let roomy = |queue: usize| config(queue, Limits::default());
            let queues = [config(0, limits), config(1, limits), config(2, limits), roomy(3), roomy(4)];
            let mut links = [link(40, 2), link(40, 2), link(10, 7), link(10, 1), link(40, 3)];
            for (index, (link, jitter)) in links.iter_mut().zip(jitters).enumerate() {
                (link.jitter, link.stream) = (Duration::from_ns(jitter), format!("link/{index}"));
            }
            let mut rig = Rig::new(&links, &queues);
            rig.path(&[Step::Queue(0), Step::Queue(2), Step::Queue(3), Step::Queue(4)]);
            rig.path(&[Step::Queue(1), Step::Queue(2), Step::Queue(4)]);
            rig.path(&[Step::Queue(1), Step::Queue(2), Step::Queue(3)]);
            rig.announce = true;
            let mut now = us(0);
            for &(gap, path, bytes, ecn) in &packets {
                now += Duration::from_ns(gap);
                rig.ecn = Ecn::from_bits(ecn);
                rig.send(now, path % paths, bytes);
                rig.check_conservation();
            }
            let totals: Vec<_> =
                rig.fabric().link_totals(now).map(|link| (link.packets, link.bytes, link.arrived)).collect();
            let crossings = rig.crossings();
            rig.run_to_end();
            let queues: Vec<_> = rig.fabric().queue_totals().collect();
            (crossings, (rig.deliveries, rig.dropped, totals, queues))
        };
        let (crossings, outcome) = run([true; 5], [false; 5]);
        prop_assert_eq!(&run([false; 5], [false; 5]).1, &outcome);
        prop_assert_eq!(&run([false, true, false, true, false], [false; 5]).1, &outcome);
        prop_assert_eq!(run([false; 5], [true; 5]), (crossings.clone(), outcome.clone()));
        let in_part = run([false, true, false, false, true], [true, false, true, true, false]);
        prop_assert_eq!(in_part, (crossings, outcome));
    }
}
