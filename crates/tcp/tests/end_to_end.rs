//! Every registered congestion rule in two whole connections over a fixed path.

mod pair;

use daybreak_tcp::congestion::REGISTRY;
use daybreak_trace::WindowRow;
use daybreak_units::{Duration, Instant, Rate};
use pair::{Pair, Path};

/// A NIC of 40 Gbit/s, a bottleneck of 10 Gbit/s with 350 packets, 40 us, jumbo frames.
const DATA_CENTRE: Path = Path {
    mtu: 9_000,
    nic: Rate::from_bps(40_000_000_000),
    rate: Rate::from_bps(10_000_000_000),
    delay: Duration::from_us(20),
    buffer: 350,
    drop: None,
};

/// 1 Gbit/s, 10 ms, a buffer of one product.
const METRO: Path = Path {
    mtu: 1_500,
    nic: Rate::from_bps(10_000_000_000),
    rate: Rate::from_bps(1_000_000_000),
    delay: Duration::from_ms(5),
    buffer: 830,
    drop: None,
};

/// Sends `bytes` and checks what must hold whatever the rule does.
fn transfer(path: Path, variant: &str, bytes: u64, every: Duration) -> (Pair, Vec<WindowRow>) {
    let mut pair = Pair::new(path, variant);
    pair.start(bytes);
    let end = Instant::ZERO + Duration::from_secs(30);
    let rows = pair.run(end, every, |pair| pair.client.acked_bytes() == bytes);
    assert_eq!(pair.client.acked_bytes(), bytes, "{variant} did not finish by {}", pair.now);
    assert_eq!(pair.server.delivered_bytes(), bytes, "{variant}");
    let counters = pair.client.counters();
    let sent_once = bytes.div_ceil(u64::from(path.mtu) - 52);
    assert_eq!(pair.offered, counters.segments, "{variant}: every segment went to the bottleneck");
    assert_eq!(counters.segments - counters.retransmits, sent_once, "{variant}");
    assert_eq!(counters.retransmits, pair.dropped, "{variant}: sent again is what was lost, and no more");
    assert_eq!((counters.rtos, counters.spurious), (0, 0), "{variant}");
    (pair, rows)
}

#[test]
fn every_rule_fills_ten_gigabit() {
    for entry in REGISTRY {
        let bytes = 256 << 20;
        let (pair, rows) = transfer(DATA_CENTRE, entry.name, bytes, Duration::from_us(100));
        // 8948 of 9014 bytes are payload: 0.2163 s at line rate. 99 % of it, with handshake and start.
        let line = bytes as f64 * 9_014.0 / 8_948.0 * 0.8e-9;
        let share = line / pair.now.as_secs_f64();
        assert!(share > 0.99 && share <= 1.0, "{}: {share} of the link", entry.name);
        // The path holds 6 segments, the buffer 350, the NIC a few; what is lost is not known at once.
        let most = rows.iter().map(|row| u64::from(row.in_flight)).max().unwrap_or(0);
        assert!(most <= 350 + 6 + 8 + pair.dropped, "{}: {most} in flight", entry.name);
        assert!(pair.max_queue <= 351, "{}", entry.name);
    }
}

/// 1000 segments of 8948 bytes, of which the 201st is lost once.
const ONE_LOSS: Path = Path { mtu: 9_000, buffer: 3_000, drop: Some(200), ..METRO };

#[test]
fn every_rule_recovers_from_one_loss() {
    for entry in REGISTRY {
        let (pair, _) = transfer(ONE_LOSS, entry.name, 8_948_000, Duration::from_ms(1));
        let counters = pair.client.counters();
        assert_eq!((counters.retransmits, counters.fast_recoveries), (1, 1), "{}", entry.name);
    }
}

