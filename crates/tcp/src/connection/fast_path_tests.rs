//! The short ways for usual segments do what the general ways do.
//!
//! Each end of a random conversation is a pair of connections that receive the same segments, timers and application
//! calls at the same times. One of them takes every short way that it may, the other none: the plain ACK, the quiet
//! sender, the segments of a window that follow each other without another look, the acknowledgement that has not
//! changed, the probe timer that stands, the transmission order that is the sequence order, and data that arrives in
//! order. After every input both must have sent the same and must be in the same state, and what they count must be
//! what their records hold.

use std::collections::BTreeMap;

use daybreak_units::{Duration, Instant, Rate};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::Connection;
use crate::config::{BufferLimits, Config, EcnMode};
use crate::congestion::REGISTRY;
use crate::fast_path::FastPath;
use crate::{Ecn, Flags, Segment};

/// Two connections that must not differ.
struct Pair {
    fast: Connection,
    general: Connection,
}

impl Pair {
    fn new(open: impl Fn() -> Connection) -> Self {
        let mut general = open();
        general.sender.leave_fast_paths();
        general.receiver.fast_path = FastPath::off();
        Self { fast: open(), general }
    }

    fn tell(&mut self, input: impl Fn(&mut Connection)) {
        input(&mut self.fast);
        input(&mut self.general);
    }

    /// What both send now, one segment at a time.
    fn poll(&mut self, now: Instant) -> Result<Option<Segment>, String> {
        let (fast, general) = (self.fast.poll_transmit(now), self.general.poll_transmit(now));
        same("segment", &fast.as_ref().map(words), &general.as_ref().map(words))?;
        if fast.is_none() {
            self.compare()?;
        }
        Ok(fast)
    }

    fn compare(&mut self) -> Result<(), String> {
        let (fast, general) = (&mut self.fast, &mut self.general);
        same("deadline", &fast.poll_timeout(), &general.poll_timeout())?;
        same("state", &fast.state(), &general.state())?;
        same("bytes delivered", &fast.delivered_bytes(), &general.delivered_bytes())?;
        same("counters", &fast.counters(), &general.counters())?;
        fast.sender.audit()?;
        same("sender", &fast.sender.state(), &general.sender.state())
    }
}

/// The content of a segment; blocks that it does not carry are left out.
fn words(segment: &Segment) -> String {
    format!("{:?} {:?}", Segment { sack: Default::default(), ..*segment }, segment.sacks())
}

fn same(what: &str, fast: &impl std::fmt::Debug, general: &impl std::fmt::Debug) -> Result<(), String> {
    let (fast, general) = (format!("{fast:?}"), format!("{general:?}"));
    if fast == general {
        return Ok(());
    }
    let differs = fast.bytes().zip(general.bytes()).take_while(|(a, b)| a == b).count();
    let near = |text: &str| text[differs.saturating_sub(60)..text.len().min(differs + 60)].to_owned();
    Err(format!("{what}\n    fast    ...{}...\n    general ...{}...", near(&fast), near(&general)))
}

/// What befalls a segment on its way.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Arrives,
    Lost,
    /// It comes once more, this many microseconds later.
    Twice(u64),
    Late(u64),
    /// CE, if it is ECN-capable.
    Marked,
    /// Its acknowledgement echoes congestion.
    Echoes,
    /// The peer's window is this.
    Window(u32),
    /// It acknowledges this many bytes less.
    Less(u64),
    /// Or more.
    More(u64),
    /// Its SACK blocks are gone.
    Bare,
}

fn fate() -> impl Strategy<Value = Fate> {
    let delay = || prop::sample::select(vec![0u64, 7, 300, 2_000, 40_000, 500_000]);
    prop_oneof![
        60 => Just(Fate::Arrives),
        4 => Just(Fate::Lost),
        2 => delay().prop_map(Fate::Twice),
        4 => delay().prop_map(Fate::Late),
        2 => Just(Fate::Marked),
        1 => Just(Fate::Echoes),
        2 => prop::sample::select(vec![0u32, 1_000, 3_000, 20_000, 1_000_000]).prop_map(Fate::Window),
        1 => prop::sample::select(vec![1u64, 700, 1_448, 20_000]).prop_map(Fate::Less),
        1 => prop::sample::select(vec![1u64, 1_448, 100_000]).prop_map(Fate::More),
        1 => Just(Fate::Bare),
    ]
}

/// What an application does: after a while one of the two ends writes some bytes, or closes.
#[derive(Clone, Copy, Debug)]
struct Deed {
    after: Duration,
    end: usize,
    bytes: Option<u64>,
}

