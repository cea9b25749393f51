//! AIMD(a, b): `a` segments more per round trip, and the part `b` of the window less at a loss (Yang and Lam, "General
//! AIMD Congestion Control", ICNP 2000).
//!
//! Slow start, loss detection, proportional rate reduction and undo are those of every rule.

use daybreak_units::parameters::Parameter;

use super::{AckSample, Capabilities, Congestion, Context, Entry, Window};

/// The rule in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "aimd",
    summary: "AIMD(a, b) (Yang and Lam, 2000)",
    parameters: &[
        Parameter::number("increase", 1.0, (0.01, 100.0), "segments more per round trip"),
        Parameter::number("decrease", 0.5, (0.01, 0.99), "part of the window that a loss takes off"),
    ],
    capabilities: Capabilities::NONE,
    new: |settings, _seed| {
        Box::new(Aimd { increase: settings.number("increase"), decrease: settings.number("decrease") })
    },
};

/// The rule of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Aimd {
    increase: f64,
    decrease: f64,
}

impl Congestion for Aimd {
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        // What slow start leaves of an ACK counts for the additive increase.
        if let Some(acked) = window.past_slow_start(ack) {
            window.additive_increase((f64::from(window.cwnd) / self.increase) as u32, acked);
        }
    }

    fn ssthresh(&mut self, window: &Window, _ctx: &Context) -> u32 {
        ((f64::from(window.cwnd) * (1.0 - self.decrease)) as u32).max(2)
    }
}
