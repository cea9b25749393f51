//! Two connections over a fixed path: the client's NIC, a drop-tail bottleneck, a delay; ACKs come
//! back after the delay alone. The layout of the runs of the real kernel in virtual time.

use std::collections::{BTreeMap, VecDeque};

use daybreak_tcp::config::{BufferLimits, Config};
use daybreak_tcp::{Connection, Segment, congestion};
use daybreak_trace::WindowRow;
use daybreak_units::{Duration, Instant, Rate};

/// The path.
#[derive(Clone, Copy)]
pub struct Path {
    /// IP packet size.
    pub mtu: u32,
    pub nic: Rate,
    pub rate: Rate,
    /// One way.
    pub delay: Duration,
    /// Packets that wait at the bottleneck, without the one being sent.
    pub buffer: usize,
    /// The data packet, counted from 0, that is dropped whatever the buffer says.
    pub drop: Option<u64>,
}

impl Path {
    /// Buffers of 64 MB, so that the path is the limit.
    pub fn config(&self) -> Config {
        let large = |limits: BufferLimits| BufferLimits { max: 64 << 20, ..limits };
        let config = Config { mtu: self.mtu, ..Config::default() };
        Config { rmem: large(config.rmem), wmem: large(config.wmem), ..config }
    }
}

/// How far the server's clock is ahead, in milliseconds: Linux draws it, and in seven of eight cases it is 2^29 or
/// more, so that LP sees no delay.
const SERVER_CLOCK: u32 = 1 << 30;

/// Bytes of framing that the kernel runs charged for: an Ethernet header.
const FRAMING: u64 = 14;

enum Event {
    /// A packet with the given number of IP bytes leaves the client's NIC.
    NicFreed(Segment, u32),
    /// A segment arrives at the client (0) or the server (1).
    Arrives(usize, Segment),
}

/// Client, server and what is between them.
pub struct Pair {
    pub now: Instant,
    pub client: Connection,
    pub server: Connection,
    path: Path,
    nic_free: Instant,
    /// Departures of what the bottleneck holds.
    queue: VecDeque<Instant>,
    events: BTreeMap<(Instant, u64), Event>,
    serial: u64,
    /// Data packets that reached the bottleneck, and those that it dropped.
    pub offered: u64,
    pub dropped: u64,
    pub max_queue: usize,
}

impl Pair {
    pub fn new(path: Path, variant: &str) -> Self {
        let rule = || congestion::find(variant).expect("it is registered").rule(1);
        Self {
            now: Instant::ZERO,
            client: Connection::client(path.config(), rule()),
            server: Connection::server(Config { timestamp_offset: SERVER_CLOCK, ..path.config() }, rule()),
            path,
            nic_free: Instant::ZERO,
            queue: VecDeque::new(),
            events: BTreeMap::new(),
            serial: 0,
            offered: 0,
            dropped: 0,
            max_queue: 0,
        }
    }

    /// Opens the connection and queues `bytes` at the client.
    pub fn start(&mut self, bytes: u64) {
        self.client.open(self.now);
        self.client.write(self.now, bytes);
        self.flush();
    }

    /// Runs until `end` or until `is_done`, with a window row every `every`.
    pub fn run(&mut self, end: Instant, every: Duration, is_done: impl Fn(&Self) -> bool) -> Vec<WindowRow> {
        let mut rows = Vec::new();
        let mut sample = self.now + every;
        while !is_done(self) {
            let event = self.events.keys().next().map_or(Instant::NEVER, |key| key.0);
            let timers = self.client.poll_timeout().min(self.server.poll_timeout());
            let next = event.min(timers).min(sample);
            if next > end {
                break;
            }
            self.now = next;
            if next == sample {
                rows.push(self.client.window_row(0, next));
                sample += every;
            } else if next == event {
                let (_, event) = self.events.pop_first().expect("it is the next");
                self.happen(event);
            } else {
                self.client.on_timeout(next);
                self.server.on_timeout(next);
            }
            self.flush();
        }
        rows
    }

    fn at(&mut self, when: Instant, event: Event) {
        self.serial += 1;
        self.events.insert((when, self.serial), event);
    }

    fn flush(&mut self) {
        while let Some(segment) = self.client.poll_transmit(self.now) {
            let bytes = 20 + segment.header_len() + segment.len;
            let start = self.nic_free.max(self.now);
            self.nic_free = start + self.path.nic.time_for(u64::from(bytes) + FRAMING);
            self.at(self.nic_free, Event::NicFreed(segment, bytes));
        }
        while let Some(segment) = self.server.poll_transmit(self.now) {
            let bytes = 20 + segment.header_len() + segment.len;
            self.server.on_nic_freed(self.now, bytes);
            self.at(self.now + self.path.delay, Event::Arrives(0, segment));
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::NicFreed(segment, bytes) => {
                self.client.on_nic_freed(self.now, bytes);
                self.enqueue(segment, bytes);
            }
            Event::Arrives(0, segment) => self.client.on_segment(self.now, &segment),
            Event::Arrives(_, segment) => self.server.on_segment(self.now, &segment),
        }
    }

    fn enqueue(&mut self, segment: Segment, bytes: u32) {
        while self.queue.front().is_some_and(|&leaves| leaves <= self.now) {
            self.queue.pop_front();
        }
        if segment.len > 0 {
            self.offered += 1;
        }
        if self.queue.len() > self.path.buffer || self.path.drop.is_some_and(|n| n + 1 == self.offered) {
            self.dropped += 1;
            self.path.drop = self.path.drop.filter(|n| n + 1 != self.offered);
            return;
        }
        let start = self.queue.back().map_or(self.now, |&leaves| leaves.max(self.now));
        let leaves = start + self.path.rate.time_for(u64::from(bytes) + FRAMING);
        self.queue.push_back(leaves);
        self.max_queue = self.max_queue.max(self.queue.len());
        self.at(leaves + self.path.delay, Event::Arrives(1, segment));
    }
}