fn deed() -> impl Strategy<Value = Deed> {
    let after_us = prop_oneof![3 => Just(0u64), 3 => 1..2_000u64, 3 => 2_000..100_000u64, 2 => 100_000..5_000_000u64];
    let bytes = prop_oneof![
        1 => Just(None),
        6 => prop::sample::select(vec![1u64, 100, 1_448, 2_896, 5_000, 14_480, 50_000, 300_000]).prop_map(Some),
    ];
    (after_us, prop::bool::weighted(0.3), bytes).prop_map(|(us, server, bytes)| Deed {
        after: Duration::from_us(us),
        end: usize::from(server),
        bytes,
    })
}

fn config() -> impl Strategy<Value = Config> {
    (
        prop::collection::vec(any::<bool>(), 9),
        prop::sample::select(vec![576u32, 1_500, 9_000]),
        prop::sample::select(vec![EcnMode::Off, EcnMode::On, EcnMode::Passive]),
        prop::sample::select(vec![1u64, 4, 10]),
        prop::sample::select(vec![8_192u64, 30_000, 131_072]),
        prop::sample::select(vec![(10u32, u32::MAX, u32::MAX), (2, 4, u32::MAX), (30, 20, 25)]),
        prop::sample::select(vec![0u64, 0, 0, 20_000_000]),
    )
        .prop_map(|(on, mtu, ecn, jiffy, buffer, (initial_window, initial_ssthresh, cwnd_clamp), pace)| Config {
            mtu,
            ecn,
            initial_window,
            initial_ssthresh,
            cwnd_clamp,
            timestamps: on[0],
            sack: on[1] || on[2],
            dsack: on[2],
            rack: on[1] || on[3],
            frto: on[4],
            tail_loss_probe: on[3] || on[5],
            slow_start_after_idle: on[6],
            receive_autotuning: on[7],
            limit_output_bytes: on[8].then_some(262_144),
            tso_max_bytes: if on[4] && on[8] { 65_536 } else { 0 },
            jiffy: Duration::from_ms(jiffy),
            rmem: BufferLimits { default: buffer, max: 16 * buffer, ..Config::default().rmem },
            wmem: BufferLimits { default: buffer, max: 16 * buffer, ..Config::default().wmem },
            max_pacing_rate: Rate::from_bps(pace),
            ..Config::default()
        })
}

/// A conversation.
#[derive(Clone, Debug)]
struct Script {
    configs: [Config; 2],
    variant: usize,
    rate: Rate,
    delay: Duration,
    /// Both ends have a second path, which is there in every other period of this length.
    circuit: Option<Duration>,
    /// Segments that find more waiting are dropped.
    queue: u64,
    deeds: Vec<Deed>,
    /// Of the segments of both ends, in the order of their departure; the rest arrives.
    fates: Vec<Fate>,
}

fn script() -> impl Strategy<Value = Script> {
    (
        [config(), config()],
        0..REGISTRY.len(),
        prop::sample::select(vec![1_000_000u64, 10_000_000, 100_000_000, 1_000_000_000, 400_000_000_000]),
        prop::sample::select(vec![0u64, 5, 50, 1_000, 10_000, 60_000]),
        prop::sample::select(vec![8u64, 40, 1_000]),
        prop::collection::vec(deed(), 1..20),
        prop::collection::vec(fate(), 0..400),
    )
        .prop_map(|(configs, variant, bps, delay_us, queue, deeds, fates)| Script {
            configs,
            variant,
            rate: Rate::from_bps(bps),
            delay: Duration::from_us(delay_us),
            circuit: None,
            queue,
            deeds,
            fates,
        })
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Arrival(Segment),
    Departure(u32),
    Deed(Option<u64>),
}

struct World<'a> {
    script: &'a Script,
    now: Instant,
    ends: [Pair; 2],
    events: BTreeMap<(Instant, u64), (usize, Event)>,
    free_at: [Instant; 2],
    serial: u64,
    fates: std::slice::Iter<'a, Fate>,
}

impl<'a> World<'a> {
    fn new(script: &'a Script) -> Self {
        let entry = &REGISTRY[script.variant];
        let [client, server] = &script.configs;
        let with_paths = |mut connection: Connection, config| {
            if script.circuit.is_some() {
                connection.add_path(config, entry.rule(3));
            }
            connection
        };
        let mut world = Self {
            script,
            now: Instant::ZERO,
            ends: [
                Pair::new(|| with_paths(Connection::client(client.clone(), entry.rule(1)), client)),
                Pair::new(|| with_paths(Connection::server(server.clone(), entry.rule(2)), server)),
            ],
            events: BTreeMap::new(),
            free_at: [Instant::ZERO; 2],
            serial: 0,
            fates: script.fates.iter(),
        };
        let mut at = Instant::ZERO;
        let mut closed = [false; 2];
        for deed in &script.deeds {
            at += deed.after;
            // No application writes after closing.
            if !closed[deed.end] {
                world.schedule(at, deed.end, Event::Deed(deed.bytes));
            }
            closed[deed.end] |= deed.bytes.is_none();
        }
        world
    }

