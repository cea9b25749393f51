//! Loss recovery beside the real kernel: the same path, the same losses, and the times and counts
//! that Linux 6.1 showed there (1 Gbit/s, 10 ms, MTU 9000, 1000 segments; HZ 1000; see `lab`).
//!
//! The kernel's application looked every 100 us whether all was acknowledged, and wrote blocks of
//! 1 MiB, whose ends carry PSH and so shift which segments share an ACK; ours writes once. Hence the
//! tolerance of half a millisecond.

mod lab;

use daybreak_tcp::Counters;
use daybreak_units::Duration;
use lab::{Lab, Rule, Setup};

/// What the kernel showed.
#[derive(Debug, PartialEq)]
struct Seen {
    /// Time until all was acknowledged.
    ms: f64,
    retransmits: u64,
    rtos: u64,
    tlps: u64,
    fast_recoveries: u64,
    undos: u64,
    lost_retransmits: u64,
}

const fn seen(ms: f64, retransmits: u64) -> Seen {
    Seen { ms, retransmits, rtos: 0, tlps: 0, fast_recoveries: 1, undos: 0, lost_retransmits: 0 }
}

fn run(variant: &'static str, rules: Vec<Rule>) -> (f64, Counters) {
    let mut lab = Lab::new(Setup { variant, rules, ..Setup::default() });
    let end = lab.run();
    (end.as_secs_f64() * 1e3, lab.ends[0].counters())
}

fn check(variant: &'static str, rules: Vec<Rule>, kernel: Seen) {
    let (ms, c) = run(variant, rules);
    let ours = Seen {
        ms,
        retransmits: c.retransmits,
        rtos: c.rtos,
        tlps: c.tlps,
        fast_recoveries: c.fast_recoveries,
        undos: c.spurious,
        lost_retransmits: c.lost_retransmits,
    };
    assert!((ours.ms - kernel.ms).abs() <= 0.5, "{variant}: {ours:?}, the kernel {kernel:?}");
    assert_eq!(Seen { ms: 0.0, ..ours }, Seen { ms: 0.0, ..kernel }, "{variant}");
}

fn ms(ms: u64) -> Duration {
    Duration::from_ms(ms)
}

#[test]
fn one_loss() {
    check("cubic", vec![Rule::Drop(200, 200)], seen(135.9, 1));
    check("reno", vec![Rule::Drop(200, 200)], seen(149.2, 1));
    check("bbr", vec![Rule::Drop(200, 200)], seen(145.0, 1));
}

#[test]
fn ten_losses_in_a_row() {
    check("cubic", vec![Rule::Drop(200, 209)], seen(136.6, 10));
    check("reno", vec![Rule::Drop(200, 209)], seen(151.1, 10));
    check("bbr", vec![Rule::Drop(200, 209)], seen(145.4, 10));
}

#[test]
fn every_other_segment_lost() {
    let rules = (0..10).map(|n| Rule::Drop(200 + 2 * n, 200 + 2 * n)).collect();
    check("cubic", rules, seen(136.6, 10));
}

#[test]
fn most_of_a_window_lost() {
    check("cubic", vec![Rule::Drop(200, 330)], seen(151.6, 131));
}

#[test]
fn the_retransmission_is_lost_too() {
    let rules = vec![Rule::Drop(200, 200), Rule::DropAgain(200, 1)];
    check("cubic", rules, Seen { lost_retransmits: 1, ..seen(140.6, 2) });
    let rules = vec![Rule::Drop(200, 200), Rule::DropAgain(200, 3)];
    check("cubic", rules, Seen { rtos: 1, lost_retransmits: 3, ..seen(428.5, 4) });
}

/// One segment out: the probe waits for the delayed ACK that may come.
#[test]
fn the_last_segment_lost() {
    let probed = |ms| Seen { tlps: 1, fast_recoveries: 0, ..seen(ms, 1) };
    check("cubic", vec![Rule::Drop(999, 999)], probed(370.1));
    check("reno", vec![Rule::Drop(999, 999)], probed(386.1));
    check("bbr", vec![Rule::Drop(999, 999)], probed(386.1));
}

#[test]
fn the_last_five_lost() {
    let probed = |ms| Seen { tlps: 1, ..seen(ms, 5) };
    check("cubic", vec![Rule::Drop(995, 999)], probed(210.4));
    check("reno", vec![Rule::Drop(995, 999)], probed(256.4));
    check("bbr", vec![Rule::Drop(995, 999)], probed(238.4));
}

/// A late segment is taken for lost once, found not to be by its timestamp, and undone.
#[test]
fn late_segments_are_undone() {
    let undone = |ms, again| Seen { undos: 1, ..seen(ms, again) };
    check("cubic", vec![Rule::Late(200, 200, ms(1))], undone(135.3, 1));
    check("cubic", vec![Rule::Late(200, 200, ms(6))], undone(135.3, 1));
    let groups = [200, 400, 600].iter().map(|&n| Rule::Late(n, n + 9, ms(3))).collect();
    check("cubic", groups, undone(135.9, 10));
}

/// The whole path becomes slower by more than the RTO: F-RTO takes the timeout back. The rule starts
/// between the same two segments as in the kernel's run.
#[test]
fn spurious_timeouts_are_undone() {
    let undone = |ms| Seen { rtos: 1, tlps: 1, undos: 1, fast_recoveries: 0, ..seen(ms, 1) };
    check("cubic", vec![Rule::LateFrom(ms(80), ms(300))], undone(1024.0));
    let from = Duration::from_us(80_640);
    check("cubic", vec![Rule::LateFrom(from, ms(230))], undone(814.0));
}

#[test]
fn lost_acks_cost_little() {
    check("cubic", vec![Rule::DropAck(100, 199)], Seen { fast_recoveries: 0, ..seen(143.7, 0) });
}

/// The SYN-ACK is lost: the SYN goes again after a second, and counts (`tests/dialogues/syn_counted.dialogue`).
#[test]
fn the_syn_ack_lost() {
    let kernel = Seen { rtos: 1, fast_recoveries: 0, ..seen(1154.2, 1) };
    check("cubic", vec![Rule::DropAck(0, 0)], kernel);
}
