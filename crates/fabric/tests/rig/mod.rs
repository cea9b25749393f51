//! Drives a fabric with the plainest of event queues.
#![allow(dead_code)] // Each test binary uses its part.

pub mod drawn;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use daybreak_fabric::control::{Action, Change};
use daybreak_fabric::queue::{self, Limits};
use daybreak_fabric::{
    Config, Context, Ecn, Fabric, LinkConfig, Monitor, NewPacket, Packet, PacketId, QueueConfig, Schedule, Step, Wake,
    tie_break,
};
use daybreak_units::parameters::Value;
use daybreak_units::{Duration, Instant, Rate};

pub use daybreak_fabric::DropReason;

/// A packet's number, in the order of sending.
type Body = u64;

#[derive(Default)]
struct Heap(BinaryHeap<Reverse<(Instant, u64, u32, u32)>>);

impl Schedule for Heap {
    fn at(&mut self, at: Instant, wake: Wake) {
        self.0.push(Reverse(match wake {
            Wake::Control { controller } => (at, 0, controller, 0),
            Wake::TransmissionComplete { link } => (at, 1, link, 0),
            Wake::Arrival { link, packet } => (at, 2 + u64::from(tie_break(at, link)), link, packet.0),
        }));
    }
}

/// What was lost: when, why, where, which.
pub type Drop = (Instant, DropReason, u32, u64);

/// A delivered packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub at: Instant,
    pub number: u64,
    pub ecn: Ecn,
    pub marks: u8,
}

/// Where a packet comes and goes: its number, and the link that it comes by or goes by; none where it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    Comes(u64, Option<u32>),
    Goes(u64, u32),
}

#[derive(Default)]
struct Watch {
    moves: Vec<Move>,
    /// When packets began to cross links: the time, the link, which.
    crossings: BTreeSet<(Instant, u32, u64)>,
    dropped: Vec<Drop>,
    busy_until: Vec<Instant>,
    links: Vec<LinkConfig>,
    checks_rates: bool,
    /// Occupancy of each queue as reported.
    occupancy: Vec<(u32, u64)>,
}

impl Monitor<Body> for Watch {
    fn link_sent(&mut self, now: Instant, link: u32, _id: PacketId, packet: &Packet<Body>, wire_bytes: u32) {
        self.moves.push(Move::Goes(packet.body, link));
        self.crossings.insert((now, link, packet.body));
        let link = link as usize;
        assert!(self.busy_until[link] <= now, "link {link} sends two packets at a time");
        if self.checks_rates {
            self.busy_until[link] = now + self.links[link].rate.time_for(u64::from(wire_bytes));
        }
    }
    fn link_unsent(&mut self, at: Instant, link: u32, packet: &Packet<Body>, _wire_bytes: u32) {
        assert!(self.crossings.remove(&(at, link, packet.body)), "what is not sent was not to be");
    }
    fn queue_changed(&mut self, _now: Instant, queue: u32, packets: u32, bytes: u64) {
        self.occupancy[queue as usize] = (packets, bytes);
    }
    fn dropped(&mut self, now: Instant, reason: DropReason, place: u32, packet: &Packet<Body>) {
        self.dropped.push((now, reason, place, packet.body));
    }
}

/// A fabric with its event queue. It is made when the first thing happens: all changes have to be known then.
pub struct Rig {
    config: Config,
    made: Option<Fabric<Body>>,
    heap: Heap,
    watch: Watch,
    /// Links whose delay changes: there the fabric asks twice to be called for a packet, first when it has left.
    pipes: BTreeSet<u32>,
    in_pipes: BTreeSet<u64>,
    pub now: Instant,
    sent: u64,
    pub announce: bool,
    /// When announced packets left their first queue, where that was said when they were sent.
    pub leaves: Vec<Instant>,
    /// Of the packets to come.
    pub ecn: Ecn,
    /// Where the packets to come are going.
    pub endpoint: u32,
    pub delivered: Vec<(Instant, u64)>,
    /// Deliveries with the packets' headers.
    pub deliveries: Vec<Delivery>,
    pub dropped: Vec<Drop>,
    pub wakes: u64,
}

