//! Rules that look at the delay: their curves over a path against what they aim at.

use super::*;

/// With three segments in queues one segment in two round trips: half of what Reno's square gains.
#[test]
fn veno_grows_half_as_fast_with_a_queue() {
    let closed = run(WIDE_AREA, "veno", Duration::from_ms(100), 30.0);
    let rows: Vec<&Sample> = closed.samples.iter().filter(|row| row.at.as_secs_f64() > 3.0).collect();
    let (first, last) = (rows[0], rows[rows.len() - 1]);
    assert_eq!(first.ssthresh, 416, "half: the path was congested");
    let grown = f64::from(last.cwnd).powi(2) - f64::from(first.cwnd).powi(2);
    let want = WIDE_AREA_SEGMENTS * (last.at - first.at).as_secs_f64();
    assert!((grown / want - 1.0).abs() < 0.01, "{grown} against {want}");
}
