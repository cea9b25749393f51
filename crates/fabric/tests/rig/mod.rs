//! Drives a fabric with the plainest of event queues.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use daybreak_fabric::control::Action;
use daybreak_fabric::queue::Limits;
use daybreak_fabric::{
    BranchConfig, Context, Fabric, LinkConfig, Monitor, NewPacket, Packet, PacketId, QueueConfig, Schedule, Step, Wake,
    tie_break,
};
use daybreak_units::{Duration, Instant, Rate};

pub use daybreak_fabric::DropReason;

/// A packet's number, in the order of sending.
type Body = u64;

#[derive(Default)]
struct Heap(BinaryHeap<Reverse<(Instant, u64, u32, u32)>>);

impl Schedule for Heap {
    fn at(&mut self, at: Instant, wake: Wake) {
        self.0.push(Reverse(match wake {
            Wake::TransmissionComplete { link } => (at, 0, link, 0),
            Wake::Arrival { link, packet } => (at, 1 + u64::from(tie_break(at, link)), link, packet.0),
        }));
    }
}

/// What was lost: when, why, where, which.
pub type Drop = (Instant, DropReason, u32, u64);

#[derive(Default)]
struct Watch {
    dropped: Vec<Drop>,
    busy_until: Vec<Instant>,
    links: Vec<LinkConfig>,
}

impl Monitor<Body> for Watch {
    fn link_sent(&mut self, now: Instant, link: u32, _packet: &Packet<Body>, wire_bytes: u32) {
        let link = link as usize;
        assert!(self.busy_until[link] <= now, "link {link} sends two packets at a time");
        self.busy_until[link] = now + self.links[link].rate.time_for(u64::from(wire_bytes));
    }
    fn dropped(&mut self, now: Instant, reason: DropReason, place: u32, packet: &Packet<Body>) {
        self.dropped.push((now, reason, place, packet.body));
    }
}

pub struct Rig {
    pub fabric: Fabric<Body>,
    heap: Heap,
    watch: Watch,
    paths: Vec<u32>,
    now: Instant,
    sent: u64,
    pub announce: bool,
    pub delivered: Vec<(Instant, u64)>,
    pub dropped: Vec<Drop>,
    pub wakes: u64,
}

impl Rig {
    pub fn new(links: &[LinkConfig], queues: &[QueueConfig], branches: &[BranchConfig]) -> Self {
        let watch = Watch { busy_until: vec![Instant::ZERO; links.len()], links: links.to_vec(), dropped: Vec::new() };
        Self {
            fabric: Fabric::new(links, queues, branches, 7, 16),
            heap: Heap::default(),
            watch,
            paths: Vec::new(),
            now: Instant::ZERO,
            sent: 0,
            announce: false,
            delivered: Vec::new(),
            dropped: Vec::new(),
            wakes: 0,
        }
    }

    /// Adds a path; [`Rig::send`] takes its number.
    pub fn path(&mut self, steps: &[Step]) -> u32 {
        self.paths.push(self.fabric.add_path(steps));
        self.paths.len() as u32 - 1
    }

    pub fn send(&mut self, at: Instant, path: u32, bytes: u32) {
        self.run_until(at);
        let (number, cursor, announce) = (self.sent, self.paths[path as usize], self.announce);
        self.sent += 1;
        let packet = NewPacket { endpoint: 0, cursor, bytes, announce };
        self.with(|fabric, ctx| fabric.send(ctx, packet, &number));
    }

    pub fn apply(&mut self, at: Instant, action: &Action) {
        self.run_until(at);
        self.with(|fabric, ctx| fabric.apply(ctx, action));
    }

    pub fn departures(&mut self) -> usize {
        std::iter::from_fn(|| self.fabric.take_departure()).count()
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
                0 => self.with(|fabric, ctx| fabric.transmission_complete(ctx, link)),
                _ => {
                    if let Some(id) = self.with(|fabric, ctx| fabric.arrive(ctx, link, id)) {
                        self.delivered.push((at, self.fabric.packet(id).body));
                        self.fabric.release(id);
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
        let census = self.fabric.census(self.now);
        assert_eq!(self.sent, self.delivered.len() as u64 + self.fabric.lost(0) + census.alive);
        assert_eq!(self.fabric.lost(0), self.dropped.len() as u64);
        assert_eq!(census.alive, census.queued + census.held + census.on_links);
        assert_eq!(census.alive, self.fabric.packets().count() as u64);
    }

    fn with<T>(&mut self, call: impl FnOnce(&mut Fabric<Body>, &mut Context<'_, Heap, Watch>) -> T) -> T {
        let mut ctx = Context { now: self.now, schedule: &mut self.heap, monitor: &mut self.watch };
        call(&mut self.fabric, &mut ctx)
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
    QueueConfig { kind: "drop_tail".to_owned(), limits, served_by: served_by.to_vec(), watched: true }
}

pub fn us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}
