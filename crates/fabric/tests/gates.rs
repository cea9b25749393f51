//! What passes a gate, packet by packet: nothing passes a dark one but what waited when its night began, and that does.

mod rig;

use std::collections::BTreeMap;

use daybreak_fabric::circuit::{AtGate, Downtime};
use daybreak_fabric::control::Action;
use daybreak_fabric::{Config, Ecn, ForkConfig, QueueConfig, Step};
use daybreak_units::{Duration, Instant};
use proptest::prelude::*;
use rig::drawn::Network;
use rig::{DropReason, Move, Rig, link, of_packets, us};

const CIRCUIT: u32 = 0;
const PACKETS: u32 = 1;

fn close(downtime: Downtime) -> Action {
    Action::CloseGate { queue: 0, link: CIRCUIT, downtime }
}

fn limit(packets: u64) -> Action {
    Action::SetLimit { queue: 0, packets: Some(packets), bytes: None }
}

/// A queue with a gate to a circuit of 1 Gbit/s, which sends 1250 bytes in 10 us.
fn circuit() -> (Rig, u32) {
    let mut rig = Rig::new(&[link(1, 0)], &[of_packets(10, &[CIRCUIT])]);
    rig.declare(&[close(Downtime::Drain), Action::OpenGate { queue: 0, link: CIRCUIT }, limit(2)]);
    let path = rig.path(&[Step::Queue(0)]);
    (rig, path)
}

fn send(rig: &mut Rig, at: Instant, path: u32, count: usize) {
    (0..count).for_each(|_| rig.send(at, path, 1250));
}

#[test]
fn what_a_lower_limit_throws_out_leaves_no_place_to_later_packets() {
    let (mut rig, path) = circuit();
    send(&mut rig, us(0), path, 6);
    // One is on the link and five wait, of which the limit leaves two.
    rig.apply(us(1), &close(Downtime::Drain));
    rig.apply(us(2), &limit(2));
    assert_eq!(rig.dropped.iter().filter(|(_, reason, ..)| *reason == DropReason::LimitLowered).count(), 3);
    rig.apply(us(3), &limit(10));
    send(&mut rig, us(4), path, 3);
    rig.run_until(us(100));
    assert_eq!(rig.order(), [0, 1, 2]);
    rig.apply(us(100), &Action::OpenGate { queue: 0, link: CIRCUIT });
    rig.run_to_end();
    assert_eq!(rig.order(), [0, 1, 2, 6, 7, 8]);
}

#[test]
fn a_gate_that_is_closed_again_while_it_drains_lets_no_later_packet_through() {
    for again in [Downtime::Drain, Downtime::MakeBeforeBreak] {
        let (mut rig, path) = circuit();
        rig.declare(&[close(again)]);
        send(&mut rig, us(0), path, 3);
        rig.apply(us(1), &close(Downtime::Drain));
        send(&mut rig, us(2), path, 2);
        rig.apply(us(3), &close(again));
        rig.run_until(us(100));
        assert_eq!(rig.order(), [0, 1, 2], "{again:?}");
    }
    for again in [Downtime::Hold, Downtime::Drop] {
        let (mut rig, path) = circuit();
        rig.declare(&[close(again)]);
        send(&mut rig, us(0), path, 3);
        rig.apply(us(1), &close(Downtime::Drain));
        rig.apply(us(2), &close(again));
        rig.run_until(us(100));
        assert_eq!(rig.order(), [0], "{again:?}");
    }
}

