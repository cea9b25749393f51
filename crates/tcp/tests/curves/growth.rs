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
