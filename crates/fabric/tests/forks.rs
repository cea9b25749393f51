//! Several queues a link, paths that depend on the link, packets that come back, and marks. 1250 bytes take 1 us at
//! 10 Gbit/s.

mod rig;

use daybreak_fabric::circuit::Downtime;
use daybreak_fabric::control::Action;
use daybreak_fabric::queue::Limits;
use daybreak_fabric::{Config, ForkConfig, MarkerConfig, QueueConfig, Step};
use daybreak_units::Duration;
use daybreak_units::parameters::Value;
use rig::{DropReason, Rig, link, of_packets, queue, us, with_discipline};

fn unlimited(served_by: &[u32]) -> QueueConfig {
    queue(Limits::default(), served_by)
}

/// A queue served by a packet link (10 Gbit/s, 5 us) and a circuit (40 Gbit/s, 1 us) that end at different nodes: from
/// the packet link's a link of 10 Gbit/s and 2 us leads on, from the circuit's one of 20 us. A marker shows the way.
fn hybrid() -> Rig {
    let mut rig = Rig::of(Config {
        links: vec![link(10, 5), link(40, 1), link(10, 2), link(10, 20)],
        queues: vec![unlimited(&[1, 0]), unlimited(&[2]), unlimited(&[3])],
        forks: vec![ForkConfig { queue: 0, tails: vec![(0, 1), (1, 2)], overflow: None }],
        markers: vec![MarkerConfig { mark: 3, is_on: true }],
        paths: vec![vec![Step::Fork(0)], vec![Step::Queue(1)], vec![Step::Marker(0), Step::Queue(2)]],
        ..Config::default()
    });
    rig.declare(&[gate(0, true), gate(1, true)]);
    rig
}

fn gate(link: u32, open: bool) -> Action {
    if open {
        Action::OpenGate { queue: 0, link }
    } else {
        Action::CloseGate { queue: 0, link, downtime: Downtime::Hold }
    }
}

#[test]
fn the_link_that_serves_decides_where_packets_go() {
    let mut rig = hybrid();
    rig.apply(us(0), &gate(1, false));
    (0..4).for_each(|_| rig.send(us(0), 0, 1250));
    // Two have been sent over the packet link and the third is on it; the circuit takes the last.
    rig.apply(us(2), &gate(0, false));
    rig.apply(us(2) + Duration::from_ns(500), &gate(1, true));
    rig.run_to_end();
    let over_packet_link = |start: u64| us(start + 1 + 5 + 1 + 2);
    let over_circuit = us(2) + Duration::from_ns(500 + 250) + Duration::from_us(1 + 1 + 20);
    assert_eq!(
        rig.delivered,
        [(over_packet_link(0), 0), (over_packet_link(1), 1), (over_packet_link(2), 2), (over_circuit, 3)]
    );
    assert_eq!(rig.deliveries.iter().map(|packet| packet.marks).collect::<Vec<_>>(), [0, 0, 0, 1 << 3]);
    rig.check_conservation();
}

#[test]
fn a_tail_may_be_the_end() {
    let mut rig = Rig::of(Config {
        links: vec![link(10, 5), link(10, 1)],
        queues: vec![unlimited(&[0, 1])],
        forks: vec![ForkConfig { queue: 0, tails: vec![(0, 0), (1, 0)], overflow: None }],
        paths: vec![vec![], vec![Step::Fork(0)]],
        ..Config::default()
    });
    (0..3).for_each(|_| rig.send(us(0), 1, 1250));
    rig.run_to_end();
    assert_eq!(rig.delivered, [(us(2), 1), (us(6), 0), (us(7), 2)]);
}

/// Two VOQs share an uplink of 10 Gbit/s and 1 us; behind it each has a FIFO of one packet and a slow link of 1 Gbit/s
/// and 1 us. A packet that finds its FIFO full comes back to its VOQ, which has room for `returned` such.
fn packet_switch(returned: u64, declared: &[Action]) -> Rig {
    let voq = || QueueConfig { returned_limit: Some(returned), ..unlimited(&[0]) };
    let mut rig = Rig::of(Config {
        links: vec![link(10, 1), link(1, 1), link(1, 1)],
        queues: vec![voq(), voq(), of_packets(1, &[1]), of_packets(1, &[2])],
        forks: vec![
            ForkConfig { queue: 0, tails: vec![(0, 2)], overflow: None },
            ForkConfig { queue: 1, tails: vec![(0, 3)], overflow: None },
            ForkConfig { queue: 2, tails: vec![(1, 6)], overflow: Some(4) },
            ForkConfig { queue: 3, tails: vec![(2, 6)], overflow: Some(5) },
        ],
        paths: vec![
            vec![Step::Fork(0)],
            vec![Step::Fork(1)],
            vec![Step::Fork(2)],
            vec![Step::Fork(3)],
            vec![Step::Return(0)],
            vec![Step::Return(1)],
            vec![],
        ],
        ..Config::default()
    });
    rig.declare(declared);
    rig
}

