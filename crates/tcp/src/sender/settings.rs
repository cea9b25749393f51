//! What a connection's configuration sets for its sending half, in the sender's units.

use daybreak_units::{Duration, Rate};

use super::clock::Clock;
use crate::config::{Config, Profile};

/// The settings. They do not change.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// RACK loss detection.
    pub rack: bool,
    pub frto: bool,
    pub tail_loss_probe: bool,
    pub slow_start_after_idle: bool,
    /// In segments; also the restart window after idle, and the floor of the decay of an unused window.
    pub initial_window: u32,
    /// The reordering degree at the start, in segments.
    pub reordering: u32,
    pub max_reordering: u32,
    /// The timeout before the first RTT sample, in jiffies.
    pub rto_initial: u64,
    /// Percent of `cwnd / srtt` in slow start.
    pub pacing_ss_ratio: u32,
    /// Percent of `cwnd / srtt` in congestion avoidance.
    pub pacing_ca_ratio: u32,
    /// Largest pacing rate in bytes a second.
    pub max_pacing_bytes: u64,
    pub profile: Profile,
}

impl Settings {
    pub fn new(config: &Config, clock: &Clock) -> Self {
        let max_pacing_bytes = match config.max_pacing_rate {
            Rate::ZERO => u64::MAX / 8,
            rate => rate.as_bytes_per_sec(),
        };
        Self {
            rack: config.rack,
            frto: config.frto,
            tail_loss_probe: config.tail_loss_probe,
            slow_start_after_idle: config.slow_start_after_idle,
            initial_window: config.initial_window.max(1),
            reordering: config.reordering,
            max_reordering: config.max_reordering,
            rto_initial: jiffies(clock, config.rto_initial),
            pacing_ss_ratio: config.pacing_ss_ratio,
            pacing_ca_ratio: config.pacing_ca_ratio,
            max_pacing_bytes,
            profile: config.profile,
        }
    }
}

/// The ticks of `span`, rounded up.
pub(super) fn jiffies(clock: &Clock, span: Duration) -> u64 {
    clock.jiffies_in(span.as_us())
}