impl Rig {
    pub fn new(links: &[LinkConfig], queues: &[QueueConfig]) -> Self {
        let config = Config {
            links: links.to_vec(),
            queues: queues.to_vec(),
            seed: 7,
            largest_packet: 9_000,
            packets: 16,
            ..Config::default()
        };
        Self::of(config)
    }

    pub fn of(config: Config) -> Self {
        let watch = Watch {
            busy_until: vec![Instant::ZERO; config.links.len()],
            links: config.links.clone(),
            dropped: Vec::new(),
            moves: Vec::new(),
            crossings: BTreeSet::new(),
            checks_rates: true,
            occupancy: vec![(0, 0); config.queues.len()],
        };
        Self {
            config,
            made: None,
            heap: Heap::default(),
            watch,
            pipes: BTreeSet::new(),
            in_pipes: BTreeSet::new(),
            now: Instant::ZERO,
            sent: 0,
            announce: false,
            leaves: Vec::new(),
            ecn: Ecn::NotEct,
            endpoint: 0,
            delivered: Vec::new(),
            deliveries: Vec::new(),
            dropped: Vec::new(),
            wakes: 0,
        }
    }

    /// Adds a path; [`Rig::send`] takes its number.
    pub fn path(&mut self, steps: &[Step]) -> u32 {
        self.config.paths.push(steps.to_vec());
        self.config.paths.len() as u32 - 1
    }

    /// Declares that actions like these will be applied.
    pub fn declare(&mut self, actions: &[Action]) {
        self.config.changes.extend(actions.iter().map(Action::change));
        self.pipes.extend(actions.iter().filter_map(|action| match action.change() {
            Change::Delay(link) => Some(link),
            _ => None,
        }));
        self.watch.checks_rates &= !actions.iter().any(|action| matches!(action.change(), Change::Rate(_)));
    }

    pub fn fabric(&mut self) -> &mut Fabric<Body> {
        self.made.get_or_insert_with(|| Fabric::new(&self.config))
    }

    pub fn send(&mut self, at: Instant, path: u32, bytes: u32) {
        self.run_until(at);
        let cursor = self.fabric().cursor(path);
        let (number, announce, ecn) = (self.sent, self.announce, self.ecn);
        self.sent += 1;
        self.watch.moves.push(Move::Comes(number, None));
        let packet = NewPacket { endpoint: self.endpoint, cursor, bytes, ecn };
        if announce {
            let leaves = self.with(|fabric, ctx| fabric.send_announced(ctx, packet, &number));
            self.leaves.extend(leaves);
        } else {
            self.with(|fabric, ctx| fabric.send(ctx, packet, &number));
        }
    }

    pub fn apply(&mut self, at: Instant, action: &Action) {
        self.run_until(at);
        self.with(|fabric, ctx| fabric.apply(ctx, action));
        self.dropped.append(&mut self.watch.dropped);
    }

    /// An action before all that happens at its time, as a timeline's is.
    pub fn apply_first(&mut self, at: Instant, action: &Action) {
        self.run_until(Instant::from_ps(at.as_ps() - 1));
        self.now = at;
        self.with(|fabric, ctx| fabric.apply(ctx, action));
        self.dropped.append(&mut self.watch.dropped);
    }

    /// What has come and gone since this was last asked, in order; not what comes by links that are served
    /// analytically.
    pub fn moves(&mut self) -> Vec<Move> {
        std::mem::take(&mut self.watch.moves)
    }

    pub fn departures(&mut self) -> usize {
        let fabric = self.fabric();
        std::iter::from_fn(|| fabric.take_departure()).count()
    }

    /// Notes when the packets left whose departures have come to be known.
    pub fn note_departures(&mut self) {
        let (now, count) = (self.now, self.departures());
        self.leaves.extend(std::iter::repeat_n(now, count));
    }

    /// The time, link and packet of each crossing that has begun, on links that are observed or metered.
    pub fn crossings(&mut self) -> BTreeSet<(Instant, u32, u64)> {
        let told = self.watch.crossings.clone();
        let now = self.now;
        self.with(|fabric, ctx| fabric.revoke_unsent(now, ctx.monitor));
        std::mem::replace(&mut self.watch.crossings, told)
    }

