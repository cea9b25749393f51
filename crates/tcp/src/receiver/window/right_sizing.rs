//! Dynamic right-sizing (Fisk and Feng, LANL 2001): the receiver measures the RTT, and grows its buffer to what the
//! application reads in one. Follows Linux 6.1.

use daybreak_units::{Duration, Instant};

use super::ReceiveWindow;

/// How much later than a segment arrives the application reads it: in the kernel engine's guest a look at the clock takes
/// as long. It decides where a microsecond ends in between.
const READ_DELAY: Duration = Duration::from_ns(1);
/// With [`crate::config::Profile::room_by_rtt`] the RTT below which the buffer grows by it (`tcp_rcvbuf_low_rtt`).
const LOW_RTT_US: u64 = 1_000;

impl ReceiveWindow {
    /// RTT by an echoed timestamp: at least a tick. A lower one counts at once (6.1.y; the first 6.1 did
    /// not), a higher one is smoothed by an eighth.
    /// `waits` where something waits to be read.
    pub(in crate::receiver) fn rtt_by_timestamp(&mut self, sample_us: u64, waits: bool) {
        let smoothed = self.rcv_rtt_us8;
        let is_lower = smoothed == 0 || sample_us * 8 < smoothed;
        if !is_lower && waits && self.profile.rtt_when_read {
            return;
        }
        self.set_rtt(if is_lower { sample_us * 8 } else { smoothed - smoothed / 8 + sample_us });
    }

    /// RTT by the time that one window takes to arrive: an upper bound, so the least counts.
    #[inline]
    pub(in crate::receiver) fn rtt_by_window(&mut self, now: Instant, rcv_nxt: u64) {
        if self.rtt_from_us != 0 {
            if rcv_nxt < self.rtt_until {
                return;
            }
            let sample_us8 = (now.as_us().saturating_sub(self.rtt_from_us)).max(1) * 8;
            if self.rcv_rtt_us8 == 0 || sample_us8 < self.rcv_rtt_us8 {
                self.set_rtt(sample_us8);
            }
        }
        self.rtt_until = rcv_nxt + self.rcv_wnd;
        // The first microsecond of a run counts as the second: zero means "not started".
        self.rtt_from_us = now.as_us().max(1);
    }

    /// The application has read everything up to `copied` of what has arrived up to `rcv_nxt`: right-size the buffer once
    /// a round trip. What has arrived ahead of a hole ends `ahead` bytes later.
    #[inline]
    pub(in crate::receiver) fn adjust_space(&mut self, now: Instant, copied: u64, rcv_nxt: u64, ahead: u64) {
        if now < self.space_due {
            return;
        }
        let unread = if self.profile.unread_apart { rcv_nxt.saturating_sub(copied) } else { 0 };
        let read = (copied - self.space_from).saturating_sub(unread);
        if read > self.space {
            if self.autotuning {
                self.right_size(read, ahead);
            }
            self.space = read;
        }
        self.space_from = copied;
        self.space_since_us = (now + self.read_delay()).as_us();
        self.set_rtt(self.rcv_rtt_us8);
    }

    fn set_rtt(&mut self, rtt_us8: u64) {
        self.rcv_rtt_us8 = rtt_us8;
        if rtt_us8 != 0 {
            let due = Instant::ZERO + Duration::from_us(self.space_since_us + rtt_us8 / 8);
            self.space_due = due - self.read_delay();
        }
    }

    /// None where Linux looks at the clock for it when a segment arrives (7.3).
    fn read_delay(&self) -> Duration {
        if self.profile.room_by_rtt { Duration::ZERO } else { READ_DELAY }
    }

    /// A segment has arrived ahead of a hole, and the last of these ends `ahead` bytes beyond what came in order.
    pub(in crate::receiver) fn make_room_ahead(&mut self, ahead: u64) {
        if self.autotuning && self.profile.room_for_holes {
            self.right_size(self.space, ahead);
        }
    }

    /// Room for what was `read` in a round trip, twice, for the next one may bring a recovery; and for
    /// its growth over the previous round trip, twice again.
    fn right_size(&mut self, read: u64, ahead: u64) {
        let advmss = u64::from(self.advmss);
        let rcvbuf = if self.profile.room_by_rtt {
            // Of 32 bits, as all of it is in Linux 7.3.4.
            let room = self.room_by_rtt(read, ahead) as u32;
            u64::from(self.share.buffer_for(room.into(), advmss) as u32)
        } else {
            let steady = 2 * read + 16 * advmss;
            let growth = u128::from(steady) * u128::from(read - self.space) / u128::from(self.space);
            self.share.buffer_for(u128::from(steady) + 2 * growth, advmss)
        };
        let rcvbuf = rcvbuf.min(self.rmem_max);
        if rcvbuf > self.rcvbuf {
            self.resize(rcvbuf);
            self.window_clamp = self.whole;
        }
    }