/// Packets 0 to 4 to the first FIFO. They leave the uplink at 1, 2, 3, 4, 5 us and reach the FIFO 1 us later: 0 is sent
/// on until 12 us, 1 waits, 2 finds it full at 4 us and comes back. At 4 us the uplink has just begun to send 4 (3 at 3
/// us); 2 is served next, at 5 us, before anything else, and so on round and round until 12 us.
#[test]
fn a_packet_that_finds_a_full_queue_comes_back_and_goes_first() {
    let mut rig = packet_switch(5, &[]);
    (0..5).for_each(|_| rig.send(us(0), 0, 1250));
    rig.run_until(us(7));
    let totals: Vec<_> = rig.fabric().queue_totals().collect();
    // 2 at 4 us, 3 at 5 us, 4 at 6 us, and 2 again at 7 us.
    assert_eq!((totals[2].overflowed, totals[0].returned), (4, 4));
    rig.run_to_end();
    let finished: Vec<_> = rig.delivered.iter().map(|&(at, _)| at).collect();
    // The slow link is never idle: 10 us a packet from 2 us on.
    assert_eq!(finished, [13, 23, 33, 43, 53].map(us));
    assert_eq!(rig.dropped, []);
    rig.check_conservation();
}

#[test]
fn a_returned_packet_is_lost_when_there_is_no_room_for_it() {
    let mut rig = packet_switch(1, &[Action::OpenGate { queue: 0, link: 0 }]);
    (0..6).for_each(|_| rig.send(us(0), 0, 1250));
    // The VOQ is cut off while 2, 3 and 4 are on the way: the first has room when it comes back, the others have none.
    rig.apply(us(4), &Action::CloseGate { queue: 0, link: 0, downtime: Downtime::Hold });
    rig.run_until(us(8));
    assert_eq!(rig.dropped, [(us(5), DropReason::ReturnFull, 0, 3), (us(6), DropReason::ReturnFull, 0, 4)]);
    assert_eq!(rig.occupancy(0), (2, 2_500), "2 came back, and 5 still waits");
    rig.check_conservation();
    rig.apply(us(30), &Action::OpenGate { queue: 0, link: 0 });
    rig.run_to_end();
    assert_eq!(rig.order(), [0, 1, 2, 5]);
    rig.check_conservation();
}

/// Returned packets go before those of their own queue, not before those of other queues.
#[test]
fn returned_packets_do_not_take_the_turns_of_other_queues() {
    let mut rig = packet_switch(9, &[]);
    // Until 3 us the uplink serves the first VOQ only; then both in turn.
    (0..8).for_each(|_| rig.send(us(0), 0, 1250));
    rig.run_until(us(2));
    (0..3).for_each(|_| rig.send(us(2) + Duration::from_ns(500), 1, 1250));
    rig.run_until(us(7) + Duration::from_ns(500));
    // 3 us: 8; 4 us: 3; 5 us: 9; 6 us: 2, which came back at 4 us; 7 us: 10. In the second FIFO at 5, 7 and 9 us.
    let totals: Vec<_> = rig.fabric().queue_totals().collect();
    let sent: Vec<_> = rig.fabric().link_totals(us(7)).map(|link| link.packets).collect();
    assert_eq!((sent[0], totals[1].returned), (8, 0));
    assert_eq!(rig.occupancy(1), (0, 0), "the three of the second queue have been sent by 8 us");
    rig.run_to_end();
    assert_eq!(rig.delivered.len(), 11);
}

