//! Two connections over a network that delays, loses, duplicates and reorders.

use std::collections::BTreeMap;

use daybreak_tcp::config::Config;
use daybreak_tcp::{Connection, Flags, Segment, congestion};
use daybreak_units::{Duration, Instant, Rate, Stream};

/// What the network does to segments of both directions.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    pub rate: Rate,
    /// One-way delay.
    pub delay: Duration,
    /// Packets that the bottleneck holds; what comes on top is dropped.
    pub queue: usize,
    /// Per mille.
    pub loss: u64,
    pub duplication: u64,
    /// Per mille of segments that are late by up to `jitter`.
    pub late: u64,
    pub jitter: Duration,
    /// Segments of the client, counted from 0, that are dropped whatever `loss` says.
    pub drop_nth: &'static [u64],
}

impl Default for Network {
    fn default() -> Self {
        Self {
            rate: Rate::from_bps(1_000_000_000),
            delay: Duration::from_us(50),
            queue: 10_000,
            loss: 0,
            duplication: 0,
            late: 0,
            jitter: Duration::ZERO,
            drop_nth: &[],
        }
    }
}

/// A line of one direction, with the packets that wait in the sender's NIC.
struct Line {
    free_at: Instant,
    waiting: Vec<Instant>,
}

/// Client and server, and what is between them.
pub struct World {
    pub now: Instant,
    pub ends: [Connection; 2],
    network: Network,
    lines: [Line; 2],
    arrivals: BTreeMap<(Instant, u64), (usize, Segment)>,
    departures: BTreeMap<(Instant, u64), (usize, u32)>,
    serial: u64,
    client_segments: u64,
    random: Stream,
    /// With several paths: the second one is there in every other period of this length.
    turn: Option<Duration>,
    /// Most that was ever in flight at the client.
    pub max_in_flight: u32,
    pub steps: u64,
    /// Most segments that an input made the client send, after its first thousand.
    pub longest_burst: u64,
}

impl World {
    pub fn new(client: Config, server: Config, variant: &str, network: Network, seed: u64) -> Self {
        let rule = |seed| congestion::find(variant).unwrap().rule(seed);
        let line = || Line { free_at: Instant::ZERO, waiting: Vec::new() };
        Self {
            now: Instant::ZERO,
            ends: [Connection::client(client, rule(seed)), Connection::server(server, rule(seed + 1))],
            network,
            lines: [line(), line()],
            arrivals: BTreeMap::new(),
            departures: BTreeMap::new(),
            serial: 0,
            client_segments: 0,
            random: Stream::new(seed, "network"),
            turn: None,
            max_in_flight: 0,
            steps: 0,
            longest_burst: 0,
        }
    }

    /// Two paths that take turns of this length, which ACKs announce to the client.
    #[allow(dead_code, reason = "not every test has several paths")]
    pub fn take_turns(&mut self, client: &Config, variant: &str, turn: Duration) {
        self.ends[0].add_path(client, congestion::find(variant).unwrap().rule(2));
        self.turn = Some(turn);
    }

    fn chance(&mut self, per_mille: u64) -> bool {
        self.random.below(1_000) < per_mille
    }

    /// Sends what an end has to send.
    pub fn flush(&mut self, end: usize) {
        let before = self.client_segments;
        while let Some(segment) = self.ends[end].poll_transmit(self.now) {
            self.transmit(end, segment);
        }
        if before > 1_000 {
            self.longest_burst = self.longest_burst.max(self.client_segments - before);
        }
        let client = &self.ends[0];
        let [out, sacked, lost, again] = client.outstanding();
        assert!(sacked + lost <= out, "{sacked} SACKed and {lost} lost of {out}");
        assert_eq!(client.in_flight(), out + again - sacked - lost);
        self.max_in_flight = self.max_in_flight.max(client.in_flight());
    }

    fn transmit(&mut self, end: usize, segment: Segment) {
        let bytes = 20 + segment.header_len() + segment.len;
        self.serial += 1;
        let serial = self.serial;
        let line = &mut self.lines[end];
        line.waiting.retain(|&leaves| leaves > self.now);
        let full = line.waiting.len() >= self.network.queue;
        let start = line.free_at.max(self.now);
        let leaves = start + self.network.rate.time_for(u64::from(bytes) + 38);
        if !full {
            line.free_at = leaves;
            line.waiting.push(leaves);
        }
        // The NIC is the bottleneck: what it drops is freed at once.
        let freed = if full { self.now } else { leaves };
        self.departures.insert((freed, serial), (end, bytes));
        let nth = self.client_segments;
        self.client_segments += u64::from(end == 0);
        if full || (end == 0 && self.network.drop_nth.contains(&nth)) || self.chance(self.network.loss) {
            return;
        }
        let copies = 1 + u64::from(self.chance(self.network.duplication));
        for copy in 0..copies {
            let mut arrives = leaves + self.network.delay;
            if self.chance(self.network.late) {
                arrives += Duration::from_ps(self.random.below(self.network.jitter.as_ps().max(1)));
            }
            self.serial += 1;
            self.arrivals.insert((arrives, self.serial + copy), (1 - end, segment));
        }
    }

    /// The next event: an arrival, a departure from a NIC, or a timer. False when there is none.
    pub fn step(&mut self) -> bool {
        let arrival = self.arrivals.keys().next().map_or(Instant::NEVER, |key| key.0);
        let departure = self.departures.keys().next().map_or(Instant::NEVER, |key| key.0);
        let timers = [self.ends[0].poll_timeout(), self.ends[1].poll_timeout()];
        let next = arrival.min(departure).min(timers[0]).min(timers[1]);
        if next == Instant::NEVER {
            return false;
        }
        assert!(next >= self.now, "time runs backwards: {next} after {}", self.now);
        self.now = next;
        self.steps += 1;
        if departure == next {
            let (_, (end, bytes)) = self.departures.pop_first().unwrap();
            self.ends[end].on_nic_freed(self.now, bytes);
            self.flush(end);
        } else if arrival == next {
            let (_, (end, mut segment)) = self.arrivals.pop_first().unwrap();
            let is_second = |turn: Duration| !(self.now.as_ps() / turn.as_ps()).is_multiple_of(2);
            if end == 0 && self.turn.is_some_and(is_second) && !segment.flags.contains(Flags::SYN) {
                segment.flags = segment.flags.with(Flags::ECE);
            }
            self.ends[end].on_segment(self.now, &segment);
            self.flush(end);
        } else {
            let end = usize::from(timers[0] != next);
            self.ends[end].on_timeout(self.now);
            self.flush(end);
        }
        true
    }

    /// Opens the connection and sends `bytes` from the client; runs until all is acknowledged or
    /// `limit` has passed. Returns whether it was.
    pub fn transfer(&mut self, bytes: u64, limit: Duration) -> bool {
        self.ends[0].open(self.now);
        self.ends[0].write(self.now, bytes);
        self.flush(0);
        let end = self.now + limit;
        while self.ends[0].acked_bytes() < bytes {
            if self.now > end || !self.step() {
                return false;
            }
        }
        true
    }
}