#[test]
fn a_packet_that_comes_back_at_night_waits_and_those_that_were_there_pass() {
    // The packet switch's own queue, behind 1 us of link, is full from the third packet on; what finds it so comes
    // back.
    let voq = QueueConfig { returned_limit: Some(8), ..of_packets(10, &[CIRCUIT, PACKETS]) };
    let mut rig = Rig::of(Config {
        links: vec![link(1, 0), link(10, 1), link(1, 0)],
        queues: vec![voq, of_packets(0, &[2])],
        forks: vec![
            ForkConfig { queue: 0, tails: vec![(CIRCUIT, 2), (PACKETS, 1)], overflow: None },
            ForkConfig { queue: 1, tails: vec![(2, 2)], overflow: Some(3) },
        ],
        paths: vec![vec![Step::Fork(0)], vec![Step::Fork(1)], vec![], vec![Step::Return(0)]],
        ..Config::default()
    });
    let packets = |downtime| Action::CloseGate { queue: 0, link: PACKETS, downtime };
    rig.declare(&[close(Downtime::Drain), packets(Downtime::Hold), Action::OpenGate { queue: 0, link: CIRCUIT }]);
    send(&mut rig, us(0), 0, 6);
    // 0 goes by the circuit until 10 us, 1 and 2 by packets at 0 and 1 us; 1 goes on, 2 finds the switch full at 3 us.
    rig.apply(Instant::ZERO + Duration::from_ns(1_500), &packets(Downtime::Hold));
    rig.apply(Instant::ZERO + Duration::from_ns(1_600), &close(Downtime::Drain));
    rig.run_until(us(200));
    let by_circuit = |rig: &mut Rig| -> Vec<u64> {
        rig.moves()
            .iter()
            .filter_map(|step| match step {
                Move::Goes(number, CIRCUIT) => Some(*number),
                _ => None,
            })
            .collect()
    };
    assert_eq!(by_circuit(&mut rig), [0, 3, 4, 5]);
    rig.apply(us(200), &Action::OpenGate { queue: 0, link: CIRCUIT });
    rig.run_to_end();
    assert_eq!(by_circuit(&mut rig), [2]);
}

#[test]
fn a_queue_of_several_gates_that_dropped_takes_packets_again_with_the_first_that_opens() {
    let mut rig = Rig::new(&[link(1, 0), link(1, 0)], &[of_packets(10, &[CIRCUIT, PACKETS])]);
    let closing = [CIRCUIT, PACKETS].map(|link| Action::CloseGate { queue: 0, link, downtime: Downtime::Drop });
    let opening = [CIRCUIT, PACKETS].map(|link| Action::OpenGate { queue: 0, link });
    rig.declare(&closing);
    let path = rig.path(&[Step::Queue(0)]);
    closing.iter().for_each(|action| rig.apply(us(1), action));
    send(&mut rig, us(2), path, 1);
    opening.iter().for_each(|action| rig.apply(us(3), action));
    assert_eq!(rig.dropped, [(us(2), DropReason::GateClosed, 0, 0)]);
    send(&mut rig, us(4), path, 3);
    rig.run_to_end();
    assert_eq!((rig.order(), rig.dropped.len()), (vec![1, 2, 3], 1));
}

/// What a gate should let through, by what was ordered alone.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Gate {
    Open,
    /// Open until another gate of the queue opens.
    Parting,
    Closed,
    /// The number of moves at which the drain began: packets that came before it may pass.
    Draining(usize),
}

/// The gates of the VOQs as they should be.
struct Expected {
    gates: BTreeMap<(u32, u32), Gate>,
}

impl Expected {
    fn of(config: &Config) -> Self {
        let gates =
            (0..).zip(&config.queues).flat_map(|(queue, one)| one.served_by.iter().map(move |&link| (queue, link)));
        Self { gates: gates.map(|gate| (gate, Gate::Open)).collect() }
    }

    /// An action, and the number of moves before it.
    fn apply(&mut self, action: &Action, moves: usize) {
        match *action {
            Action::OpenGate { queue, link } => {
                for (&(its_queue, its_link), gate) in &mut self.gates {
                    if its_queue == queue && its_link == link {
                        *gate = Gate::Open;
                    } else if its_queue == queue && *gate == Gate::Parting {
                        *gate = Gate::Closed;
                    }
                }
            }
            Action::CloseGate { queue, link, downtime } => {
                let gate = self.gates.get_mut(&(queue, link)).expect("it is there");
                *gate = match (*gate, downtime.effect().at_gate) {
                    (Gate::Closed, _) | (_, AtGate::Empty | AtGate::Keep) => Gate::Closed,
                    (Gate::Draining(since), _) => Gate::Draining(since),
                    (_, AtGate::Drain) => Gate::Draining(moves),
                    (_, AtGate::Part) => Gate::Parting,
                };
            }
            _ => {}
        }
    }
}

