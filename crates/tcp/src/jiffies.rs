//! Linux's coarse clock and its timer wheel.
//!
//! TCP's delayed-ACK, retransmission, probe and persist timers count jiffies and live in a timer wheel
//! that must never fire early: an expiry is rounded up to the next slot of its level. A level holds
//! 64 slots and each level is eight times coarser than the one below, so a timer of less than 63
//! jiffies fires up to one jiffy late and one of 200 jiffies up to eight.

use daybreak_units::{Duration, Instant};

/// Slots of a wheel level less one: the span, in slots, that a level covers.
const LEVEL_SPAN: u64 = 63;
/// Each level is `1 << LEVEL_SHIFT` times coarser than the one below.
const LEVEL_SHIFT: u32 = 3;
/// Shift of the coarsest of its nine levels (at HZ above 100).
const COARSEST: u32 = 24;

/// The tick of one host's coarse clock. Jiffy 0 starts at instant 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Jiffies {
    length: Duration,
}

impl Default for Jiffies {
    /// HZ = 1000.
    fn default() -> Self {
        Self { length: Duration::from_ms(1) }
    }
}

impl Jiffies {
    /// A clock that ticks every `length`; at least one picosecond.
    pub(crate) fn new(length: Duration) -> Self {
        Self { length: length.max(Duration::from_ps(1)) }
    }

    /// Ticks up to `now`.
    pub(crate) fn at(self, now: Instant) -> u64 {
        now.as_ps() / self.length.as_ps()
    }

    /// Ticks that cover `span`, rounded up.
    pub(crate) fn covering(self, span: Duration) -> u64 {
        span.as_ps().div_ceil(self.length.as_ps())
    }

    /// Ticks a second (HZ).
    pub(crate) fn hz(self) -> u64 {
        Duration::from_secs(1).as_ps() / self.length.as_ps()
    }

    /// `ticks` as a span.
    pub(crate) fn span(self, ticks: u64) -> Duration {
        self.length.saturating_mul(ticks)
    }

    /// When a wheel timer fires that is armed in jiffy `now` for jiffy `expires`.
    #[inline]
    pub(crate) fn fires(self, now: u64, expires: u64) -> Instant {
        let delta = expires.saturating_sub(now);
        let mut shift = 0;
        while delta >> shift >= LEVEL_SPAN && shift < COARSEST {
            shift += LEVEL_SHIFT;
        }
        let slot = (expires >> shift) + 1;
        Instant::ZERO.saturating_add(self.span(slot << shift))
    }
}

/// Reads time that does not run backwards in jiffies, mostly without a division.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JiffyClock {
    jiffies: Jiffies,
    /// The jiffy of the last reading, and its end.
    jiffy: u64,
    end: Instant,
}

impl JiffyClock {
    pub(crate) fn new(jiffies: Jiffies) -> Self {
        Self { jiffies, jiffy: 0, end: Instant::ZERO + jiffies.span(1) }
    }

    /// Ticks up to `now`.
    #[inline]
    pub(crate) fn at(&mut self, now: Instant) -> u64 {
        if now >= self.end {
            self.read(now);
        }
        self.jiffy
    }

    #[cold]
    fn read(&mut self, now: Instant) {
        self.jiffy = self.jiffies.at(now);
        self.end = Instant::ZERO + self.jiffies.span(self.jiffy + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HZ_1000: Jiffies = Jiffies { length: Duration::from_ms(1) };

    #[test]
    fn a_short_timer_fires_within_the_next_jiffy() {
        // Armed in jiffy 10 for jiffy 50: never before 50 has passed in full.
        assert_eq!(HZ_1000.at(Instant::from_ps(10_400_000_000)), 10);
        assert_eq!(HZ_1000.fires(10, 50), Instant::ZERO + Duration::from_ms(51));
    }

    #[test]
    fn a_longer_timer_is_rounded_to_its_level() {
        // 200 jiffies lie in level 1 (63 to 503), whose slots are 8 jiffies wide: 203 -> 208.
        assert_eq!(HZ_1000.fires(3, 203), Instant::ZERO + Duration::from_ms(208));
        // 1000 jiffies lie in level 2 (504 to 4031), slots of 64: 1003 -> 1024.
        assert_eq!(HZ_1000.fires(3, 1003), Instant::ZERO + Duration::from_ms(1024));
    }

    #[test]
    fn an_overdue_timer_fires_at_the_next_tick() {
        assert_eq!(HZ_1000.fires(7, 7), Instant::ZERO + Duration::from_ms(8));
    }
}
