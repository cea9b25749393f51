//! The rule of docs/tutorials/extend.md compiles where that page puts it, and does what it says.

use daybreak_tcp::congestion::{AckSample, Capabilities, Congestion, Context, Entry, Rule, Window};
use daybreak_units::parameters::Value;

#[path = "../../../docs/tutorials/aimd.rs"]
mod aimd;

fn aimd(increase: f64, decrease: f64) -> Rule {
    let given = [("increase", Value::Number(increase)), ("decrease", Value::Number(decrease))];
    aimd::ENTRY.make(&aimd::ENTRY.settings(given).unwrap(), 1)
}

/// The window after this number of round trips, each with an ACK for each segment.
fn after(round_trips: u32, mut rule: Rule, mut window: Window) -> u32 {
    for _ in 0..round_trips {
        for _ in 0..window.cwnd {
            let ack = AckSample { newly_delivered: 1, is_cwnd_limited: true, ..AckSample::default() };
            rule.control.on_ack(&mut window, &ack);
        }
    }
    window.cwnd
}

#[test]
fn the_window_grows_by_a_segments_a_round_trip() {
    assert_eq!(after(10, aimd(1.0, 0.5), Window::new(100, 50)), 110);
    assert_eq!(after(10, aimd(2.0, 0.5), Window::new(100, 50)), 120);
    assert_eq!(after(3, aimd(1.0, 0.5), Window::new(10, 80)), 80, "slow start");
}

#[test]
fn a_loss_takes_the_part_b() {
    let ssthresh = |decrease| aimd(1.0, decrease).control.ssthresh(&Window::new(100, 50), &Context::default());
    assert_eq!((ssthresh(0.5), ssthresh(0.125), ssthresh(0.99)), (50, 87, 2));
}
