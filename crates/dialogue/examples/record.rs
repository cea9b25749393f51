//! Records dialogues of the model with itself over random networks, to be played with the kernel:
//!
//! ```text
//! cargo run -p daybreak-dialogue --example record -- DIRECTORY FIRST_SEED COUNT
//! daybreak kernel dialogues DIRECTORY/*.dialogue
//! ```
//!
//! Whatever the kernel says differently is a difference of the two stacks, or of the model with itself if the
//! tests do not play the file. The peer is the model as well; what matters is that its segments are what a stack
//! may receive.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write;

use daybreak_dialogue::Pattern;
use daybreak_tcp::config::Config;
use daybreak_tcp::congestion::{REGISTRY, find};
use daybreak_tcp::{Connection, Ecn, Flags, Segment};
use daybreak_units::{Duration, Instant, Stream};

#[expect(clippy::disallowed_methods, reason = "a program's edge: arguments")]
fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [directory, first, count] = &words[..] else {
        return Err(std::io::Error::other("usage: record DIRECTORY FIRST_SEED COUNT"));
    };
    let number = |word: &str| word.parse::<u64>().map_err(std::io::Error::other);
    let first = number(first)?;
    std::fs::create_dir_all(directory)?;
    for seed in first..first + number(count)? {
        let network = Network::draw(seed);
        let path = format!("{directory}/{:04}_{}.dialogue", seed, network.name());
        std::fs::write(path, Recording::new(&network, seed).run())?;
    }
    Ok(())
}

/// What is random about a recording.
struct Network {
    variant: &'static str,
    /// The stack under test sends the data; otherwise it receives them.
    sends: bool,
    timestamps: bool,
    sack: bool,
    ecn: bool,
    bytes: u64,
    delay: Duration,
    /// One segment takes so long on the bottleneck.
    gap: Duration,
    /// Segments that its queue holds.
    queue: u64,
    /// Per mille.
    loss: u64,
    ack_loss: u64,
    reordered: u64,
    duplicated: u64,
    /// The application writes this number of bytes at once and then pauses.
    write: Option<(u64, Duration)>,
    /// For so long nothing passes, from this time.
    outage: Option<(Instant, Duration)>,
}

impl Network {
    fn draw(seed: u64) -> Self {
        let mut random = Stream::new(seed, "record");
        let mut of = |list: &[u64]| list[random.below(list.len() as u64) as usize];
        let delay = Duration::from_us(of(&[20, 50, 250, 1_000, 5_000, 20_000, 50_000]));
        Self {
            variant: REGISTRY[of(&(0..REGISTRY.len() as u64).collect::<Vec<_>>()) as usize].name,
            sends: of(&[1, 1, 0]) == 1,
            timestamps: of(&[1, 1, 1, 0]) == 1,
            sack: of(&[1, 1, 1, 1, 1, 0]) == 1,
            ecn: of(&[0, 0, 0, 1]) == 1,
            bytes: of(&[1_000, 20_000, 100_000, 300_000, 300_000, 600_000]),
            delay,
            gap: Duration::from_us(of(&[1, 12, 12, 60, 120, 500])),
            queue: of(&[10, 30, 100, 1_000]),
            loss: of(&[0, 0, 10, 30, 100, 200]),
            ack_loss: of(&[0, 0, 0, 50, 300]),
            reordered: of(&[0, 0, 0, 20, 100]),
            duplicated: of(&[0, 0, 0, 20]),
            write: [None, None, Some((of(&[500, 4_000, 20_000]), Duration::from_us(of(&[100, 10_000, 400_000]))))]
                [of(&[0, 1, 2]) as usize],
            outage: [None, None, Some((Instant::ZERO + delay * 6, Duration::from_ms(of(&[30, 300, 3_000]))))]
                [of(&[0, 1, 2]) as usize],
        }
    }

    fn name(&self) -> String {
        format!("{}_{}", self.variant, if self.sends { "sends" } else { "receives" })
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    ToOwn(usize),
    ToPeer(usize),
    Write(u64),
}

struct Recording<'a> {
    network: &'a Network,
    random: Stream,
    config: Config,
    own: Connection,
    peer: Connection,
    events: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    count: u64,
    segments: Vec<(Instant, Segment)>,
    /// When the bottleneck is free.
    free: Instant,
    now: Instant,
    text: String,
    lines: usize,
}

impl<'a> Recording<'a> {
    fn new(network: &'a Network, seed: u64) -> Self {
        let rule = || find(network.variant).expect("it is registered").rule(1);
        let mut config = Config::default();
        if network.ecn {
            config.ecn = daybreak_tcp::config::EcnMode::On;
        }
        let peer_config = Config { timestamps: network.timestamps, sack: network.sack, ..config.clone() };
        let (own, peer) = if network.sends {
            (Connection::client(config.clone(), rule()), Connection::server(peer_config, rule()))
        } else {
            (Connection::server(config.clone(), rule()), Connection::client(peer_config, rule()))
        };
        let mut text = format!("config variant {}\n", network.variant);
        if network.ecn {
            text += "config ecn on\n";
        }
        Self {
            network,
            random: Stream::new(seed, "network"),
            config,
            own,
            peer,
            events: BinaryHeap::new(),
            count: 0,
            segments: Vec::new(),
            free: Instant::ZERO,
            now: Instant::ZERO,
            text,
            lines: 0,
        }
    }

