//! Link and pacing rates.

use crate::time::Duration;

/// A rate in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Rate(u64);

impl Rate {
    /// No transmission at all.
    pub const ZERO: Self = Self(0);

    /// A rate in bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }
    /// A rate in bytes per second.
    pub const fn from_bytes_per_sec(rate: u64) -> Self {
        Self(rate * 8)
    }
    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Bytes per second, rounded down.
    pub const fn as_bytes_per_sec(self) -> u64 {
        self.0 / 8
    }
    /// The time that `bytes` take at this rate, rounded down to a picosecond.
    ///
    /// # Panics
    /// If the rate is zero, for which the time is undefined.
    pub fn time_for(self, bytes: u64) -> Duration {
        assert!(self.0 > 0, "the time to send {bytes} bytes at 0 bit/s is not defined");
        Duration::from_ps((u128::from(bytes) * 8_000_000_000_000 / u128::from(self.0)) as u64)
    }
    /// The whole bytes that fit into `span` at this rate.
    pub fn bytes_in(self, span: Duration) -> u64 {
        (u128::from(self.0) * u128::from(span.as_ps()) / 8_000_000_000_000) as u64
    }
}

/// A rate prepared for the hot path: the time of one byte as a fixed-point number, so that the
/// serialisation time of a packet is one multiplication and one shift.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ByteTime(u64);

impl ByteTime {
    /// Fraction bits. A byte at 1 Mbit/s takes 2^23 ps, so 64 KiB of them still fit into 64 bits.
    const FRACTION: u32 = 20;

    /// Prepares `rate`, which must be at least 1 Mbit/s for the product with 64 KiB to fit.
    pub fn new(rate: Rate) -> Self {
        assert!(rate.0 >= 1_000_000, "a link rate of {} bit/s is below 1 Mbit/s", rate.0);
        // Round up: a packet never leaves earlier than its bits allow.
        Self(((8_000_000_000_000u128 << Self::FRACTION).div_ceil(u128::from(rate.0))) as u64)
    }
    /// The serialisation time of `bytes`, at most 64 KiB, exact to below one picosecond for
    /// rates that divide 8e12 (1, 10, 25, 40, 100 Gbit/s ...).
    #[inline]
    pub fn of(self, bytes: u32) -> Duration {
        Duration::from_ps((self.0 * u64::from(bytes)) >> Self::FRACTION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jumbo_frame_at_ten_gigabit() {
        // 9038 bytes on the wire at 800 ps per byte.
        let rate = Rate::from_bps(10_000_000_000);
        assert_eq!(rate.time_for(9038), Duration::from_ns(7_230) + Duration::from_ps(400));
        assert_eq!(ByteTime::new(rate).of(9038), rate.time_for(9038));
        assert_eq!(rate.bytes_in(Duration::from_us(1)), 1250);
    }

    #[test]
    fn fixed_point_agrees_with_division() {
        for bps in [1_000_000, 3_000_000_000, 7_777_777_777, 100_000_000_000, 400_000_000_000] {
            let rate = Rate::from_bps(bps);
            for bytes in [1, 52, 1538, 9038, 65_536] {
                let exact = rate.time_for(u64::from(bytes)).as_ps();
                let fast = ByteTime::new(rate).of(bytes).as_ps();
                assert!(fast.abs_diff(exact) <= 1, "{bps} bit/s, {bytes} B: {fast} against {exact}");
            }
        }
    }
}
