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
