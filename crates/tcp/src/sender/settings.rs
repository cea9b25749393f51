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
            rack: config.rack || (config.profile.always_rack && !config.profile.fack),
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

/// The shortest variance term of the RTO. Linux 6.1.192 has it in milliseconds (`ip route ... rto_min`) and counts it in
/// ticks, rounded up. One below a millisecond, which it does not have, stays as it is.
pub(super) fn rto_min_us(config: &Config, clock: &Clock) -> u32 {
    let us = config.rto_min.as_us();
    let us = if us < 1_000 { us } else { clock.us_in(clock.jiffies_in(us)) };
    us.min(u64::from(u32::MAX)) as u32
}

/// The ticks of `span`, rounded up.
pub(super) fn jiffies(clock: &Clock, span: Duration) -> u64 {
    clock.jiffies_in(span.as_us())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_rto_is_whole_ticks_where_linux_has_it() {
        let clock = Clock::new(Duration::from_ms(4), Duration::from_ms(1), 0);
        let least = |rto_min| rto_min_us(&Config { rto_min, ..Config::default() }, &clock);
        for (ms, us) in [(1, 4_000), (21, 24_000), (94, 96_000), (200, 200_000)] {
            assert_eq!(least(Duration::from_ms(ms)), us);
        }
        assert_eq!(least(Duration::from_us(40)), 40);
    }
}
