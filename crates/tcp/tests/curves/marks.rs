//! Rules that answer congestion marks: their curves over a queue that marks above a threshold.

use super::*;

/// Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.3: the window of one flow grows by a segment a round
/// trip until it is marked at `W* = product + K`; then `alpha^2 (1 - alpha/4) = (2 W* + 1) / (W* + 1)^2` (equation 6), and
/// the window swings by `(W* + 1) alpha / 2` (equation 8). There it falls at once. With PRR it takes a round trip to do so,
/// which is marked as well, so that it swings further, by less than half. The weight of 1/16 is too large for paths of more
/// than 246 segments (equation 15).
#[test]
fn dctcp_swings_below_its_threshold_as_its_paper_derives() {
    for (marking, rtt_ms) in [(20, 3), (60, 8), (100, 12), (30, 20), (8, 20)] {
        let path = Path { buffer: 2_000, marking, delay: Duration::from_ms(rtt_ms), ..WIDE_AREA };
        let closed = run(path, "dctcp", Duration::from_ms(rtt_ms) / 4, 3.0 * rtt_ms as f64);
        let peak = WIDE_AREA_SEGMENTS * path.delay.as_secs_f64() + 1.0 + marking as f64;
        let alpha = solve(|alpha| alpha.powi(2) * (1.0 - alpha / 4.0) - (2.0 * peak + 1.0) / (peak + 1.0).powi(2));
        let swing = (peak + 1.0) * alpha / 2.0;
        let rows = &closed.samples[closed.samples.len() * 2 / 3..];
        let highest = f64::from(rows.iter().map(|row| row.cwnd).max().unwrap_or(0));
        assert!((highest - peak).abs() <= 1.0, "K = {marking}: {highest} of {peak}");
        let mut troughs: Vec<u32> = rows
            .windows(2)
            .filter(|pair| pair[0].state == CaState::Cwr && pair[1].state == CaState::Open)
            .map(|pair| pair[1].ssthresh)
            .collect();
        // Of two reductions in a row the second is the trough.
        troughs.sort_unstable();
        let trough = f64::from(troughs[troughs.len() / 4]);
        assert!(
            (1.0..1.5).contains(&((highest - trough) / swing)),
            "K = {marking}: {highest} to {trough}, not {swing}"
        );
        // The queue stays at its threshold, and does not run empty where that is a seventh of the product (equation 13).
        assert!(rows.iter().all(|row| row.queue <= marking + 1) && closed.drops.is_empty());
        if marking as f64 > (peak - marking as f64) / 7.0 {
            assert!(rows.iter().all(|row| row.queue > 0), "K = {marking}");
        }
    }
}

/// Where `f`, which grows, is zero between 0 and 1.
fn solve(f: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if f(middle) < 0.0 { low = middle } else { high = middle }
    }
    low
}
