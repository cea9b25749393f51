//! Time in jiffies, in which the Linux originals of some rules count.

use daybreak_units::{Duration, Instant};

/// The clock that ticks once a jiffy, from the start of the run.
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
    /// Jiffies of `length`; of a millisecond when the caller does not say (zero).
    pub(crate) fn new(length: Duration) -> Self {
        if length.is_zero() { Self::default() } else { Self { length } }
    }
    /// Jiffies since the start of the run.
    #[inline]
    pub(crate) fn at(self, now: Instant) -> u64 {
        now.as_ps() / self.length.as_ps()
    }
    /// The jiffies that cover `span`.
    #[inline]
    pub(crate) fn covering(self, span: Duration) -> u64 {
        span.as_ps().div_ceil(self.length.as_ps())
    }
    /// Jiffies a second.
    pub(crate) fn hz(self) -> u64 {
        Duration::from_secs(1).as_ps() / self.length.as_ps()
    }
}