    fn run(mut self) -> String {
        let start = self.now;
        if self.network.sends {
            self.text += "0 open\n";
            self.own.open(start);
        } else {
            self.peer.open(start);
        }
        let chunk = self.network.write.map_or(self.network.bytes, |(chunk, _)| chunk);
        self.at(start + self.network.delay * 2 + Duration::from_us(10), Event::Write(chunk.min(self.network.bytes)));
        self.collect();
        let mut written = 0;
        while self.lines < 2_000 {
            let next = self.events.peek().map_or(Instant::NEVER, |Reverse((at, ..))| *at);
            let (own, peer) = (self.own.poll_timeout(), self.peer.poll_timeout());
            let now = next.min(own).min(peer);
            if now > Instant::ZERO + Duration::from_secs(60) {
                break;
            }
            self.now = self.now.max(now);
            if own <= self.now {
                self.own.on_timeout(self.now);
            } else if peer <= self.now {
                self.peer.on_timeout(self.now);
            } else if let Some(Reverse((_, _, event))) = self.events.pop() {
                match event {
                    Event::Write(bytes) => {
                        if self.network.sends {
                            let ns = self.now.as_ns();
                            writeln!(self.text, "{ns}ns write {bytes}").expect("a string takes it");
                            self.own.write(self.now, bytes);
                        } else {
                            self.peer.write(self.now, bytes);
                        }
                        written += bytes;
                        if let Some((chunk, pause)) = self.network.write
                            && written < self.network.bytes
                        {
                            self.at(self.now + pause, Event::Write(chunk.min(self.network.bytes - written)));
                        }
                    }
                    Event::ToOwn(index) => {
                        let (sent, segment) = self.segments[index];
                        let line = self.line("<", &segment, Some(sent));
                        self.text += &line;
                        self.own.on_segment(self.now, &segment);
                        self.collect();
                        self.expect();
                    }
                    Event::ToPeer(index) => self.peer.on_segment(self.now, &self.segments[index].1),
                }
            }
            self.collect();
        }
        self.text
    }

    fn expect(&mut self) {
        if !self.network.sends || !self.own.is_established() {
            return;
        }
        let ssthresh = match self.own.ssthresh() {
            u32::MAX => "infinite".to_owned(),
            number => number.to_string(),
        };
        let state = self.own.ca_state();
        let (cwnd, in_flight) = (self.own.cwnd(), self.own.in_flight());
        writeln!(self.text, "+0 expect cwnd {cwnd} ssthresh {ssthresh} state {state:?} in_flight {in_flight}")
            .expect("a string takes it");
    }

    fn at(&mut self, at: Instant, event: Event) {
        self.count += 1;
        self.events.push(Reverse((at, self.count, event)));
    }

    fn collect(&mut self) {
        while let Some(segment) = self.own.poll_transmit(self.now) {
            self.own.on_nic_freed(self.now, 20 + segment.header_len() + segment.len);
            let line = self.line(">", &segment, None);
            self.text += &line;
            self.send(segment, true);
        }
        while let Some(segment) = self.peer.poll_transmit(self.now) {
            self.peer.on_nic_freed(self.now, 20 + segment.header_len() + segment.len);
            self.send(segment, false);
        }
    }

    /// Through the network.
    fn send(&mut self, mut segment: Segment, from_own: bool) {
        let network = self.network;
        let dark = network.outage.is_some_and(|(from, span)| self.now >= from && self.now < from + span);
        let mut chance = |per_mille: u64| self.random.below(1_000) < per_mille;
        let is_data = segment.len > 0;
        let lost = chance(if is_data { network.loss } else { network.ack_loss });
        let (late, twice) = (chance(network.reordered), chance(network.duplicated));
        if segment.flags.contains(Flags::SYN) && lost || dark || !segment.flags.contains(Flags::SYN) && lost {
            return;
        }
        let mut at = self.now;
        if is_data {
            self.free = self.free.max(self.now) + network.gap;
            if self.free.saturating_since(self.now) > network.gap.saturating_mul(network.queue) {
                self.free = Instant::from_ps(self.free.as_ps() - network.gap.as_ps());
                return;
            }
            if segment.ecn != Ecn::NotEct
                && self.free.saturating_since(self.now) > network.gap.saturating_mul(network.queue / 2)
            {
                segment.ecn = Ecn::Ce;
            }
            at = self.free;
        }
        at += network.delay;
        if late {
            at += network.delay / 2 + network.gap * 4;
        }
        // Whole microseconds, so that nothing depends on the guest's creeping clock.
        at = Instant::from_ps(at.as_ps().next_multiple_of(1_000_000));
        for _ in 0..=u32::from(twice) {
            self.segments.push((self.now, segment));
            let index = self.segments.len() - 1;
            self.at(at, if from_own { Event::ToPeer(index) } else { Event::ToOwn(index) });
            at += Duration::from_us(3);
        }
    }

    fn line(&mut self, arrow: &str, segment: &Segment, sent: Option<Instant>) -> String {
        self.lines += 1;
        let mut pattern = Pattern::from(segment);
        // On ours these are no claims: where PSH stands depends on how the application's writes fit the buffer.
        if sent.is_none() {
            pattern.flags.0 &= !Flags::PSH.0;
            pattern.ecn = pattern.ecn.filter(|_| segment.len > 0);
        }
        let at = |ns: u64| Instant::ZERO + Duration::from_ns(ns);
        pattern.ts_val = sent.filter(|_| segment.ts_val != 0).map(|sent| at(sent.as_ns()));
        let ticks = segment.ts_ecr.checked_sub(1);
        pattern.ts_ecr = ticks.map(|ticks| at(u64::from(ticks) * self.config.timestamp_tick.as_ns()));
        let time = if arrow == "<" { format!("{}ns", self.now.as_ns()) } else { format!("{}ps", self.now.as_ps()) };
        format!("{time} {arrow} {pattern}\n")
    }
}
