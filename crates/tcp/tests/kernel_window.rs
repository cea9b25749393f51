//! What ends the growth of a window, beside the real kernel: small queues, the peer's window, or loss.
//! 10 Gbit/s, 40 us, MTU 9000, 256 MiB (see `lab`; the numbers are Linux 6.1's on that path).

mod lab;

use daybreak_units::{Duration, Instant, Rate};
use lab::{Lab, Setup};

const DEFAULT_MEMORY: [u64; 2] = [6_291_456, 4_194_304];

fn data_centre() -> Setup {
    Setup {
        rate: Rate::from_bps(10_000_000_000),
        delay: Duration::from_us(20),
        limit: 350,
        bytes: 268_435_456,
        ..Setup::default()
    }
}

/// Thresholds in the order of their appearance, with the time in milliseconds.
fn thresholds(lab: &Lab) -> Vec<(f64, u32)> {
    let mut seen: Vec<(f64, u32)> = Vec::new();
    for (at, _, _, ssthresh, _) in &lab.windows {
        if seen.last().is_none_or(|last| last.1 != *ssthresh) {
            seen.push((at.as_secs_f64() * 1e3, *ssthresh));
        }
    }
    seen
}

fn most(lab: &Lab) -> (u32, u32) {
    let cwnd = lab.windows.iter().map(|row| row.2).max().expect("ACKs came");
    let in_flight = lab.windows.iter().map(|row| row.4).max().expect("ACKs came");
    (cwnd, in_flight)
}

fn finished_within(end: Instant, kernel_ms: f64, percent: f64) {
    let ms = end.as_secs_f64() * 1e3;
    assert!((ms / kernel_ms - 1.0).abs() < percent / 100.0, "{ms} ms, the kernel {kernel_ms}");
}

/// The NIC is the bottleneck: small queues hold a MiB there, and a window that is not filled does not
/// grow. The kernel: 122 or 123 segments, 114 to 116 in flight.
#[test]
fn small_queues_end_the_growth() {
    let mut lab = Lab::new(Setup { memory: DEFAULT_MEMORY, ..data_centre() });
    finished_within(lab.run(), 216.45, 0.1);
    let (cwnd, in_flight) = most(&lab);
    assert!((121..=124).contains(&cwnd) && (113..=116).contains(&in_flight), "{cwnd}, {in_flight} in flight");
}

/// Without small queues the peer's window of 3,141,248 bytes ends it: 351 segments. The kernel's
/// window: 369.
#[test]
fn the_receive_window_ends_the_growth() {
    let mut lab = Lab::new(Setup { memory: DEFAULT_MEMORY, small_queues: None, ..data_centre() });
    finished_within(lab.run(), 216.45, 0.1);
    let (cwnd, in_flight) = most(&lab);
    assert!((362..=372).contains(&cwnd) && in_flight == 351, "{cwnd}, {in_flight} in flight");
}

/// A queue of 350 behind the NIC, CUBIC. The kernel: HyStart leaves slow start at 24, one loss event at
/// 51.0 ms with 19 losses, `ssthresh` 262, and no second one.
#[test]
fn cubic_meets_a_drop_tail_queue() {
    let mut lab = Lab::new(Setup { nic: Rate::from_bps(40_000_000_000), ..data_centre() });
    finished_within(lab.run(), 216.48, 0.1);
    let seen = thresholds(&lab);
    let values: Vec<u32> = seen.iter().map(|&(_, ssthresh)| ssthresh).collect();
    assert_eq!(values, [u32::MAX, 24, 262]);
    assert!((seen[2].0 - 51.0).abs() < 0.5, "the loss came at {} ms", seen[2].0);
    assert_eq!((lab.drops, lab.ends[0].counters().retransmits), (19, 19));
}

/// The same with Reno. The kernel: slow start ends by loss at 8.2 ms; `ssthresh` is half of a window
/// twice as large as what was in flight, so a second event follows at 14.4 ms; 66 losses in all.
#[test]
fn reno_overshoots_twice() {
    let setup = Setup { variant: "reno", nic: Rate::from_bps(40_000_000_000), ..data_centre() };
    let mut lab = Lab::new(setup);
    finished_within(lab.run(), 216.48, 0.1);
    let seen = thresholds(&lab);
    let values: Vec<u32> = seen.iter().map(|&(_, ssthresh)| ssthresh).collect();
    assert_eq!(values, [u32::MAX, 389, 194]);
    assert!((seen[1].0 - 8.2).abs() < 0.1 && (seen[2].0 - 14.4).abs() < 0.1, "{seen:?}");
    assert_eq!((lab.drops, lab.ends[0].counters().retransmits), (66, 66));
}

/// 1 Gbit/s, 10 ms, MTU 1500, a queue of one product (830). The kernel, CUBIC: HyStart leaves slow start
/// at 1076 after 86 ms, one loss event at 249 ms with 83 losses, `ssthresh` 1217; Reno: loses half of a
/// window of 3316 at 115 ms and some of its retransmissions at 155 ms, 1659 in all.
#[test]
fn a_metropolitan_path() {
    let metro = |variant| Setup { variant, mtu: 1_500, limit: 830, bytes: 268_435_456, ..Setup::default() };
    for (variant, losses, expected) in
        [("cubic", 83, [(85.6, 1_076), (249.0, 1_217)]), ("reno", 1_659, [(115.3, 1_657), (155.4, 828)])]
    {
        let mut lab = Lab::new(metro(variant));
        finished_within(lab.run(), 2_320.95, 0.1);
        let seen = &thresholds(&lab)[1..];
        assert_eq!(seen.len(), 2, "{variant}: {seen:?}");
        for (ours, kernel) in seen.iter().zip(expected) {
            assert!((ours.0 - kernel.0).abs() < 0.5 && ours.1 == kernel.1, "{variant}: {ours:?}, {kernel:?}");
        }
        assert_eq!((lab.drops, lab.ends[0].counters().retransmits), (losses, losses), "{variant}");
    }
}
