//! The fabric moves packets: times, limits, gates, branches and the policies of the night.

mod rig;

use daybreak_fabric::circuit::Downtime;
use daybreak_fabric::control::{Action, Counters};
use daybreak_fabric::queue::Limits;
use daybreak_fabric::{Config, Identity, Impairment, LinkConfig, RouteSwitchConfig, Step};
use daybreak_units::{Duration, Rate};
use rig::{DropReason, Rig, link, queue, us};

/// One link of 10 Gbit/s and 5 us behind a queue of two packets. 1250 bytes take 1 us.
fn single() -> Rig {
    let limits = Limits { packets: Some(2), bytes: None };
    let mut rig = Rig::new(&[link(10, 5)], &[queue(limits, &[0])]);
    rig.path(&[Step::Queue(0)]);
    rig.declare(&[OPEN]);
    rig
}

#[test]
fn a_packet_takes_serialisation_and_delay() {
    let mut rig = single();
    rig.send(us(3), 0, 1250);
    rig.run_to_end();
    assert_eq!(rig.delivered, [(us(3 + 1 + 5), 0)]);
    assert_eq!(rig.wakes, 1, "an idle hop costs one event");
}

#[test]
fn waiting_packets_follow_back_to_back_and_the_rest_is_lost() {
    let mut rig = single();
    for _ in 0..4 {
        rig.send(us(0), 0, 1250);
    }
    rig.run_to_end();
    assert_eq!(rig.delivered, [(us(6), 0), (us(7), 1), (us(8), 2)]);
    assert_eq!(rig.dropped, [(us(0), DropReason::QueueFull, 0, 3)]);
    assert_eq!(rig.wakes, 3 + 2, "a hop with a queue costs two events");
}

#[test]
fn a_byte_limit_counts_only_what_waits() {
    let limits = Limits { packets: None, bytes: Some(2_000) };
    let mut rig = Rig::new(&[link(10, 5)], &[queue(limits, &[0])]);
    rig.path(&[Step::Queue(0)]);
    for _ in 0..3 {
        rig.send(us(0), 0, 1250);
    }
    rig.run_to_end();
    assert_eq!(rig.delivered.len(), 2);
    assert_eq!(rig.dropped.len(), 1);
}

#[test]
fn framing_takes_time_on_the_wire() {
    let mut config = link(10, 5);
    config.framing_bytes = 125;
    let mut rig = Rig::new(&[config], &[queue(Limits::default(), &[0])]);
    rig.path(&[Step::Queue(0)]);
    rig.send(us(0), 0, 1125);
    rig.run_to_end();
    assert_eq!(rig.delivered, [(us(6), 0)]);
}

#[test]
fn an_announced_packet_tells_when_it_leaves_its_first_queue() {
    let mut rig = single();
    rig.announce = true;
    rig.send(us(0), 0, 1250);
    assert_eq!(rig.departures(), 1);
    rig.send(us(0), 0, 1250);
    rig.send(us(0), 0, 1250);
    assert_eq!(rig.departures(), 0);
    rig.send(us(0), 0, 1250);
    assert_eq!(rig.departures(), 1, "a packet that is lost in its first queue leaves it too");
    rig.run_until(us(1));
    assert_eq!(rig.departures(), 1);
    rig.run_to_end();
    assert_eq!(rig.departures(), 1);
}

#[test]
fn a_queue_is_served_by_two_links_at_once() {
    let mut rig = Rig::new(&[link(10, 5), link(10, 1)], &[queue(Limits::default(), &[0, 1])]);
    rig.path(&[Step::Queue(0)]);
    for _ in 0..4 {
        rig.send(us(0), 0, 1250);
    }
    rig.run_to_end();
    assert_eq!(rig.delivered, [(us(2), 1), (us(3), 3), (us(6), 0), (us(7), 2)]);
}

#[test]
fn a_link_serves_several_queues_in_turn() {
    let queues = [queue(Limits::default(), &[0]), queue(Limits::default(), &[0])];
    let mut rig = Rig::new(&[link(10, 5)], &queues);
    let first = rig.path(&[Step::Queue(0)]);
    let second = rig.path(&[Step::Queue(1)]);
    for path in [first, first, first, second, second] {
        rig.send(us(0), path, 1250);
    }
    rig.run_to_end();
    let order: Vec<u64> = rig.delivered.iter().map(|&(_, number)| number).collect();
    assert_eq!(order, [0, 1, 3, 2, 4]);
}