    /// What waits in a queue that is observed.
    pub fn occupancy(&self, queue: usize) -> (u32, u64) {
        self.watch.occupancy[queue]
    }

    /// Numbers of the packets in the order of delivery.
    pub fn order(&self) -> Vec<u64> {
        self.delivered.iter().map(|&(_, number)| number).collect()
    }

    /// Processes what lies before `end`, and what lies at `end`.
    pub fn run_until(&mut self, end: Instant) {
        while let Some(&Reverse((at, rank, link, packet))) = self.heap.0.peek() {
            if at > end {
                break;
            }
            self.heap.0.pop();
            self.wakes += 1;
            self.now = at;
            let id = PacketId(packet);
            match rank {
                0 => unreachable!("there is no controller here"),
                1 => self.with(|fabric, ctx| fabric.transmission_complete(ctx, link)),
                _ => {
                    if id != PacketId::NEXT {
                        let number = self.fabric().packet(id).body;
                        let is_there = !self.pipes.contains(&link) || self.in_pipes.remove(&number);
                        if is_there {
                            self.watch.moves.push(Move::Comes(number, Some(link)));
                        } else {
                            self.in_pipes.insert(number);
                        }
                    }
                    if let Some(id) = self.with(|fabric, ctx| fabric.arrive(ctx, link, id)) {
                        let &Packet { header, body: number, .. } = self.fabric().packet(id);
                        let (ecn, marks) = (header.ecn(), header.marks());
                        self.delivered.push((at, number));
                        self.deliveries.push(Delivery { at, number, ecn, marks });
                        self.fabric().release(id);
                    }
                }
            }
        }
        self.now = end;
        self.dropped.append(&mut self.watch.dropped);
    }

    pub fn run_to_end(&mut self) {
        self.run_until(Instant::NEVER);
        self.dropped.append(&mut self.watch.dropped);
    }

    pub fn check_conservation(&mut self) {
        self.dropped.append(&mut self.watch.dropped);
        let (now, sent) = (self.now, self.sent);
        let (delivered, dropped) = (self.delivered.len() as u64, self.dropped.len() as u64);
        let fabric = self.fabric();
        let census = fabric.census(now);
        assert_eq!(sent, delivered + fabric.lost(0) + census.alive);
        assert_eq!(fabric.lost(0), dropped);
        assert_eq!(census.alive, census.queued + census.held + census.on_links);
        assert_eq!(census.alive, fabric.packets().count() as u64);
    }

    fn with<T>(&mut self, call: impl FnOnce(&mut Fabric<Body>, &mut Context<'_, Heap, Watch>) -> T) -> T {
        let mut ctx = Context { now: self.now, schedule: &mut self.heap, monitor: &mut self.watch };
        call(self.made.get_or_insert_with(|| Fabric::new(&self.config)), &mut ctx)
    }
}

pub fn link(gbps: u64, delay_us: u64) -> LinkConfig {
    LinkConfig {
        rate: Rate::from_bps(gbps * 1_000_000_000),
        delay: Duration::from_us(delay_us),
        framing_bytes: 0,
        loss_ppb: 0,
        jitter: Duration::ZERO,
        stream: "link".to_owned(),
    }
}

pub fn queue(limits: Limits, served_by: &[u32]) -> QueueConfig {
    with_discipline("drop_tail", &[], limits, served_by)
}

/// A queue with a limit in packets.
pub fn of_packets(packets: u64, served_by: &[u32]) -> QueueConfig {
    queue(Limits { packets: Some(packets), bytes: None }, served_by)
}

pub fn with_discipline(name: &str, parameters: &[(&str, Value)], limits: Limits, served_by: &[u32]) -> QueueConfig {
    let discipline = queue::find(name).expect("it is registered");
    QueueConfig {
        discipline,
        settings: discipline.settings(parameters.iter().copied()).expect("they fit"),
        limits,
        served_by: served_by.to_vec(),
        priority: 0,
        returned_limit: None,
        observed: true,
        metered: false,
        announced: false,
        stream: "queue".to_owned(),
    }
}

pub fn us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}