/// Linux 6.1 over the same path: the window when recovery ended, and the completion time.
#[test]
fn the_kernel_with_one_loss() {
    // Westwood's filter has one interval of 51 or 52 ms then, as the jiffies fall.
    let kernel = [("cubic", 140, 0, 135.9), ("reno", 102, 0, 149.2), ("westwood", 14, 1, 284.0)];
    for (variant, cwnd, within, ms) in kernel {
        let (pair, rows) = transfer(ONE_LOSS, variant, 8_948_000, Duration::from_us(100));
        let loss = rows.iter().position(|row| row.state == 3).expect("it enters recovery");
        assert_eq!(rows[loss].time_ns / 100_000, 766, "{variant}: entered as the kernel, at 76.6 ms");
        let open = rows[loss..].iter().find(|row| row.state == 0).expect("it leaves recovery");
        assert!(open.cwnd.abs_diff(cwnd) <= within, "{variant}: {} of {cwnd}", open.cwnd);
        let ours = pair.now.as_secs_f64() * 1e3;
        assert!((ours / ms - 1.0).abs() < 0.005, "{variant}: {ours} of {ms} ms");
    }
}

/// Linux 6.1 over [`DATA_CENTRE`]: the window every 20 ms from 60 ms on, after the first losses.
#[test]
fn the_kernel_over_the_data_centre_path() {
    let kernel =
        [("cubic", [263, 263, 272, 272, 282, 282, 292, 292]), ("reno", [222, 234, 246, 257, 267, 278, 287, 297])];
    for (variant, windows) in kernel {
        let (_, rows) = transfer(DATA_CENTRE, variant, 256 << 20, Duration::from_us(100));
        for (n, cwnd) in windows.into_iter().enumerate() {
            let row = rows[600 + 200 * n - 1];
            assert!(row.cwnd.abs_diff(cwnd) <= 1, "{variant} at {} us: {} of {cwnd}", row.time_ns / 1_000, row.cwnd);
        }
    }
}

/// What Linux 6.1 in virtual time did over [`METRO`] with 256 MiB: retransmissions, `ssthresh` after the
/// last recovery, and the completion time. BBR's pacing releases and its ACKs coincide now and then,
/// and the order of the two moves a few segments.
#[test]
fn the_kernel_over_the_metro_path() {
    let kernel = [("reno", 1_659, 0, 828, 2.322), ("cubic", 83, 0, 1_217, 2.321), ("bbr", 1_732, 2, 962, 2.324)];
    for (variant, retransmits, within, ssthresh, seconds) in kernel {
        let (pair, rows) = transfer(METRO, variant, 256 << 20, Duration::from_ms(1));
        let ours = pair.client.counters().retransmits;
        assert!(ours.abs_diff(retransmits) <= within, "{variant}: {ours} of {retransmits} again");
        assert_eq!(rows[rows.len() - 1].ssthresh, ssthresh, "{variant}");
        assert!((pair.now.as_secs_f64() / seconds - 1.0).abs() < 0.001, "{variant}: {}", pair.now);
    }
}

/// Linux 6.1 over the metro path, CUBIC: HyStart's exit, the loss, and the window every 240 ms after.
#[test]
fn cubic_grows_as_the_kernel_from_start_to_end() {
    let (_, rows) = transfer(METRO, "cubic", 256 << 20, Duration::from_ms(1));
    assert_eq!(rows[99].ssthresh, 1_076, "HyStart ended slow start");
    let at = |ms: usize| rows[ms - 1].cwnd;
    assert_eq!((at(120), at(240)), (1_207, 1_702), "one in twenty until the first loss");
    let kernel = [1_227, 1_260, 1_292, 1_322, 1_351, 1_378, 1_405, 1_430, 1_453];
    for (n, cwnd) in kernel.into_iter().enumerate() {
        let ms = 360 + 240 * n;
        assert!(at(ms).abs_diff(cwnd) <= 1, "{} of {cwnd} at {ms} ms", at(ms));
    }
}

/// Linux 6.1 with default buffers over a NIC and a link of 10 Gbit/s and 40 us: HyStart ends slow start
/// at 24 segments within the first 340 us. It does so only if the receiver acknowledges 1, 2, 3, 4, 6, 8,
/// 9, 10, 11, 12 ... segments, which takes PSH after each half of the window.
#[test]
fn hystart_exits_where_the_kernel_does() {
    let path = Path { nic: DATA_CENTRE.rate, ..DATA_CENTRE };
    let (_, rows) = transfer(path, "cubic", 8 << 20, Duration::from_us(20));
    let exit = rows.iter().find(|row| row.ssthresh < u32::MAX).expect("HyStart ends slow start");
    assert_eq!(exit.ssthresh, 24);
    assert!(exit.time_ns <= 340_000, "{}", exit.time_ns);
}