fn close(downtime: Downtime) -> Action {
    Action::CloseGate { queue: 0, link: 0, downtime }
}

const OPEN: Action = Action::OpenGate { queue: 0, link: 0 };

/// Three packets at 0, the gate closes at 0.5 us, one more at 2 us, the gate opens at 100 us.
fn night_at_a_gate(downtime: Downtime) -> Rig {
    let mut rig = Rig::new(&[link(10, 5)], &[queue(Limits::default(), &[0])]);
    rig.path(&[Step::Queue(0)]);
    rig.declare(&[OPEN]);
    for _ in 0..3 {
        rig.send(us(0), 0, 1250);
    }
    rig.apply(us(0) + Duration::from_ns(500), &close(downtime));
    rig.send(us(2), 0, 1250);
    rig.apply(us(100), &OPEN);
    rig.run_to_end();
    rig
}

#[test]
fn a_gate_that_holds_keeps_its_packets() {
    let rig = night_at_a_gate(Downtime::Hold);
    assert_eq!(rig.delivered, [(us(6), 0), (us(106), 1), (us(107), 2), (us(108), 3)]);
}

#[test]
fn a_gate_that_drops_empties_its_queue() {
    let rig = night_at_a_gate(Downtime::Drop);
    assert_eq!(rig.delivered, [(us(6), 0)], "the packet on the wire still arrives");
    let lost: Vec<u64> = rig.dropped.iter().map(|drop| drop.3).collect();
    assert_eq!(lost, [1, 2, 3]);
    assert!(rig.dropped.iter().all(|drop| drop.1 == DropReason::GateClosed));
}

#[test]
fn a_gate_that_drains_sends_what_was_queued_before() {
    let rig = night_at_a_gate(Downtime::Drain);
    assert_eq!(rig.delivered, [(us(6), 0), (us(7), 1), (us(8), 2), (us(106), 3)]);
}

#[test]
fn a_gate_that_makes_before_it_breaks_serves_until_another_opens() {
    let mut rig = Rig::new(&[link(10, 5), link(10, 1)], &[queue(Limits::default(), &[0, 1])]);
    rig.path(&[Step::Queue(0)]);
    rig.declare(&[OPEN, Action::OpenGate { queue: 0, link: 1 }]);
    rig.apply(us(0), &Action::CloseGate { queue: 0, link: 1, downtime: Downtime::Hold });
    rig.send(us(0), 0, 1250);
    rig.apply(us(10), &Action::CloseGate { queue: 0, link: 0, downtime: Downtime::MakeBeforeBreak });
    rig.send(us(20), 0, 1250);
    rig.apply(us(30), &Action::OpenGate { queue: 0, link: 1 });
    rig.send(us(40), 0, 1250);
    rig.run_to_end();
    assert_eq!(rig.delivered, [(us(6), 0), (us(26), 1), (us(42), 2)]);
}

#[test]
fn an_idle_link_starts_when_its_gate_opens() {
    let mut rig = single();
    rig.apply(us(0), &close(Downtime::Hold));
    rig.send(us(1), 0, 1250);
    rig.apply(us(50), &OPEN);
    rig.run_to_end();
    assert_eq!(rig.delivered, [(us(56), 0)]);
}

/// A route switch between a 5 us and a 1 us link: dark at 10 us, the fast link at 100 us.
fn night_at_a_route_switch(downtime: Downtime, hold_limit: Option<u64>) -> Rig {
    let mut rig = Rig::of(Config {
        links: vec![link(10, 5), link(10, 1)],
        queues: vec![queue(Limits::default(), &[0]), queue(Limits::default(), &[1])],
        route_switches: vec![RouteSwitchConfig { alternatives: vec![0, 1], initial: 0, hold_limit }],
        paths: vec![vec![Step::Queue(0)], vec![Step::Queue(1)]],
        ..Config::default()
    });
    let path = rig.path(&[Step::RouteSwitch(0)]);
    let darken = Action::Darken { route_switch: 0, downtime };
    rig.declare(std::slice::from_ref(&darken));
    rig.send(us(0), path, 1250);
    rig.apply(us(10), &darken);
    rig.send(us(20), path, 1250);
    rig.send(us(30), path, 1250);
    rig.apply(us(100), &Action::SetRoute { route_switch: 0, alternative: 1 });
    rig.send(us(200), path, 1250);
    rig.run_to_end();
    rig
}