#[test]
fn queues_of_a_link_are_served_by_priority_and_in_turn() {
    let of_priority = |priority| QueueConfig { priority, ..unlimited(&[0]) };
    let queues = [of_priority(0), of_priority(1), of_priority(0), of_priority(1)];
    let mut rig = Rig::new(&[link(10, 5)], &queues);
    let paths: Vec<u32> = (0..4).map(|queue| rig.path(&[Step::Queue(queue)])).collect();
    for path in [0, 0, 0, 2, 2, 1, 1, 1, 3] {
        rig.send(us(0), paths[path], 1250);
    }
    rig.run_to_end();
    // 0 found the link idle. Then the queues of priority 1 in turn: 5, 8, 6, 7; then the others: 1, 3, 2, 4.
    assert_eq!(rig.order(), [0, 5, 8, 6, 7, 1, 3, 2, 4]);
}

/// Of 300 queues at a link those with packets take turns.
#[test]
fn many_queues_take_turns() {
    let queues: Vec<_> = (0..300).map(|_| unlimited(&[0])).collect();
    let mut rig = Rig::new(&[link(10, 5)], &queues);
    let paths: Vec<u32> = (0..300).map(|queue| rig.path(&[Step::Queue(queue)])).collect();
    for path in [7, 299, 299, 63, 64, 128, 7, 63] {
        rig.send(us(0), paths[path], 1250);
    }
    rig.run_to_end();
    // 0 found the link idle. From the first queue on: 7, 63, 64, 128, 299; then 63 and 299 again.
    assert_eq!(rig.order(), [0, 6, 3, 4, 5, 1, 7, 2]);
}

#[test]
fn a_marker_marks_while_it_is_on() {
    let mut rig = Rig::of(Config {
        links: vec![link(10, 5)],
        queues: vec![QueueConfig { observed: false, ..unlimited(&[0]) }],
        markers: vec![MarkerConfig { mark: 0, is_on: false }, MarkerConfig { mark: 7, is_on: true }],
        ..Config::default()
    });
    let path = rig.path(&[Step::Marker(0), Step::Queue(0), Step::Marker(1)]);
    let set = |on| Action::SetMark { marker: 0, on };
    rig.declare(&[set(true), Action::SetMark { marker: 1, on: true }]);
    rig.send(us(0), path, 1250);
    rig.apply(us(10), &set(true));
    rig.send(us(10), path, 1250);
    // A packet that has passed keeps its mark, or goes without.
    rig.apply(us(11), &set(false));
    rig.apply(us(12), &Action::SetMark { marker: 1, on: false });
    rig.send(us(12), path, 1250);
    rig.run_to_end();
    assert_eq!(rig.deliveries.iter().map(|packet| packet.marks).collect::<Vec<_>>(), [128, 1, 0]);
}

/// RED sees packets that do not wait, and is notified when the queue becomes empty: it is idle from then on.
#[test]
fn red_sees_idle_links_and_empty_queues() {
    let dropped = |pause_us: u64| {
        let parameters = [
            ("weight", Value::Number(0.5)),
            ("min_threshold", Value::Bytes(1_000)),
            ("max_threshold", Value::Bytes(3_000)),
            ("max_probability", Value::Number(1e-6)),
            ("typical_packet", Value::Bytes(1_250)),
        ];
        let mut rig = Rig::new(&[link(10, 5)], &[with_discipline("red", &parameters, Limits::default(), &[0])]);
        rig.path(&[Step::Queue(0)]);
        let lower = Action::SetParameter { queue: 0, parameter: "max_threshold".into(), value: Value::Bytes(1_500) };
        rig.declare(std::slice::from_ref(&lower));
        // They find 0 bytes (an idle link), 0, 1250, 2500, 3750, 5000: the average is 0, 0, 625, 1563, 2656, 3828.
        (0..6).for_each(|_| rig.send(us(0), 0, 1250));
        rig.run_until(us(4));
        assert_eq!(rig.dropped, [(us(0), DropReason::EarlyDrop, 0, 5)]);
        // The fifth packet is sent from 4 us on: the queue is empty. A pause of n us are n packets.
        assert_eq!(rig.occupancy(0), (0, 0));
        rig.apply(us(4), &lower);
        rig.send(us(4) + Duration::from_us(pause_us), 0, 1250);
        rig.run_to_end();
        rig.dropped.len() > 1
    };
    // 3828 is 1914 after one packet's time, of which 1500 is the limit now, and 957 after two.
    assert!(dropped(1));
    assert!(!dropped(2));
}
