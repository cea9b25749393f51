//! A flow that is moved between two links under way, beside the real kernel: every return to the empty
//! link lets packets overtake those that queue on the other, so this is reordering, spurious recovery
//! and undo at their hardest.
//!
//! Two CUBIC flows of 512 MiB, 10 Gbit/s, MTU 9000, two links with 350 packets each, default memory.
//! One stays on blue; the other changes between green and blue every period. Packets reach the queues
//! late by up to 1 us at random, in the kernel's runs with another generator: runs differ by that.

use std::collections::{BTreeMap, VecDeque};

use daybreak_tcp::config::Config;
use daybreak_tcp::{Connection, Segment, congestion};
use daybreak_units::{Duration, Instant, Rate, Stream};

const RATE: Rate = Rate::from_bps(10_000_000_000);
const BYTES: u64 = 536_870_912;
const LIMIT: usize = 350;
const FORTH: Duration = Duration::from_us(5);
const BACK: Duration = Duration::from_us(20);
const JITTER_PS: u64 = 1_000_000;

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A packet of this connection leaves its NIC.
    Departs(usize, Segment),
    /// It reaches the switch.
    Enters(usize, Segment),
    /// It reaches this connection.
    Arrives(usize, Segment),
}

#[derive(Default)]
struct Link {
    free: Instant,
    /// Start times of what waits.
    waiting: VecDeque<Instant>,
}

/// Connections 0 and 1 are the migrated flow's ends, 2 and 3 the main flow's.
struct World {
    now: Instant,
    period: Duration,
    ends: Vec<Connection>,
    nic_free: [Instant; 4],
    last_entry: [Instant; 4],
    links: [Link; 2],
    events: BTreeMap<(Instant, u64), Event>,
    serial: u64,
    random: Stream,
}

fn wire_time(segment: &Segment) -> Duration {
    RATE.time_for(u64::from(20 + segment.header_len() + segment.len) + 14)
}

impl World {
    fn new(period: Duration, seed: u64) -> Self {
        let rule = |n| congestion::find("cubic").unwrap().rule(n);
        let config = Config { mtu: 9_000, ..Config::default() };
        let ends = (0..4)
            .map(|n| match n % 2 {
                0 => Connection::client(config.clone(), rule(n)),
                _ => Connection::server(config.clone(), rule(n)),
            })
            .collect();
        Self {
            now: Instant::ZERO,
            period,
            ends,
            nic_free: [Instant::ZERO; 4],
            last_entry: [Instant::ZERO; 4],
            links: Default::default(),
            events: BTreeMap::new(),
            serial: 0,
            random: Stream::new(seed, "jitter"),
        }
    }

    fn push(&mut self, at: Instant, event: Event) {
        self.serial += 1;
        self.events.insert((at, self.serial), event);
    }

    fn flush(&mut self, end: usize) {
        while let Some(segment) = self.ends[end].poll_transmit(self.now) {
            let start = self.nic_free[end].max(self.now);
            self.nic_free[end] = start + wire_time(&segment);
            self.push(self.nic_free[end], Event::Departs(end, segment));
        }
    }

    fn enter(&mut self, end: usize, segment: Segment) {
        if end % 2 == 1 {
            self.push(self.now + BACK, Event::Arrives(end - 1, segment));
            return;
        }
        let turn = self.now.as_ps() / self.period.as_ps();
        let link = &mut self.links[usize::from(end == 2 || turn % 2 == 1)];
        while link.waiting.front().is_some_and(|&start| start <= self.now) {
            link.waiting.pop_front();
        }
        if link.waiting.len() >= LIMIT {
            return;
        }
        let start = link.free.max(self.now);
        if start > self.now {
            link.waiting.push_back(start);
        }
        link.free = start + wire_time(&segment);
        let arrival = link.free + FORTH;
        self.push(arrival, Event::Arrives(end + 1, segment));
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Departs(end, segment) => {
                self.ends[end].on_nic_freed(self.now, 20 + segment.header_len() + segment.len);
                let jitter = Duration::from_ps(self.random.below(JITTER_PS));
                let entry = (self.now + jitter).max(self.last_entry[end] + Duration::from_ns(1));
                self.last_entry[end] = entry;
                self.push(entry, Event::Enters(end, segment));
                self.flush(end);
            }
            Event::Enters(end, segment) => self.enter(end, segment),
            Event::Arrives(end, segment) => {
                self.ends[end].on_segment(self.now, &segment);
                if end % 2 == 1 && self.ends[end].delivered_bytes() == BYTES {
                    self.ends[end].close(self.now);
                }
                self.flush(end);
            }
        }
    }

    /// Completion times of the migrated and the main flow in seconds.
    fn run(&mut self) -> [f64; 2] {
        for end in [0, 2] {
            self.ends[end].open(self.now);
            self.ends[end].write(self.now, BYTES);
            self.ends[end].close(self.now);
            self.flush(end);
        }
        let mut done = [None; 2];
        while done.contains(&None) {
            let event = self.events.keys().next().map_or(Instant::NEVER, |key| key.0);
            let timer = (0..4).min_by_key(|&n| self.ends[n].poll_timeout()).unwrap();
            let at = self.ends[timer].poll_timeout();
            self.now = event.min(at);
            assert_ne!(self.now, Instant::NEVER, "the flows stopped");
            if event <= at {
                let (_, event) = self.events.pop_first().unwrap();
                self.handle(event);
            } else {
                self.ends[timer].on_timeout(self.now);
                self.flush(timer);
            }
            for (flow, at) in done.iter_mut().enumerate() {
                if at.is_none() && self.ends[2 * flow].acked_bytes() == BYTES {
                    *at = Some(self.now.as_secs_f64());
                }
            }
        }
        done.map(|at| at.expect("both are done"))
    }
}

/// The kernel's one run of each, against the mean of ours over some seeds: within 10 %. Single runs
/// differ by more, since a migrated flow now and then waits for a timeout: undo takes the loss marks back,
/// RACK does not judge those segments again, and if one of them was lost after all only the RTO repairs
/// it (the kernel's runs show the same, with 342 of 349 segments SACKed).
fn check(period_us: u64, kernel: [f64; 2]) {
    const SEEDS: u64 = 5;
    let mut mean = [0.0; 2];
    let mut spurious = 0;
    for seed in 0..SEEDS {
        let mut world = World::new(Duration::from_us(period_us), seed);
        let times = world.run();
        for flow in 0..2 {
            mean[flow] += times[flow] / SEEDS as f64;
        }
        let migrated = world.ends[0].counters();
        assert!(migrated.reordering_seen > 100, "{migrated:?}");
        spurious += migrated.spurious;
    }
    for flow in 0..2 {
        let off = mean[flow] / kernel[flow] - 1.0;
        assert!(off.abs() < 0.1, "{period_us} us: {mean:?} s, the kernel {kernel:?}");
    }
    assert!(spurious >= 3 * SEEDS, "reordering by the move was undone {spurious} times in {SEEDS} runs");
}

#[test]
fn every_50_ms() {
    check(50_000, [0.5735, 0.5450]);
}

#[test]
fn every_10_ms() {
    check(10_000, [0.7417, 0.4997]);
}

#[test]
fn every_1_ms() {
    check(1_000, [0.8688, 0.4429]);
}