#[test]
fn a_dark_route_switch_treats_arrivals_as_its_policy_says() {
    for downtime in [Downtime::Hold, Downtime::Drain] {
        let rig = night_at_a_route_switch(downtime, None);
        assert_eq!(rig.delivered, [(us(6), 0), (us(102), 1), (us(103), 2), (us(202), 3)]);
    }
    let rig = night_at_a_route_switch(Downtime::Hold, Some(1));
    assert_eq!(rig.dropped, [(us(30), DropReason::HoldFull, 0, 2)]);
    let rig = night_at_a_route_switch(Downtime::Drop, None);
    assert_eq!(rig.delivered, [(us(6), 0), (us(202), 3)]);
    assert_eq!(rig.dropped, [(us(20), DropReason::Night, 0, 1), (us(30), DropReason::Night, 0, 2)]);
    let rig = night_at_a_route_switch(Downtime::MakeBeforeBreak, None);
    assert_eq!(rig.delivered, [(us(6), 0), (us(26), 1), (us(36), 2), (us(202), 3)]);
}

/// A rule's counter has what has passed it: what was held when it goes on, and nothing that was lost.
#[test]
fn a_route_switch_counts_what_passes_it() {
    let night = [(Downtime::Hold, None, 4), (Downtime::Hold, Some(1), 3), (Downtime::Drop, None, 2)];
    for (downtime, hold_limit, packets) in [night.as_slice(), &[(Downtime::MakeBeforeBreak, None, 4)]].concat() {
        let mut rig = night_at_a_route_switch(downtime, hold_limit);
        let passed = rig.fabric().route_switch(0);
        assert_eq!((passed.packets, passed.bytes), (packets, 1250 * packets), "{downtime:?}, {hold_limit:?}");
    }
}

/// The number lost of n is binomial, so its relative standard deviation is sqrt((1 - p) / np). With at least 20,000
/// losses expected it is at most 0.7 %: four of them are allowed, and an error of 5 % is seven.
#[test]
fn random_loss_has_its_rate() {
    for (loss_ppb, packets) in [(1_000_000, 20_000_000u64), (10_000_000, 4_000_000), (300_000_000, 200_000)] {
        let mut config = link(100, 5);
        config.loss_ppb = loss_ppb;
        let mut chance = Impairment::new(&config, 7).unwrap();
        let lost = (0..packets).filter(|&number| loses(&mut chance, 1, number)).count() as f64;
        let p = f64::from(loss_ppb) / 1e9;
        let (mean, deviation) = (p * packets as f64, (p * (1.0 - p) * packets as f64).sqrt());
        assert!((lost - mean).abs() < 4.0 * deviation, "{lost} of {packets} lost with p = {p}");
        assert!(4.0 * deviation < 0.03 * mean, "too few packets to see an error of 5 %");
        assert_eq!(chance.lost, lost as u64);
    }
}

/// Whether a packet is lost that passes now.
fn loses(chance: &mut Impairment, endpoint: u32, number: u64) -> bool {
    chance.pass(endpoint, Identity { class: 0, number }, us(0)).is_none()
}

