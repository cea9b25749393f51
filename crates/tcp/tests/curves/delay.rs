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

/// A segment less each round trip while more than four wait, and then two to four of them.
#[test]
fn vegas_keeps_two_to_four_segments_in_the_queue() {
    let closed = run(WIDE_AREA, "vegas", Duration::from_ms(100), 40.0);
    let rows: Vec<&Sample> = closed.samples.iter().filter(|row| row.at.as_secs_f64() > 2.0).collect();
    let (first, later) = (rows[0], rows.iter().rfind(|row| row.queue > 20).expect("slow start leaves a queue"));
    let shrunk = f64::from(first.cwnd).powi(2) - f64::from(later.cwnd).powi(2);
    let want = 2.0 * WIDE_AREA_SEGMENTS * (later.at - first.at).as_secs_f64();
    assert!((shrunk / want - 1.0).abs() < 0.01, "{shrunk} against {want}");
    // One of those that wait is being sent; which is no delay.
    let settled = &rows[rows.len() - 50..];
    assert!(settled.iter().all(|row| (2..=5).contains(&row.queue)), "{settled:?}");
    assert!(settled.iter().all(|row| row.cwnd == settled[0].cwnd), "{settled:?}");
    assert!(closed.drops.iter().all(|drop| drop.as_secs_f64() < 1.0), "slow start's losses only");
}

/// The queue is taken off the window when more than 80 segments wait, so it never grows much beyond.
#[test]
fn yeah_takes_the_queue_off_at_eighty_segments() {
    let closed = run(WIDE_AREA, "yeah", Duration::from_ms(10), 40.0);
    let rows: Vec<&Sample> = closed.samples.iter().filter(|row| row.at.as_secs_f64() > 4.0).collect();
    // In fast mode a round trip adds 1 % of 500 segments.
    let most = rows.iter().map(|row| row.queue).max().unwrap_or(0);
    assert!((81..=87).contains(&most), "{most} segments");
    let product = WIDE_AREA_SEGMENTS * 0.050_12;
    let least = rows.iter().map(|row| row.cwnd).min().unwrap_or(0);
    assert!((f64::from(least) - product).abs() < 5.0, "{least} of {product}: the queue is taken off, and no more");
    assert!(closed.drops.iter().all(|drop| drop.as_secs_f64() < 3.0), "losses only before it knows the path");
}

/// The clocks of these ends are 2^28 ticks apart, so the rule sees the delay, as one in eight of Linux's connections
/// does. It gives way with the first ACKs; then the clocks' difference hides the delay, and it is Reno.
#[test]
fn lp_gives_way_once_and_is_reno_then() {
    let curve = |rule: &str| run(WIDE_AREA, rule, Duration::from_ms(100), 30.0).samples;
    let (lp, reno) = (curve("lp"), curve("reno"));
    assert_eq!((reno[1].cwnd, lp[1].cwnd), (40, 11), "two round trips after the start");
    let late: Vec<&Sample> = lp.iter().filter(|row| row.at.as_secs_f64() > 3.0).collect();
    let (first, last) = (late[0], late[late.len() - 1]);
    let grown = f64::from(last.cwnd).powi(2) - f64::from(first.cwnd).powi(2);
    let want = 2.0 * WIDE_AREA_SEGMENTS * (last.at - first.at).as_secs_f64();
    assert!((grown / want - 1.0).abs() < 0.005, "{grown} against {want}");
}

/// A growing delay makes a reduction more likely the more it grows: over a queue the window stays small, and before it
/// stands there is nothing to see, so that it grows as Reno's.
#[test]
fn cdg_grows_as_reno_until_a_queue_grows() {
    let closed = run(WIDE_AREA, "cdg", Duration::from_ms(50), 12.0);
    let rows = &closed.samples[40..];
    let (first, last) = (&rows[0], &rows[rows.len() - 1]);
    let trips = (last.at - first.at).as_secs_f64() / 0.050_12;
    assert!(rows.iter().all(|row| row.queue <= 2));
    assert!((f64::from(last.cwnd - first.cwnd) / trips - 1.0).abs() < 0.02, "{first:?} to {last:?}");
    // A queue of 350 packets: Reno fills it again and again, this rule only when five reductions did not help.
    let losses = |rule: &str| run(DATA_CENTRE, rule, Duration::from_ms(1), 0.5).drops.len();
    assert!(losses("cdg") < losses("reno"));
}

/// The window that the rate needs, and ten segments.
#[test]
fn nv_keeps_ten_segments_in_the_queue() {
    let closed = run(DATA_CENTRE, "nv", Duration::from_ms(1), 0.5);
    let rows = &closed.samples[20..];
    assert!(
        rows.iter().all(|row| (8..=11).contains(&row.queue)),
        "{:?}",
        rows.iter().map(|row| row.queue).collect::<Vec<_>>()
    );
    assert!(closed.drops.is_empty());
    let share = (rows[rows.len() - 1].delivered - rows[0].delivered) as f64
        / ((rows[rows.len() - 1].at - rows[0].at).as_secs_f64() * 10e9 / 8.0 / 9_014.0);
    assert!(share > 0.999, "{share} of the link");
}
