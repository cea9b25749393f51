//! Which part of the receive buffer is offered as window: the rest is for the overhead of segments.
//!
//! In Linux 6.1 it is a setting, `tcp_adv_win_scale`. With [`crate::config::Profile::measured_share`] the segments that
//! arrive do: half until one has shown which part of its memory is payload, and then so much, in 256ths.

use super::buffers;
use crate::config::Config;

/// Overhead that right-sizing assumes for a segment: the largest TCP header with its headroom.
const ESTIMATED_OVERHEAD: u64 = 192 + buffers::OVERHEAD;

/// The part that is window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    /// `1 / 2^n`.
    Part(u8),
    /// All but `1 / 2^n`.
    AllBut(u8),
    /// In 256ths, from the last segment that showed the peer's full size.
    Measured(u8),
}

impl Share {
    /// Before any segment has arrived.
    pub(super) fn new(config: &Config) -> Self {
        let scale = config.adv_win_scale;
        match scale {
            _ if config.profile.measured_share => Self::Measured(128),
            ..=0 => Self::Part(scale.unsigned_abs()),
            _ => Self::AllBut(scale.unsigned_abs()),
        }
    }

    /// Of `space` bytes of buffer.
    #[inline]
    pub(super) fn of(self, space: u64) -> u64 {
        match self {
            Self::Part(n) => space >> n,
            Self::AllBut(n) => space - (space >> n),
            Self::Measured(ratio) => (space * u64::from(ratio)) >> 8,
        }
    }

    /// After a segment of `len` bytes that took `truesize` of memory.
    pub(super) fn after(self, len: u32, truesize: u64) -> Self {
        match self {
            Self::Measured(_) => Self::Measured((u64::from(len) * 256 / truesize).max(1) as u8),
            fixed => fixed,
        }
    }

    /// The buffer that a `window` needs, in full segments of `advmss` bytes.
    pub(super) fn buffer_for(self, window: u128, advmss: u64) -> u64 {
        if let Self::Measured(ratio) = self {
            // Linux 6.12.117 reckons with 32 bits, from which a window of 2 GiB runs over.
            let space = (i64::from(window as i32) as u64).wrapping_mul(256) / u64::from(ratio);
            return i64::from(space as i32) as u64;
        }
        let mut segment_memory = advmss + ESTIMATED_OVERHEAD;
        while self.of(segment_memory) < advmss {
            segment_memory += 128;
        }
        u64::try_from(window / u128::from(advmss) * u128::from(segment_memory)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Profile;

    fn linux_6_12() -> Share {
        let profile = Profile::of_linux("6.12").expect("it is modelled");
        Share::new(&Config { profile, adv_win_scale: 3, ..Config::default() })
    }

    #[test]
    fn a_setting_says_it() {
        // tcp(7): bytes / 2^-n for n <= 0, bytes - bytes / 2^n above.
        for (scale, offered) in [(-2, 25_000), (-1, 50_000), (0, 100_000), (1, 50_000), (2, 75_000), (3, 87_500)] {
            let share = Share::new(&Config { adv_win_scale: scale, ..Config::default() });
            assert_eq!(share.of(100_000), offered, "tcp_adv_win_scale {scale}");
            assert_eq!(share.after(1_448, 2_304), share);
        }
    }

    #[test]
    fn segments_say_it_in_256ths_whatever_the_setting() {
        assert_eq!(linux_6_12().of(131_072), 65_536);
        // 1448 of 2304 bytes are 160.9 of 256, 8948 of 13120 are 174.6; what is nearly nothing counts as one.
        for (len, truesize, ratio) in [(1_448, 2_304, 160), (8_948, 13_120, 174), (2, 832, 1)] {
            let share = linux_6_12().after(len, truesize);
            assert_eq!(share, Share::Measured(ratio));
            assert_eq!(share.of(131_072), 131_072 * u64::from(ratio) / 256);
        }
    }

    #[test]
    fn a_segment_takes_no_more_of_the_buffer_than_its_window_needs() {
        // `tcp_rcv_space_adjust` adds 128 bytes to a full segment with 768 of overhead until its window is a segment: half
        // of 8960 + 768 + 64 * 128 is 8960. Half of 1448 + 768 + 5 * 128 is 1428, and one more step is 1492.
        let half = Share::new(&Config { adv_win_scale: 1, ..Config::default() });
        assert_eq!(half.buffer_for(10 * 8_960, 8_960), 10 * 17_920);
        assert_eq!(half.buffer_for(10 * 1_448, 1_448), 10 * 2_984);
    }

    #[test]
    fn the_buffer_for_a_window_is_the_inverse() {
        let share = Share::Measured(160);
        assert_eq!(share.buffer_for(100_000, 1_448), 160_000);
        // 2^31 bytes of window are -2^31 in 32 bits, more than any buffer as an unsigned number.
        assert!(share.buffer_for(1 << 31, 1_448) > u64::MAX / 2);
    }
}
