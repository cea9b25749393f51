//! A real receiver's ACKs beside ours: the data segments that a Linux kernel received are replayed
//! into [`Receiver`], and every ACK must be the kernel's: when, which number, which window, which echoed
//! timestamp, which SACK blocks.

use std::path::Path;

use daybreak_tcp::config::Config;
use daybreak_tcp::receiver::{Negotiated, Receiver, SenderProgress, SenderTiming};
use daybreak_tcp::{Flags, Header, Segment};
use daybreak_units::{Duration, Instant};

/// The kernel's clock reads some tens of nanoseconds between a segment and its ACK.
const KERNEL_LATENCY: Duration = Duration::from_ns(250);

#[derive(Clone, Debug, PartialEq)]
struct Ack {
    at: Instant,
    ack: u64,
    window: u64,
    ts_ecr: u64,
    sacks: String,
}

/// A line of a log.
struct Row<'a> {
    fields: Vec<&'a str>,
}

impl Row<'_> {
    fn number(&self, index: usize) -> u64 {
        self.fields[index].parse().expect("a number")
    }
    fn at(&self) -> Instant {
        Instant::ZERO + Duration::from_ns(self.number(1))
    }
    fn is_data(&self) -> bool {
        self.fields[0] == "data"
    }
    fn flags(&self) -> Flags {
        self.fields[4].chars().fold(Flags::default(), |flags, letter| {
            flags.with(match letter {
                'S' => Flags::SYN,
                'A' => Flags::ACK,
                'P' => Flags::PSH,
                'F' => Flags::FIN,
                other => panic!("unknown flag {other}"),
            })
        })
    }
    fn segment(&self) -> Segment {
        Segment::from(Header {
            seq: self.number(2),
            len: self.number(3) as u32,
            flags: self.flags(),
            ts_val: self.number(5) as u32,
            ts_ecr: self.number(6) as u32,
            ..Header::default()
        })
    }
    fn ack(&self) -> Ack {
        Ack {
            at: self.at(),
            ack: self.number(2),
            window: self.number(3),
            ts_ecr: self.number(6),
            sacks: self.fields[7].into(),
        }
    }
}

struct Replay {
    receiver: Receiver,
    timing: SenderTiming,
    syn_ack_at: Option<Instant>,
    sent: Vec<Ack>,
}

impl Replay {
    fn data(&mut self, now: Instant, segment: &Segment) {
        self.timers(now);
        if segment.flags.contains(Flags::SYN) {
            let negotiated =
                Negotiated { window_scaling: true, timestamps: true, sack: true, ecn: false, exact_echo: false };
            return self.receiver.on_syn(now, segment, negotiated);
        }
        let completes_the_handshake = self.syn_ack_at.is_some();
        if let Some(sent) = self.syn_ack_at.take() {
            self.receiver.established(now);
            self.timing = SenderTiming { srtt: now - sent, rto: now - sent + Duration::from_ms(200) };
        }
        let progress = || SenderProgress { una: segment.ack, window: segment.window, rto: self.timing.rto };
        if self.receiver.accept(now, segment, progress) {
            let timing = self.timing;
            if segment.sequence_len() > 0 && !completes_the_handshake {
                self.receiver.measure_rtt(now, segment);
            }
            self.receiver.on_data(now, segment, || timing);
        }
        self.send(now);
    }

    fn syn_ack(&mut self, row: &Row) {
        let mut segment = Segment::from(Header { flags: row.flags(), ..Header::default() });
        self.receiver.fill_syn(&mut segment);
        assert_eq!(u64::from(segment.window), row.number(3), "the window of the SYN-ACK");
        self.syn_ack_at = Some(row.at());
    }

    fn timers(&mut self, now: Instant) {
        while self.receiver.poll_timeout() <= now {
            let at = self.receiver.poll_timeout();
            self.receiver.on_timeout(at, self.timing);
            self.send(at);
        }
    }

    fn send(&mut self, now: Instant) {
        while self.receiver.ack_pending() {
            let mut segment = Segment::default();
            self.receiver.fill_ack(&mut segment);
            let sacks: Vec<String> =
                segment.sacks().iter().map(|block| format!("{}:{}", block.start, block.end)).collect();
            self.sent.push(Ack {
                at: now,
                ack: segment.ack,
                window: u64::from(segment.window),
                ts_ecr: u64::from(segment.ts_ecr),
                sacks: sacks.join(" "),
            });
        }
    }
}

/// Replays a log and compares all its ACKs; returns how many there were.
fn replay(name: &str, config: &Config) -> usize {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel_receiver").join(name);
    let text = std::fs::read_to_string(path).expect("the log is there");
    let timing = SenderTiming { srtt: Duration::ZERO, rto: config.rto_initial };
    let mut replay = Replay { receiver: Receiver::new(config), timing, syn_ack_at: None, sent: Vec::new() };
    let mut expected = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let row = Row { fields: line.split(',').collect() };
        if row.is_data() {
            replay.data(row.at(), &row.segment());
        } else if row.flags().contains(Flags::SYN) {
            replay.syn_ack(&row);
        } else if !row.flags().contains(Flags::FIN) {
            // The FIN of the receiving side is its application's, which is not replayed.
            expected.push(row.ack());
        }
    }
    for (ours, kernel) in replay.sent.iter().zip(&expected) {
        let late = kernel.at.saturating_since(ours.at);
        assert_eq!(Ack { at: kernel.at, ..ours.clone() }, *kernel, "{name}");
        assert!(ours.at <= kernel.at && late <= KERNEL_LATENCY, "{name}: {ours:?} is {late} before the kernel's");
    }
    assert!(
        replay.sent.len().abs_diff(expected.len()) <= 1,
        "{name}: {} ACKs, {} of the kernel",
        replay.sent.len(),
        expected.len()
    );
    expected.len()
}

fn config(mtu: u32, rmem_max: u64) -> Config {
    let mut config = Config { mtu, ..Config::default() };
    config.rmem.max = rmem_max;
    config
}

#[test]
fn a_short_flow_is_acknowledged_as_by_the_kernel() {
    assert_eq!(replay("short_flow.csv", &config(1_500, 67_108_864)), 55);
}

#[test]
fn the_window_grows_as_the_kernels() {
    assert!(replay("autotuning.csv", &config(9_000, 6_291_456)) > 200);
}

#[test]
fn the_delayed_ack_timer_fires_as_the_kernels() {
    assert!(replay("timeout.csv", &config(9_000, 67_108_864)) > 700);
}
