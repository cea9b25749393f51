//! The clocks of a stack: microseconds for measuring, jiffies for timers.

use daybreak_units::{Duration, Instant};

use crate::jiffies::Jiffies;

const PS_PER_US: u64 = 1_000_000;

/// The time of the input that is being processed, read once (`tcp_mstamp`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub now: Instant,
    /// Whole microseconds: what RTTs are made of.
    pub now_us: u64,
    /// Ticks so far (`tcp_jiffies32`).
    pub jiffies: u64,
    jiffy_ps: u64,
    /// A jiffy in microseconds, rounded up.
    jiffy_us: u64,
    /// Start of the next tick, so that most readings need no division.
    tick_end_ps: u64,
    /// The value of the timestamp option now (RFC 7323), never zero before it wraps.
    pub timestamp: u32,
    timestamp_tick_ps: u64,
    timestamp_end_ps: u64,
}

impl Clock {
    pub fn new(jiffy: Duration, timestamp_tick: Duration) -> Self {
        let jiffy_ps = jiffy.as_ps().max(1);
        let timestamp_tick_ps = timestamp_tick.as_ps().max(1);
        Self {
            now: Instant::ZERO,
            now_us: 0,
            jiffies: 0,
            jiffy_ps,
            jiffy_us: jiffy_ps.div_ceil(PS_PER_US),
            tick_end_ps: jiffy_ps,
            timestamp: 1,
            timestamp_tick_ps,
            timestamp_end_ps: timestamp_tick_ps,
        }
    }

    #[inline]
    pub fn advance(&mut self, now: Instant) {
        if now == self.now {
            return;
        }
        self.now = now;
        self.now_us = now.as_ps() / PS_PER_US;
        if now.as_ps() >= self.tick_end_ps {
            self.jiffies = now.as_ps() / self.jiffy_ps;
            self.tick_end_ps = (self.jiffies + 1) * self.jiffy_ps;
        }
        if now.as_ps() >= self.timestamp_end_ps {
            let ticks = now.as_ps() / self.timestamp_tick_ps;
            self.timestamp = (ticks + 1) as u32;
            self.timestamp_end_ps = (ticks + 1) * self.timestamp_tick_ps;
        }
    }

    /// Length of a tick.
    pub fn jiffy(&self) -> Duration {
        Duration::from_ps(self.jiffy_ps)
    }

    /// The timestamp of a segment that was sent at `sent_us`.
    pub fn timestamp_of(&self, sent_us: u64) -> u32 {
        (sent_us * PS_PER_US / self.timestamp_tick_ps + 1) as u32
    }

    /// The microseconds of `ticks` of the timestamp option.
    pub fn timestamp_us(&self, ticks: u32) -> u64 {
        u64::from(ticks) * self.timestamp_tick_ps / PS_PER_US
    }

    /// The ticks that `us` microseconds take, rounded up.
    #[inline]
    pub fn jiffies_in(&self, us: u64) -> u64 {
        (us * PS_PER_US).div_ceil(self.jiffy_ps)
    }

    /// The microseconds of `jiffies`.
    #[inline]
    pub fn us_in(&self, jiffies: u64) -> u64 {
        jiffies * self.jiffy_ps / PS_PER_US
    }

    /// At least the microseconds of `jiffies`, without a division.
    #[inline]
    pub fn us_within(&self, jiffies: u64) -> u64 {
        jiffies * self.jiffy_us
    }

    /// When a timer fires that is set to `timeout` ticks from now. Linux keeps timers on a wheel of
    /// levels, each eight times coarser, and never fires early: a timer waits for the end of its
    /// slot, so 200 ticks can become 208.
    #[inline]
    pub fn expiry(&self, timeout: u64) -> Instant {
        Jiffies::new(self.jiffy()).fires(self.jiffies, self.jiffies + timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_end_on_ticks_and_never_early() {
        let mut clock = Clock::new(Duration::from_ms(1), Duration::from_ms(1));
        clock.advance(Instant::ZERO + Duration::from_us(2_500));
        assert_eq!(clock.jiffies, 2);
        assert_eq!(clock.expiry(3), Instant::ZERO + Duration::from_ms(6));
        // 202 ticks lie on the second level, whose slots are 8 ticks long.
        assert_eq!(clock.expiry(200), Instant::ZERO + Duration::from_ms(208));
        // 1002 on the third: 64 ticks.
        assert_eq!(clock.expiry(1_000), Instant::ZERO + Duration::from_ms(1_024));
        assert_eq!(clock.jiffies_in(1), 1);
        assert_eq!(clock.jiffies_in(2_000), 2);
    }
}
