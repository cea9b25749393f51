//! Dynamic right-sizing (Fisk and Feng, LANL 2001): the receiver measures the RTT, and grows its buffer to what the
//! application reads in one. Follows Linux 6.1.

use daybreak_units::{Duration, Instant};

use super::ReceiveWindow;

/// How much later than a segment arrives the application reads it: in the kernel engine's guest a look at the clock takes
/// as long. It decides where a microsecond ends in between.
const READ_DELAY: Duration = Duration::from_ns(1);

impl ReceiveWindow {
    /// RTT by an echoed timestamp: at least a tick. A lower one counts at once (6.1.y; the first 6.1 did
    /// not), a higher one is smoothed by an eighth.
    pub(in crate::receiver) fn rtt_by_timestamp(&mut self, sample_us: u64) {
        let smoothed = self.rcv_rtt_us8;
        let is_lower = smoothed == 0 || sample_us * 8 < smoothed;
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
    /// a round trip.
    #[inline]
    pub(in crate::receiver) fn adjust_space(&mut self, now: Instant, copied: u64, rcv_nxt: u64) {
        if now < self.space_due {
            return;
        }
        let unread = if self.profile.unread_apart { rcv_nxt.saturating_sub(copied) } else { 0 };
        let read = (copied - self.space_from).saturating_sub(unread);
        if read > self.space {
            if self.autotuning {
                self.right_size(read);
            }
            self.space = read;
        }
        self.space_from = copied;
        self.space_since_us = (now + READ_DELAY).as_us();
        self.set_rtt(self.rcv_rtt_us8);
    }

    fn set_rtt(&mut self, rtt_us8: u64) {
        self.rcv_rtt_us8 = rtt_us8;
        if rtt_us8 != 0 {
            let due = Instant::ZERO + Duration::from_us(self.space_since_us + rtt_us8 / 8);
            self.space_due = due - READ_DELAY;
        }
    }

    /// Room for what was `read` in a round trip, twice, for the next one may bring a recovery; and for
    /// its growth over the previous round trip, twice again.
    fn right_size(&mut self, read: u64) {
        let advmss = u64::from(self.advmss);
        let steady = 2 * read + 16 * advmss;
        let growth = u128::from(steady) * u128::from(read - self.space) / u128::from(self.space);
        let rcvbuf = self.share.buffer_for(u128::from(steady) + 2 * growth, advmss).min(self.rmem_max);
        if rcvbuf > self.rcvbuf {
            self.resize(rcvbuf);
            self.window_clamp = self.whole;
        }
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
        window.rtt_by_timestamp(1_000);
        assert_eq!(window.rcv_rtt_us8, 8_000);
        // 28960 bytes in the first round trip, twice the assumed 14480:
        // steady = 2 * 28960 + 16 * 1448 = 81088; growth = 81088 * 14480 / 14480 = 81088;
        // (81088 + 2 * 81088) / 1448 = 168 segments; one costs 1448 + 768 = 2216, plus 128 until
        // half of it reaches 1448: 2984. 168 * 2984 = 501312.
        window.adjust_space(Instant::ZERO + Duration::from_ms(1), 1 + 28_960, 1 + 28_960);
        assert_eq!(window.rcvbuf, 501_312);
        assert_eq!(window.window_clamp, 250_656);
        assert_eq!(window.space, 28_960);
        // Less in the next round trip: nothing changes but the start of the count.
        window.adjust_space(Instant::ZERO + Duration::from_ms(2), 1 + 40_000, 1 + 40_000);
        assert_eq!((window.rcvbuf, window.space, window.space_from), (501_312, 28_960, 40_001));
    }

    /// Linux 6.12.117 takes what waits behind a filled hole off, and reckons with the measured share.
    #[test]
    fn what_is_not_read_yet_is_taken_off_where_the_profile_says_so() {
        for (version, rcvbuf, space) in [("6.1", 501_312, 28_960), ("6.12", 131_072, 14_480)] {
            let profile = Profile::of_linux(version).expect("it is modelled");
            let mut window = established(&Config { profile, ..Config::default() });
            window.rtt_by_timestamp(1_000);
            // 28960 bytes were read, and ten segments more have come.
            window.adjust_space(Instant::ZERO + Duration::from_ms(1), 1 + 28_960, 1 + 43_440);
            assert_eq!((window.rcvbuf, window.space, window.space_from), (rcvbuf, space, 28_961), "Linux {version}");
        }
    }

    /// The application reads a nanosecond after a segment arrives: the next microsecond may have begun.
    #[test]
    fn the_time_of_reading_decides_in_which_microsecond_a_round_trip_begins_and_ends() {
        let at = |ns| Instant::ZERO + Duration::from_ns(ns);
        for (first, second, is_due) in [
            (1_000_998, 1_999_998, false),
            (1_000_998, 1_999_999, true),
            (1_000_999, 2_000_998, false),
            (1_000_999, 2_000_999, true),
        ] {
            let mut window = established(&Config::default());
            window.rtt_by_timestamp(1_000);
            window.adjust_space(at(first), 10_001, 10_001);
            window.adjust_space(at(second), 20_001, 20_001);
            assert_eq!(window.space_from == 20_001, is_due, "read after {first} and {second} ns");
        }
    }
}
