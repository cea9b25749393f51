//! The laboratory path on which the real kernel was observed: a NIC a host, one link with a drop-tail
//! queue, a separate way back, and rules that drop or delay chosen segments.
#![allow(dead_code)] // Each test program uses its part.

use std::collections::{BTreeMap, VecDeque};

use daybreak_tcp::config::{BufferLimits, Config};
use daybreak_tcp::{Connection, Segment, congestion};
use daybreak_units::{Duration, Instant, Rate};

/// What befalls chosen segments. Data is counted in full segments from 0.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// First transmissions of these.
    Drop(u64, u64),
    /// Number of retransmissions of this one.
    DropAgain(u64, u64),
    /// First transmissions of these are late.
    Late(u64, u64, Duration),
    /// Everything that enters the path from then on is late.
    LateFrom(Duration, Duration),
    /// These packets of the way back.
    DropAck(u64, u64),
}

/// The path.
#[derive(Clone, Debug)]
pub struct Setup {
    pub variant: &'static str,
    pub mtu: u32,
    pub rate: Rate,
    pub delay: Duration,
    pub limit: usize,
    pub bytes: u64,
    pub rules: Vec<Rule>,
    /// Of the hosts' NICs.
    pub nic: Rate,
    /// Upper ends of `tcp_rmem` and `tcp_wmem`.
    pub memory: [u64; 2],
    /// `tcp_limit_output_bytes`.
    pub small_queues: Option<u64>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            variant: "cubic",
            mtu: 9_000,
            rate: Rate::from_bps(1_000_000_000),
            delay: Duration::from_ms(5),
            limit: 3_000,
            bytes: 8_948_000,
            rules: Vec::new(),
            nic: Rate::from_bps(10_000_000_000),
            memory: [67_108_864; 2],
            small_queues: Some(1_048_576),
        }
    }
}

/// Ethernet header, the only framing that the laboratory counts.
const ETHERNET: u64 = 14;

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A packet of this end leaves its NIC.
    Departs(usize, Segment),
    /// A packet reaches this end.
    Arrives(usize, Segment),
}

/// Two connections on the path.
pub struct Lab {
    pub now: Instant,
    pub ends: [Connection; 2],
    setup: Setup,
    events: BTreeMap<(Instant, u64), Event>,
    serial: u64,
    nic_free: [Instant; 2],
    link_free: Instant,
    /// Start times of what waits for the link.
    waiting: VecDeque<Instant>,
    highest: u64,
    dropped_again: u64,
    acks: u64,
    /// Segments that the link's queue or a rule dropped.
    pub drops: u64,
    /// Every ACK that reached the sender, with the window after it.
    pub windows: Vec<(Instant, u64, u32, u32, u32)>,
}

fn ip_bytes(segment: &Segment) -> u32 {
    20 + segment.header_len() + segment.len
}

impl Lab {
    pub fn new(setup: Setup) -> Self {
        let rule = |seed| congestion::find(setup.variant).unwrap().rule(seed);
        let config = Config {
            mtu: setup.mtu,
            rmem: BufferLimits { min: 4_096, default: 131_072, max: setup.memory[0] },
            wmem: BufferLimits { min: 4_096, default: 16_384, max: setup.memory[1] },
            limit_output_bytes: setup.small_queues,
            ..Config::default()
        };
        Self {
            now: Instant::ZERO,
            ends: [Connection::client(config.clone(), rule(1)), Connection::server(config, rule(2))],
            setup,
            events: BTreeMap::new(),
            serial: 0,
            nic_free: [Instant::ZERO; 2],
            link_free: Instant::ZERO,
            waiting: VecDeque::new(),
            highest: 0,
            dropped_again: 0,
            acks: 0,
            drops: 0,
            windows: Vec::new(),
        }
    }

    fn push(&mut self, at: Instant, event: Event) {
        self.serial += 1;
        self.events.insert((at, self.serial), event);
    }

