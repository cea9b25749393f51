//! A real sender's segments beside ours: the ACKs that a Linux kernel received are replayed into a
//! [`Connection`], and every data segment, new or sent again, must leave as the kernel's did: which
//! one, and when.
//!
//! The hosts of these runs had a NIC of 10 Gb/s, and small queues were off: the NIC's queueing
//! discipline took the segments from the socket at once.

use std::path::Path;

use daybreak_tcp::config::Config;
use daybreak_tcp::congestion::find;
use daybreak_tcp::{Connection, Flags, Header, SackBlock, Segment, SynOptions};
use daybreak_units::{Duration, Instant, Rate};

/// The kernel's clock reads some tens of nanoseconds between an ACK and what it lets go.
const KERNEL_LATENCY: Duration = Duration::from_ns(100);
const NIC: Rate = Rate::from_bps(10_000_000_000);
const ETHERNET: u32 = 14;
const BYTES: u64 = 8_948_000;

/// A data segment as it leaves the NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sent {
    at: Instant,
    seq: u64,
    len: u64,
}

struct Replay {
    connection: Connection,
    nic_free: Instant,
    sent: Vec<Sent>,
}

impl Replay {
    fn new(variant: &str) -> Self {
        let mut config = Config { mtu: 9_000, limit_output_bytes: None, ..Config::default() };
        config.rmem.max = 67_108_864;
        config.wmem.max = 67_108_864;
        let rule = find(variant).expect("a known rule").rule(1);
        let mut connection = Connection::client(config, rule);
        connection.open(Instant::ZERO);
        let mut replay = Self { connection, nic_free: Instant::ZERO, sent: Vec::new() };
        replay.transmit(Instant::ZERO);
        replay
    }

    fn ack(&mut self, now: Instant, ack: &Segment) {
        while self.connection.poll_timeout() <= now {
            let at = self.connection.poll_timeout();
            self.connection.on_timeout(at);
            self.transmit(at);
        }
        self.connection.on_segment(now, ack);
        if ack.flags.contains(Flags::SYN) {
            self.connection.write(now, BYTES);
            self.connection.close(now);
        }
        self.transmit(now);
    }

    fn transmit(&mut self, now: Instant) {
        while let Some(segment) = self.connection.poll_transmit(now) {
            let frame = 20 + segment.header_len() + segment.len + ETHERNET;
            self.nic_free = self.nic_free.max(now) + NIC.time_for(u64::from(frame));
            if segment.len > 0 {
                self.sent.push(Sent { at: self.nic_free, seq: segment.seq, len: u64::from(segment.len) });
            }
        }
    }
}

fn ack(fields: &[&str]) -> Segment {
    let number = |index: usize| fields[index].parse::<u64>().expect("a number");
    let mut segment = Segment::from(Header {
        seq: 1,
        ack: number(2),
        window: number(3) as u32,
        ts_val: number(5) as u32,
        ts_ecr: number(6) as u32,
        flags: Flags::ACK,
        ..Header::default()
    });
    if fields[4].contains('S') {
        segment.seq = 0;
        segment.flags = segment.flags.with(Flags::SYN);
        segment.syn = SynOptions { mss: 8_960, window_scale_plus_one: 12, sack_permitted: true, timestamps: true };
    }
    if fields[4].contains('F') {
        segment.flags = segment.flags.with(Flags::FIN);
    }
    for block in fields[7].split_whitespace() {
        let (start, end) = block.split_once(':').expect("start:end");
        let block = SackBlock { start: start.parse().expect("a number"), end: end.parse().expect("a number") };
        segment.sack[usize::from(segment.sack_count)] = block;
        segment.sack_count += 1;
    }
    segment
}

/// Replays a log and compares every data segment; returns the connection.
fn replay(name: &str, variant: &str) -> Connection {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel_sender").join(name);
    let text = std::fs::read_to_string(path).expect("the log is there");
    let mut replay = Replay::new(variant);
    let mut expected = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |index: usize| fields[index].parse::<u64>().expect("a number");
        let at = Instant::ZERO + Duration::from_ns(number(1));
        match fields[0] {
            "data" => expected.push(Sent { at, seq: number(2), len: number(3) }),
            _ => replay.ack(at, &ack(&fields)),
        }
    }
    for (index, (ours, kernel)) in replay.sent.iter().zip(&expected).enumerate() {
        assert_eq!((ours.seq, ours.len), (kernel.seq, kernel.len), "{name}: transmission {index} at {}", kernel.at);
        let early = kernel.at.saturating_since(ours.at);
        let late = ours.at.saturating_since(kernel.at);
        assert!(early.max(late) <= KERNEL_LATENCY, "{name}: transmission {index}, {ours:?}, the kernel {kernel:?}");
    }
    assert_eq!(replay.sent.len(), expected.len(), "{name}");
    replay.connection
}

#[test]
fn ten_losses_of_reno() {
    let counters = replay("burst_loss.csv", "reno").counters();
    assert_eq!((counters.retransmits, counters.fast_recoveries, counters.rtos), (10, 1, 0));
}

#[test]
fn a_tail_loss_probe_finds_five_losses() {
    let counters = replay("tail_loss.csv", "cubic").counters();
    assert_eq!((counters.retransmits, counters.tlps, counters.rtos), (5, 1, 0));
}

#[test]
fn retransmissions_are_lost_until_the_timeout() {
    let counters = replay("lost_retransmissions.csv", "cubic").counters();
    assert_eq!((counters.retransmits, counters.rtos), (4, 1));
}

#[test]
fn a_spurious_timeout_is_undone() {
    let counters = replay("spurious_timeout.csv", "cubic").counters();
    assert_eq!((counters.tlps, counters.rtos, counters.spurious), (1, 1, 1));
}

#[test]
fn reordering_is_undone_and_then_waited_for() {
    let connection = replay("reordering.csv", "cubic");
    assert_eq!((connection.counters().retransmits, connection.counters().spurious), (10, 1));
    assert_eq!(connection.reordering(), 42);
}

#[test]
fn westwoods_estimate_after_one_loss() {
    let connection = replay("one_loss.csv", "westwood");
    assert_eq!((connection.counters().retransmits, connection.ssthresh()), (1, 14));
}