    /// The window for what was `read` in a round trip, and for what lies `ahead`.
    fn room_by_rtt(&self, read: u64, ahead: u64) -> u64 {
        let steady = 2 * read;
        let rtt_us = self.rcv_rtt_us8 / 8;
        let growth = if rtt_us < LOW_RTT_US {
            steady * rtt_us / LOW_RTT_US
        } else {
            2 * steady * (read - self.space) / self.space
        };
        steady + growth + ahead
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::established;
    use super::*;
    use crate::config::{Config, Profile};

    #[test]
    fn right_sizing_follows_its_formula() {
        let mut window = established(&Config::default());
        window.rtt_by_timestamp(1_000, false);
        assert_eq!(window.rcv_rtt_us8, 8_000);
        // 28960 bytes in the first round trip, twice the assumed 14480:
        // steady = 2 * 28960 + 16 * 1448 = 81088; growth = 81088 * 14480 / 14480 = 81088;
        // (81088 + 2 * 81088) / 1448 = 168 segments; one costs 1448 + 768 = 2216, plus 128 until
        // half of it reaches 1448: 2984. 168 * 2984 = 501312.
        window.adjust_space(Instant::ZERO + Duration::from_ms(1), 1 + 28_960, 1 + 28_960, 0);
        assert_eq!(window.rcvbuf, 501_312);
        assert_eq!(window.window_clamp, 250_656);
        assert_eq!(window.space, 28_960);
        // Less in the next round trip: nothing changes but the start of the count.
        window.adjust_space(Instant::ZERO + Duration::from_ms(2), 1 + 40_000, 1 + 40_000, 0);
        assert_eq!((window.rcvbuf, window.space, window.space_from), (501_312, 28_960, 40_001));
    }

    /// Linux 6.12.117 takes what waits behind a filled hole off, and reckons with the measured share.
    #[test]
    fn what_is_not_read_yet_is_taken_off_where_the_profile_says_so() {
        for (version, rcvbuf, space) in [("6.1", 501_312, 28_960), ("6.12", 131_072, 14_480)] {
            let profile = Profile::of_linux(version).expect("it is modelled");
            let mut window = established(&Config { profile, ..Config::default() });
            window.rtt_by_timestamp(1_000, false);
            // 28960 bytes were read, and ten segments more have come.
            window.adjust_space(Instant::ZERO + Duration::from_ms(1), 1 + 28_960, 1 + 43_440, 0);
            assert_eq!((window.rcvbuf, window.space, window.space_from), (rcvbuf, space, 28_961), "Linux {version}");
        }
    }

    /// Linux 7.3.4: what waits to be read may be why the peer's next segment is late.
    #[test]
    fn while_something_waits_to_be_read_no_longer_rtt_counts_where_the_profile_says_so() {
        for (version, waits, rtt_us8) in
            [("6.12", true, 9_000), ("6.12", false, 9_000), ("7.3", true, 8_000), ("7.3", false, 9_000)]
        {
            let profile = Profile::of_linux(version).expect("it is modelled");
            let mut window = established(&Config { profile, ..Config::default() });
            window.rtt_by_timestamp(1_000, waits);
            window.rtt_by_timestamp(2_000, waits);
            assert_eq!(window.rcv_rtt_us8, rtt_us8, "Linux {version}, {waits}");
            window.rtt_by_timestamp(500, waits);
            assert_eq!(window.rcv_rtt_us8, 4_000, "Linux {version}, {waits}");
        }
    }

    /// The application reads a nanosecond after a segment arrives: the next microsecond may have begun.
    #[test]
    fn the_time_of_reading_decides_in_which_microsecond_a_round_trip_begins_and_ends() {
        let at = |ns| Instant::ZERO + Duration::from_ns(ns);
        for (version, first, second, is_due) in [
            ("6.1", 1_000_998, 1_999_998, false),
            ("6.1", 1_000_998, 1_999_999, true),
            ("6.1", 1_000_999, 2_000_998, false),
            ("6.1", 1_000_999, 2_000_999, true),
            // Linux 7.3.4 has the time of the segment.
            ("7.3", 1_000_998, 1_999_999, false),
            ("7.3", 1_000_999, 2_000_000, true),
        ] {
            let profile = Profile::of_linux(version).expect("it is modelled");
            let mut window = established(&Config { profile, ..Config::default() });
            window.rtt_by_timestamp(1_000, false);
            window.adjust_space(at(first), 10_001, 10_001, 0);
            window.adjust_space(at(second), 20_001, 20_001, 0);
            assert_eq!(window.space_from == 20_001, is_due, "Linux {version}, read after {first} and {second} ns");
        }
    }

    #[test]
    fn no_more_than_before_in_a_round_trip_needs_no_larger_buffer() {
        for (read, grows) in [(30_000, false), (30_001, true)] {
            let mut window = established(&Config::default());
            window.rtt_by_timestamp(1_000, false);
            window.space = 30_000;
            window.adjust_space(Instant::ZERO + Duration::from_ms(1), 1 + read, 1 + read, 0);
            assert_eq!((window.rcvbuf > 131_072, window.space), (grows, read));
        }
    }
}
