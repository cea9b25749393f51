//! Rules whose window grows by a law of their own: their curves over a path against the equations.

use super::*;

/// The samples of each epoch: Open, from one reduction to the next.
fn epochs(rows: &[Sample]) -> Vec<&[Sample]> {
    let first = rows.iter().position(|row| row.state != CaState::Open).expect("it loses");
    rows[first..].split(|row| row.state != CaState::Open).filter(|epoch| epoch.len() > 20).collect()
}

/// What the window gains from the first sample of an epoch to the last, and the integral of `rate` (segments a second
/// at a sample).
fn gains(epoch: &[Sample], rate: impl Fn(&Sample) -> f64) -> (f64, f64) {
    let gained = f64::from(epoch[epoch.len() - 1].cwnd) - f64::from(epoch[0].cwnd);
    let due = epoch.windows(2).map(|pair| rate(&pair[0]) * (pair[1].at - pair[0].at).as_secs_f64());
    (gained, due.sum())
}

/// Every acknowledged segment adds a hundredth: with a full link the same in every second.
#[test]
fn scalable_adds_a_hundredth_for_every_segment() {
    let closed = run(WIDE_AREA, "scalable", Duration::from_ms(20), 30.0);
    let epochs = epochs(&closed.samples);
    assert!(epochs.len() > 5, "{} losses", epochs.len());
    for epoch in epochs {
        let (gained, due) = gains(epoch, |_| 0.01 * WIDE_AREA_SEGMENTS);
        assert!((gained - due).abs() < 1.0 + 0.01 * due, "{gained} of {due}");
    }
}

/// While nothing waits the sum of both windows gains `w^(3/4) / 8` each round trip, so that its fourth root gains 1/32 in
/// the long run; a segment more or less is what rounding makes of the delay window.
#[test]
fn compound_grows_by_the_fourth_root_of_the_cube_until_segments_wait() {
    let closed = run(Path { buffer: 60, ..WIDE_AREA }, "compound", Duration::from_ms(20), 40.0);
    // The path holds 416 segments.
    let empty = |row: &Sample| row.state == CaState::Open && row.cwnd < 410;
    let rate = |row: &Sample| f64::from(row.cwnd).powf(0.75) / 8.0 / 0.05;
    let spells: Vec<_> = closed.samples.split(|row| !empty(row)).filter(|rows| rows.len() > 20).skip(1).collect();
    assert!(!spells.is_empty(), "it never leaves the link free");
    for spell in spells {
        let (gained, due) = gains(spell, rate);
        assert!((gained - due).abs() < 2.0 + 0.05 * due, "{gained} of {due}");
    }
}

/// `a(w)` of RFC 3649, section 5, each round trip; appendix B's table takes the next whole number.
#[test]
fn highspeed_grows_by_its_response_function() {
    let b = |w: f64| (0.1 - 0.5) * (w / 38.0).ln() / (83_000f64 / 38.0).ln() + 0.5;
    let a = |w: f64| (w * w * 2.0 * b(w) / ((2.0 - b(w)) * w.powf(1.2) * 12.8)).ceil();
    let closed = run(WIDE_AREA, "highspeed", Duration::from_ms(20), 40.0);
    let rows = &closed.samples;
    for epoch in epochs(rows) {
        let (gained, due) = gains(epoch, |row| a(f64::from(row.cwnd)) * WIDE_AREA_SEGMENTS / f64::from(row.cwnd));
        assert!((gained / due - 1.0).abs() < 0.02, "{gained} of {due}");
    }
    let reduced = rows.windows(2).filter(|pair| pair[1].ssthresh < pair[0].ssthresh && pair[0].ssthresh < u32::MAX);
    for pair in reduced {
        let kept = f64::from(pair[1].ssthresh) / f64::from(pair[0].cwnd);
        assert!((kept - (1.0 - b(f64::from(pair[0].cwnd)))).abs() < 0.02, "{kept} of {}", pair[0].cwnd);
    }
}

/// The search: a quarter of the distance to `W_max` each round trip, between 1/5 and 16 segments. The mean number of
/// segments an ACK falls from the two that are assumed to one with the duplicates of some losses.
#[test]
fn bic_searches_for_the_window_of_the_last_loss() {
    let closed = run(WIDE_AREA, "bic", Duration::from_ms(20), 150.0);
    let rows = &closed.samples;
    let entered = |i: &usize| rows[*i].state == CaState::Recovery && rows[i - 1].state == CaState::Open;
    let (mut searches, mut last) = (0, 0.0);
    for (n, loss) in (1..rows.len()).filter(entered).enumerate() {
        let w_max = f64::from(rows[loss - 1].cwnd);
        // A loss below the last one aims lower (fast convergence): 0.9 of it.
        let aims_lower = w_max < last;
        last = if aims_lower { 0.9 * w_max } else { w_max };
        if aims_lower || n < 8 {
            continue;
        }
        let Some(open) = (loss..rows.len()).find(|&i| rows[i].state == CaState::Open) else { break };
        let is_below = |row: &&Sample| row.state == CaState::Open && f64::from(row.cwnd) < w_max - 8.0;
        let epoch: Vec<Sample> = rows[open..].iter().take_while(is_below).copied().collect();
        let step = |row: &Sample| ((w_max - f64::from(row.cwnd)) / 4.0).clamp(0.2, 16.0);
        let (gained, due) = gains(&epoch, |row| step(row) * WIDE_AREA_SEGMENTS / f64::from(row.cwnd));
        assert!((gained / due - 1.0).abs() < 0.04, "{gained} of {due}");
        searches += 1;
    }
    assert!(searches > 2, "{searches} searches");
}