    fn flush(&mut self, end: usize) {
        while let Some(segment) = self.ends[end].poll_transmit(self.now) {
            let start = self.nic_free[end].max(self.now);
            self.nic_free[end] = start + self.setup.nic.time_for(u64::from(ip_bytes(&segment)) + ETHERNET);
            self.push(self.nic_free[end], Event::Departs(end, segment));
        }
    }

    /// A data packet enters the link.
    fn enter_link(&mut self, segment: Segment) {
        let mss = u64::from(self.setup.mtu) - 52;
        let index = segment.seq.saturating_sub(1) / mss;
        let end = segment.seq + u64::from(segment.len);
        let again = segment.len > 0 && end <= self.highest;
        self.highest = self.highest.max(end);
        let mut dropped = false;
        let mut extra = Duration::ZERO;
        for rule in &self.setup.rules {
            match *rule {
                Rule::Drop(first, last) => {
                    dropped |= segment.len > 0 && !again && (first..=last).contains(&index);
                }
                Rule::DropAgain(which, times) => {
                    if again && index == which && self.dropped_again < times {
                        self.dropped_again += 1;
                        dropped = true;
                    }
                }
                Rule::Late(first, last, by) => {
                    if segment.len > 0 && !again && (first..=last).contains(&index) {
                        extra += by;
                    }
                }
                Rule::LateFrom(from, by) => {
                    if self.now >= Instant::ZERO + from {
                        extra += by;
                    }
                }
                Rule::DropAck(..) => {}
            }
        }
        while self.waiting.front().is_some_and(|&start| start <= self.now) {
            self.waiting.pop_front();
        }
        if dropped || self.waiting.len() >= self.setup.limit {
            self.drops += 1;
            return;
        }
        let start = self.link_free.max(self.now);
        if start > self.now {
            self.waiting.push_back(start);
        }
        self.link_free = start + self.setup.rate.time_for(u64::from(ip_bytes(&segment)) + ETHERNET);
        self.push(self.link_free + self.setup.delay + extra, Event::Arrives(1, segment));
    }

    fn enter_way_back(&mut self, segment: Segment) {
        let nth = self.acks;
        self.acks += 1;
        let dropped = self
            .setup
            .rules
            .iter()
            .any(|rule| matches!(*rule, Rule::DropAck(first, last) if (first..=last).contains(&nth)));
        if !dropped {
            self.push(self.now + self.setup.delay, Event::Arrives(0, segment));
        }
    }

    pub fn step(&mut self) -> bool {
        let event = self.events.keys().next().map_or(Instant::NEVER, |key| key.0);
        let timers = [self.ends[0].poll_timeout(), self.ends[1].poll_timeout()];
        let next = event.min(timers[0]).min(timers[1]);
        if next == Instant::NEVER {
            return false;
        }
        self.now = next;
        if event == next {
            match self.events.pop_first().unwrap().1 {
                Event::Departs(end, segment) => {
                    self.ends[end].on_nic_freed(self.now, ip_bytes(&segment));
                    if end == 0 {
                        self.enter_link(segment)
                    } else {
                        self.enter_way_back(segment)
                    }
                    self.flush(end);
                }
                Event::Arrives(end, segment) => {
                    self.ends[end].on_segment(self.now, &segment);
                    if end == 1 && self.ends[1].delivered_bytes() == self.setup.bytes {
                        // The receiving application closes at the end of the stream.
                        self.ends[1].close(self.now);
                    }
                    self.flush(end);
                    if end == 0 {
                        let client = &self.ends[0];
                        let row = (self.now, segment.ack, client.cwnd(), client.ssthresh(), client.in_flight());
                        self.windows.push(row);
                    }
                }
            }
        } else {
            let end = usize::from(timers[0] != next);
            self.ends[end].on_timeout(self.now);
            self.flush(end);
        }
        true
    }

    /// Runs the transfer; when the last byte was acknowledged.
    pub fn run(&mut self) -> Instant {
        self.ends[0].open(self.now);
        self.ends[0].write(self.now, self.setup.bytes);
        self.ends[0].close(self.now);
        self.flush(0);
        while self.ends[0].acked_bytes() < self.setup.bytes {
            assert!(self.step(), "the transfer stopped");
        }
        self.now
    }
}