/// 10,000 packets and a loss of 30 %: the losses of `n` packets deviate by 0.458 sqrt(n).
#[test]
fn a_draw_belongs_to_the_packet_and_not_to_its_turn() {
    const PACKETS: u64 = 10_000;
    let mut config = link(100, 5);
    config.loss_ppb = 300_000_000;
    let made = |seed: u64, stream: &str| {
        Impairment::new(&LinkConfig { stream: stream.to_owned(), ..config.clone() }, seed).unwrap()
    };
    let alone = |seed: u64, stream: &str, endpoint: u32| -> Vec<bool> {
        let mut chance = made(seed, stream);
        (0..PACKETS).map(|number| loses(&mut chance, endpoint, number)).collect()
    };
    let first = alone(1, "a", 1);
    // Among the packets of another flow, and with retransmissions of its own in between.
    let mut chance = made(1, "a");
    let (mut among, mut again) = (Vec::new(), Vec::new());
    for number in 0..PACKETS {
        loses(&mut chance, 3, number);
        among.push(loses(&mut chance, 1, number));
        again.push(loses(&mut chance, 1, number));
    }
    assert_eq!(first, among);
    // Independent of each other are its copies, flows, directions, links and seeds: of two draws both lose in 9 %.
    let others = [again, alone(1, "a", 3), alone(1, "a", 0), alone(1, "b", 1), alone(2, "a", 1)];
    for other in &others {
        let both = first.iter().zip(other).filter(|&(&one, &other)| one && other).count();
        assert!(both.abs_diff(900) < 4 * 29, "{both} of 10000 are lost in both");
        assert!(other.iter().filter(|&&lost| lost).count().abs_diff(3_000) < 4 * 46);
    }
}

/// Each of a packet's copies is lost with the same chance, however many there were.
#[test]
fn retransmissions_draw_independently() {
    let mut config = link(100, 5);
    config.loss_ppb = 200_000_000;
    let mut chance = Impairment::new(&config, 3).unwrap();
    let copies: Vec<bool> = (0..50_000).map(|_| loses(&mut chance, 1, 77)).collect();
    let lost = copies.iter().filter(|&&lost| lost).count();
    // 0.4 sqrt(50,000) is 89; of two in a row both are lost in 4 %, which deviates by 44.
    assert!(lost.abs_diff(10_000) < 4 * 89, "{lost} of 50000");
    for distance in 1..5 {
        let both = copies.iter().zip(&copies[distance..]).filter(|&(&one, &other)| one && other).count();
        assert!(both.abs_diff(2_000) < 4 * 48, "{both} copies lost with the one {distance} before");
    }
}

#[test]
fn random_loss_is_a_link_s_own_stream() {
    let mut config = link(100, 5);
    config.loss_ppb = 100_000_000;
    let run = |stream: &str| {
        let config = LinkConfig { stream: stream.to_owned(), ..config.clone() };
        let mut rig = Rig::new(&[config], &[queue(Limits::default(), &[0])]);
        rig.path(&[Step::Queue(0)]);
        for i in 0..10_000 {
            rig.send(us(i), 0, 1250);
        }
        rig.run_to_end();
        rig.dropped
    };
    let lost = run("a");
    // Four standard deviations are 120.
    assert!(lost.len().abs_diff(1_000) < 120, "{} of 10000 lost at 10 %", lost.len());
    assert!(lost.iter().all(|drop| drop.1 == DropReason::RandomLoss));
    assert_eq!(lost, run("a"));
    assert_ne!(lost, run("b"));
}

#[test]
fn jitter_is_bounded_and_keeps_the_order() {
    let mut config = link(10, 5);
    config.jitter = Duration::from_us(3);
    let run = || {
        let mut rig = Rig::new(std::slice::from_ref(&config), &[queue(Limits::default(), &[0])]);
        rig.path(&[Step::Queue(0)]);
        for _ in 0..1_000 {
            rig.send(us(0), 0, 1250);
        }
        rig.run_to_end();
        rig.delivered
    };
    let delivered = run();
    let late: Vec<u64> =
        (6..).zip(&delivered).map(|(on_time, &(at, _))| at.saturating_since(us(on_time)).as_ps()).collect();
    assert!(late.iter().all(|&late| late <= 3_000_000 + 1_000), "at most 3 us late");
    assert!(late.iter().any(|&late| late < 300_000) && late.iter().any(|&late| late > 2_700_000));
    assert!(delivered.iter().map(|&(_, body)| body).eq(0..1_000) && delivered.is_sorted_by(|a, b| a.0 < b.0));
    assert_eq!(delivered, run());
}

#[test]
#[should_panic(expected = "a link rate of 999 bit/s")]
fn a_rate_that_the_clock_cannot_hold_is_refused() {
    let mut config = link(1, 5);
    config.rate = Rate::from_bps(999);
    Rig::new(&[config], &[]).fabric();
}
