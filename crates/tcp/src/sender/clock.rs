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
    jiffy_us: u32,
    /// Low bits of the jiffy that follows the one in which a timer fired last.
    wheel: u32,
    /// Start of the next tick of either kind, so that most readings need no division.
    tick_end_ps: u64,
    /// The value of the timestamp option now (RFC 7323), never zero before it wraps.
    pub timestamp: u32,
    timestamp_tick_ps: u64,
    /// Its value at the start.
    timestamp_start: u32,
}

/// The last answer of [`Clock::jiffies_near`], and for which microseconds it holds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memo {
    above_us: u64,
    up_to_us: u64,
    jiffies: u64,
}

impl Clock {
    /// `timestamp_offset` is what the timestamp option shows at the start, less one.
    pub fn new(jiffy: Duration, timestamp_tick: Duration, timestamp_offset: u32) -> Self {
        let jiffy_ps = jiffy.as_ps().max(1);
        let timestamp_tick_ps = timestamp_tick.as_ps().max(1);
        Self {
            now: Instant::ZERO,
            now_us: 0,
            jiffies: 0,
            jiffy_ps,
            jiffy_us: u32::try_from(jiffy_ps.div_ceil(PS_PER_US)).unwrap_or(u32::MAX),
            wheel: 0,
            tick_end_ps: jiffy_ps.min(timestamp_tick_ps),
            timestamp: timestamp_offset.wrapping_add(1),
            timestamp_tick_ps,
            timestamp_start: timestamp_offset.wrapping_add(1),
        }
    }

    #[inline]
    pub fn advance(&mut self, now: Instant) {
        self.now = now;
        self.now_us = now.as_ps() / PS_PER_US;
        if now.as_ps() >= self.tick_end_ps {
            self.tick();
        }
    }

    /// A jiffy or a tick of the timestamp is over.
    #[cold]
    fn tick(&mut self) {
        self.jiffies = self.now.as_ps() / self.jiffy_ps;
        let ticks = self.now.as_ps() / self.timestamp_tick_ps;
        self.timestamp = self.timestamp_start.wrapping_add(ticks as u32);
        self.tick_end_ps = ((self.jiffies + 1) * self.jiffy_ps).min((ticks + 1) * self.timestamp_tick_ps);
    }

    /// Length of a tick.
    pub fn jiffy(&self) -> Duration {
        Duration::from_ps(self.jiffy_ps)
    }

    /// The timestamp of a segment that was sent at `sent_us`.
    pub fn timestamp_of(&self, sent_us: u64) -> u32 {
        self.timestamp_start.wrapping_add((sent_us * PS_PER_US / self.timestamp_tick_ps) as u32)
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

    /// The whole ticks in `span`.
    #[inline]
    pub fn whole_jiffies_in(&self, span: Duration) -> u64 {
        span.as_ps() / self.jiffy_ps
    }

    /// The microseconds of `jiffies`.
    #[inline]
    pub fn us_in(&self, jiffies: u64) -> u64 {
        jiffies * self.jiffy_ps / PS_PER_US
    }

    /// [`Clock::jiffies_in`] of a value that changes little from call to call.
    #[inline]
    pub fn jiffies_near(&self, us: u64, memo: &mut Memo) -> u64 {
        if us <= memo.above_us || us > memo.up_to_us {
            *memo = self.bracket(us);
        }
        memo.jiffies
    }

    #[cold]
    fn bracket(&self, us: u64) -> Memo {
        let jiffies = self.jiffies_in(us);
        let above_us = if jiffies == 0 { 0 } else { self.us_in(jiffies - 1) };
        Memo { above_us, up_to_us: self.us_in(jiffies), jiffies }
    }

    /// At least the microseconds of `jiffies`, without a division.
    #[inline]
    pub fn us_within(&self, jiffies: u64) -> u64 {
        jiffies * u64::from(self.jiffy_us)
    }

    /// A timer of the wheel fires: the wheel goes on to the next jiffy before.
    pub fn timer_fires(&mut self) {
        self.wheel = (self.jiffies + 1) as u32;
    }

    /// When a timer fires that is set to `timeout` ticks from now. Linux keeps timers on a wheel of
    /// levels, each eight times coarser, and never fires early: a timer waits for the end of its
    /// slot, so 200 ticks can become 208. Which level it is counts from where the wheel is: in a jiffy in which a timer has
    /// fired that is the next one, so that 504 ticks are of the finer level.
    #[inline]
    pub fn expiry(&self, timeout: u64) -> Instant {
        let next = self.jiffies + 1;
        let wheel = if self.wheel == next as u32 { next } else { self.jiffies };
        Jiffies::new(self.jiffy()).fires(wheel, self.jiffies + timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_start_anywhere_and_wrap() {
        let mut clock = Clock::new(Duration::from_ms(1), Duration::from_ms(1), u32::MAX - 2);
        assert_eq!(clock.timestamp, u32::MAX - 1);
        clock.advance(Instant::ZERO + Duration::from_us(3_999));
        assert_eq!((clock.timestamp, clock.timestamp_of(1_999), clock.timestamp_of(2_000)), (1, u32::MAX, 0));
        let config = crate::config::Config { timestamp_offset: u32::MAX - 2, ..Default::default() };
        assert_eq!(config.timestamp(clock.now), clock.timestamp);
    }

    #[test]
    fn timers_end_on_ticks_and_never_early() {
        let mut clock = Clock::new(Duration::from_ms(1), Duration::from_ms(1), 0);
        clock.advance(Instant::ZERO + Duration::from_us(2_500));
        assert_eq!(clock.jiffies, 2);
        assert_eq!(clock.expiry(3), Instant::ZERO + Duration::from_ms(6));
        // 202 ticks lie on the second level, whose slots are 8 ticks long.
        assert_eq!(clock.expiry(200), Instant::ZERO + Duration::from_ms(208));
        // 1002 on the third: 64 ticks.
        assert_eq!(clock.expiry(1_000), Instant::ZERO + Duration::from_ms(1_024));
        // 504 are the first of the third, but not if a timer has just fired.
        assert_eq!(clock.expiry(504), Instant::ZERO + Duration::from_ms(512));
        clock.timer_fires();
        assert_eq!(clock.expiry(504), Instant::ZERO + Duration::from_ms(512));
        clock.advance(Instant::ZERO + Duration::from_ms(8));
        assert_eq!(clock.expiry(504), Instant::ZERO + Duration::from_ms(576));
        clock.timer_fires();
        assert_eq!(clock.expiry(504), Instant::ZERO + Duration::from_ms(520));
        assert_eq!(clock.jiffies_in(1), 1);
        assert_eq!(clock.jiffies_in(2_000), 2);
        for hz in [100, 250, 300, 1_000] {
            let clock = Clock::new(Duration::from_ps(1_000_000_000_000 / hz), Duration::from_ms(1), 0);
            let mut memo = Memo::default();
            for us in [1, 999, 1_000, 1_001, 3_333, 3_334, 6_666, 6_667, 10_000, 10_001, 0, 4_000, 200_041] {
                assert_eq!(clock.jiffies_near(us, &mut memo), clock.jiffies_in(us), "{us} us at {hz} Hz");
            }
        }
    }
}