    fn schedule(&mut self, at: Instant, end: usize, event: Event) {
        self.serial += 1;
        self.events.insert((at, self.serial), (end, event));
    }

    fn run(&mut self) -> Result<(), String> {
        self.ends[0].tell(|connection| connection.open(Instant::ZERO));
        self.flush(0)?;
        for _ in 0..20_000 {
            let event = self.events.keys().next().map_or(Instant::NEVER, |key| key.0);
            let timers = [self.ends[0].fast.poll_timeout(), self.ends[1].fast.poll_timeout()];
            let next = event.min(timers[0]).min(timers[1]);
            // A peer that has closed its window for good is probed forever.
            if next > Instant::ZERO + Duration::from_secs(600) {
                return Ok(());
            }
            self.now = self.now.max(next);
            let now = self.now;
            let end = if event == next {
                let (_, (end, event)) = self.events.pop_first().expect("there is one");
                self.ends[end].tell(|connection| match event {
                    Event::Arrival(segment) => connection.on_segment(now, &shown(self.script.circuit, now, segment)),
                    Event::Departure(bytes) => connection.on_nic_freed(now, bytes),
                    Event::Deed(Some(bytes)) => connection.write(now, bytes),
                    Event::Deed(None) => connection.close(now),
                });
                end
            } else {
                let end = usize::from(timers[0] != next);
                self.ends[end].tell(|connection| connection.on_timeout(now));
                end
            };
            self.flush(end).map_err(|difference| format!("at {now}, end {end}: {difference}"))?;
        }
        Ok(())
    }

    fn flush(&mut self, end: usize) -> Result<(), String> {
        while let Some(segment) = self.ends[end].poll(self.now)? {
            self.send(end, segment);
        }
        Ok(())
    }

    fn send(&mut self, end: usize, mut segment: Segment) {
        let bytes = 20 + segment.header_len() + segment.len;
        let takes = self.script.rate.time_for(u64::from(bytes));
        let waits = self.free_at[end].saturating_since(self.now);
        if waits.as_ps() > takes.as_ps() * self.script.queue {
            return self.schedule(self.now, end, Event::Departure(bytes));
        }
        let leaves = self.free_at[end].max(self.now) + takes;
        self.free_at[end] = leaves;
        self.schedule(leaves, end, Event::Departure(bytes));
        let mut arrives = leaves + self.script.delay;
        let is_syn = segment.flags.contains(Flags::SYN);
        match *self.fates.next().unwrap_or(&Fate::Arrives) {
            Fate::Arrives => {}
            Fate::Lost => return,
            Fate::Twice(us) => self.schedule(arrives + Duration::from_us(us), 1 - end, Event::Arrival(segment)),
            Fate::Late(us) => arrives += Duration::from_us(us),
            Fate::Marked if segment.ecn != Ecn::NotEct => segment.ecn = Ecn::Ce,
            Fate::Echoes if !is_syn => segment.flags = segment.flags.with(Flags::ECE),
            Fate::Window(bytes) if !is_syn => segment.window = bytes,
            Fate::Less(bytes) if !is_syn && segment.ack > 0 => segment.ack = segment.ack.saturating_sub(bytes).max(1),
            Fate::More(bytes) if !is_syn => segment.ack += bytes,
            Fate::Bare => segment.sack_count = 0,
            Fate::Marked | Fate::Echoes | Fate::Window(_) | Fate::Less(_) | Fate::More(_) => {}
        }
        self.schedule(arrives, 1 - end, Event::Arrival(segment));
    }
}

/// The segment as it arrives: the ECE flag shows which path is there.
fn shown(circuit: Option<Duration>, now: Instant, mut segment: Segment) -> Segment {
    if circuit.is_some_and(|period| (now.as_ps() / period.as_ps()) % 2 == 1) && !segment.flags.contains(Flags::SYN) {
        segment.flags = segment.flags.with(Flags::ECE);
    }
    segment
}

#[test]
fn the_switch_switches() {
    assert!(FastPath::default().is_on() && !FastPath::off().is_on());
}

fn fixed(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(fixed(400))]

    #[test]
    fn fast_paths_do_what_the_general_path_does(script in script()) {
        if let Err(difference) = World::new(&script).run() {
            prop_assert!(false, "{}", difference);
        }
    }

    /// With two paths that take turns: after every input each path's counts match the records of its segments.
    #[test]
    fn what_paths_count_adds_up(
        script in script(),
        period_us in prop::sample::select(vec![40u64, 700, 9_000, 150_000]),
    ) {
        let configs = script.configs.map(|config| Config { sack: true, ecn: EcnMode::Off, ..config });
        let script = Script { configs, circuit: Some(Duration::from_us(period_us)), ..script };
        if let Err(difference) = World::new(&script).run() {
            prop_assert!(false, "{}", difference);
        }
    }
}
