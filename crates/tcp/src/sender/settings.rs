//! What a connection's configuration sets for its sending half, in the sender's units.

use daybreak_units::Duration;

use super::clock::Clock;
use crate::config::{Config, Profile};

/// The settings. They do not change.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// RACK loss detection.
    pub rack: bool,
    /// RACK's reordering window does not adapt.
    pub rack_static_window: bool,
    /// The reordering degree does not end RACK's wait.
    pub rack_no_threshold: bool,
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
    pub profile: Profile,
}

impl Settings {
    pub fn new(config: &Config, clock: &Clock) -> Self {
        Self {
            rack: config.rack,
            rack_static_window: config.rack_static_window,
            rack_no_threshold: config.rack_no_threshold,
            frto: config.frto,
            tail_loss_probe: config.tail_loss_probe,
            slow_start_after_idle: config.slow_start_after_idle,
            initial_window: config.initial_window.max(1),
            reordering: config.reordering,
            max_reordering: config.max_reordering,
            rto_initial: jiffies(clock, config.rto_initial),
            profile: config.profile,
        }
    }
}

/// The ticks of `span`, rounded up.
pub(super) fn jiffies(clock: &Clock, span: Duration) -> u64 {
    clock.jiffies_in(span.as_us())
}