/// `alpha` since the last loss, scaled by the RTT against 100 ms, each round trip.
#[test]
fn htcp_grows_by_the_square_of_the_time_since_a_loss() {
    let closed = run(Path { buffer: 800, ..WIDE_AREA }, "htcp", Duration::from_ms(20), 60.0);
    let epochs = epochs(&closed.samples);
    assert!(epochs.len() > 3, "{} losses", epochs.len());
    for (n, epoch) in epochs.into_iter().enumerate().skip(1) {
        let since = |row: &Sample| (row.at - epoch[0].at).as_secs_f64() - 1.0;
        let late: Vec<Sample> = epoch.iter().copied().filter(|row| since(row) > 1.0).collect();
        // 51 ms of 100, as the smallest RTT is rounded up to jiffies; 2 (1 - beta) is 1 where beta is 1/2.
        let beta = f64::from(epoch[0].ssthresh) / f64::from(WIDE_AREA_PEAK);
        let scale = 2.0 * (1.0 - beta.clamp(0.5, 0.8)) * 0.51;
        let alpha = |t: f64| scale * (1.0 + 10.0 * t + (t / 2.0).powi(2));
        let (gained, due) = gains(&late, |row| alpha(since(row)) * WIDE_AREA_SEGMENTS / f64::from(row.cwnd));
        assert!((gained / due - 1.0).abs() < 0.08, "{gained} of {due} in epoch {n}");
    }
}

/// Product and a buffer of 800.
const WIDE_AREA_PEAK: u32 = 416 + 800;

/// `rho^2` segments each round trip: 64 with an RTT of 200 ms, the speed of 25 ms.
#[test]
fn hybla_grows_by_rho_squared() {
    let slow = Path { rate: Rate::from_bps(20_000_000), delay: Duration::from_ms(200), buffer: 333, ..WIDE_AREA };
    let closed = run(slow, "hybla", Duration::from_ms(20), 30.0);
    let segments = WIDE_AREA_SEGMENTS / 5.0;
    for epoch in epochs(&closed.samples) {
        let (gained, due) = gains(epoch, |row| 64.0 * segments / f64::from(row.cwnd));
        // What an ACK earns is cut off to 1/128: 64 of 500 segments are 16.4, so 16.
        assert!((0.93..1.01).contains(&(gained / due)), "{gained} of {due}");
    }
    // With an RTT of 25 ms or less it is Reno. (Each counts the window's worth of ACKs, one more at most.)
    let near = Path { delay: Duration::from_ms(20), buffer: 166, ..WIDE_AREA };
    let closed = run(near, "hybla", Duration::from_ms(20), 20.0);
    for epoch in epochs(&closed.samples) {
        let (gained, due) = gains(epoch, |row| WIDE_AREA_SEGMENTS / f64::from(row.cwnd));
        assert!((gained - due).abs() < 2.0 + 0.02 * due, "{gained} of {due}");
    }
}

/// `alpha(d)` of the queueing delay in the round trip before, each round trip.
#[test]
fn illinois_grows_more_slowly_the_longer_the_queue_is() {
    let closed = run(WIDE_AREA, "illinois", Duration::from_ms(10), 40.0);
    // The largest delay: a full buffer.
    let full = 416.0 / WIDE_AREA_SEGMENTS;
    let low = full / 100.0;
    let alpha = |d: f64| match d > low {
        true => (full - low) * 0.3 * 10.0 / 9.7 / ((full - low) * 0.3 / 9.7 - low + d),
        false => 10.0,
    };
    let rows = &closed.samples;
    let opened = rows.iter().rposition(|row| row.state != CaState::Open).expect("it loses") + 50;
    let epoch = &rows[opened..];
    // The mean of a round trip counts in the next: about one and a half ago.
    let before = |row: &Sample| {
        let trip = f64::from(row.cwnd) / WIDE_AREA_SEGMENTS;
        let at = row.at.as_secs_f64() - 1.5 * trip;
        rows.iter().rfind(|earlier| earlier.at.as_secs_f64() <= at).map_or(0, |earlier| earlier.queue)
    };
    let (gained, due) =
        gains(epoch, |row| alpha(before(row) as f64 / WIDE_AREA_SEGMENTS) * WIDE_AREA_SEGMENTS / f64::from(row.cwnd));
    assert!(gained > 50.0 && (gained / due - 1.0).abs() < 0.03, "{gained} of {due}");
}