impl Gate {
    /// Whether it lets a packet pass that came with this move.
    fn lets_through(self, came: usize) -> bool {
        match self {
            Self::Open | Self::Parting => true,
            Self::Closed => false,
            Self::Draining(since) => came < since,
        }
    }
}

/// What is known of a packet by the moves that were seen.
#[derive(Clone, Copy)]
struct Known {
    /// Its VOQ.
    queue: u32,
    /// The number of the move with which it came there last.
    came: usize,
    /// It has not left since it was sent there.
    waits: bool,
}

/// A run whose every move is judged.
struct Judge {
    expected: Expected,
    packets: Vec<Known>,
    moves: usize,
}

impl Judge {
    fn look(&mut self, rig: &mut Rig) -> Result<(), TestCaseError> {
        for step in rig.moves() {
            match step {
                Move::Comes(number, by) => {
                    let packet = &mut self.packets[number as usize];
                    (packet.came, packet.waits) = (self.moves, by.is_none());
                }
                Move::Goes(number, link) => {
                    let packet = &mut self.packets[number as usize];
                    packet.waits = false;
                    let (queue, came) = (packet.queue, packet.came);
                    let gate = self.expected.gates.get(&(queue, link));
                    prop_assert!(
                        gate.is_none_or(|gate| gate.lets_through(came)),
                        "packet {number}, which came at {came}, passes gate {queue}-{link}, which is {gate:?}"
                    );
                }
            }
            self.moves += 1;
        }
        Ok(())
    }

    /// Whether a packet waits behind a gate that is there for it.
    fn is_stuck(&self, packet: &Known) -> bool {
        let mut gates = self.expected.gates.iter().filter(|((queue, _), _)| *queue == packet.queue);
        packet.waits && gates.any(|(_, gate)| gate.lets_through(packet.came))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// All disciplines, several gates a queue, several queues a link with priorities, limits that change, packets that
    /// come back from full queues and find their lane full.
    #[test]
    fn no_packet_passes_a_dark_gate_unless_it_waited_there_before(seed in any::<u64>(), busy in 1u64..40) {
        let mut network = Network::drawn(seed);
        let entrances = network.entrances();
        let voqs: Vec<u32> =
            entrances.iter().filter_map(|&path| network.voq(&network.config.paths[path as usize])).collect();
        let often = 2 + network.below(12);
        let mut actions: Vec<Option<Action>> =
            (0..200).map(|_| network.chance(often).then(|| network.action())).collect();
        let expected = Expected::of(&network.config);
        // At last all gates drain.
        let gates = expected.gates.keys().filter(|(queue, _)| voqs.contains(queue));
        actions.extend(gates.map(|&(queue, link)| Some(Action::CloseGate { queue, link, downtime: Downtime::Drain })));
        let mut rig = Rig::of(network.config.clone());
        rig.ecn = Ecn::Ect0;
        rig.declare(&actions.iter().flatten().cloned().collect::<Vec<_>>());
        let mut judge = Judge { expected, packets: Vec::new(), moves: 0 };
        let mut now = us(0);
        for action in &actions {
            now += Duration::from_ns(network.below(3_000 / busy + 1));
            rig.run_until(now);
            judge.look(&mut rig)?;
            if let Some(action) = action {
                judge.expected.apply(action, judge.moves);
                rig.apply(now, action);
            } else {
                let entrance = network.below(entrances.len() as u64) as usize;
                judge.packets.push(Known { queue: voqs[entrance], came: 0, waits: false });
                rig.send(now, entrances[entrance], 40 + network.below(8_960) as u32);
            }
            judge.look(&mut rig)?;
        }
        rig.run_until(now + Duration::from_us(100_000));
        judge.look(&mut rig)?;
        rig.check_conservation();
        rig.dropped.iter().for_each(|drop| judge.packets[drop.3 as usize].waits = false);
        for (number, packet) in judge.packets.iter().enumerate() {
            prop_assert!(!judge.is_stuck(packet), "packet {number}, which came at {}, is stuck", packet.came);
        }
    }
}
