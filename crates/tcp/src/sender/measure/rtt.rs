//! The RTT estimator and the retransmission timeout (RFC 6298) with Linux's variance rule.
//!
//! Follows RFC 6298 section 2 in scaled integers of microseconds. Linux differs in the variance: it
//! takes the largest mean deviation of a round trip, never below `rto_min`; it rises at once and
//! falls by a quarter a round trip; and a falling RTT counts for an eighth only, so that a sudden
//! drop does not raise the timeout. The variance term is not multiplied by four again.

use crate::sender::clock::{Clock, Memo};

/// Smoothed RTT, its variance, and the timeout that follows.
#[derive(Clone, Debug)]
// In this order what every segment touches lies in few cache lines.
#[repr(C)]
pub(crate) struct Rtt {
    /// Smoothed RTT times eight; zero before the first sample.
    srtt_x8: u32,
    /// Mean deviation times four.
    mdev_x4: u32,
    /// Largest `mdev_x4` of this round trip.
    mdev_max_x4: u32,
    /// The variance term of the timeout.
    rttvar_us: u32,
    /// The timeout in jiffies, with back-off.
    pub rto: u64,
    /// The same in microseconds.
    rto_us: u64,
    /// The round trip ends when this is acknowledged.
    round_end: u64,
    rto_min_us: u32,
    /// Timeouts in a row without a new RTT sample.
    pub backoff: u32,
    rto_memo: Memo,
    /// Two smoothed RTTs in jiffies.
    double_memo: Memo,
    rto_max: u64,
}

impl Rtt {
    /// All times in jiffies but `rto_min_us`.
    pub fn new(clock: &Clock, rto_initial: u64, rto_max: u64, rto_min_us: u32) -> Self {
        Self {
            srtt_x8: 0,
            mdev_x4: 0,
            mdev_max_x4: 0,
            rttvar_us: 0,
            rto_min_us,
            round_end: 0,
            rto: rto_initial.min(rto_max),
            rto_us: clock.us_in(rto_initial.min(rto_max)),
            rto_memo: Memo::default(),
            double_memo: Memo::default(),
            rto_max,
            backoff: 0,
        }
    }

    /// Smoothed RTT times eight, in microseconds; zero before the first sample.
    #[inline]
    pub fn srtt_x8(&self) -> u32 {
        self.srtt_x8
    }
    /// Smoothed RTT in microseconds; zero before the first sample.
    #[inline]
    pub fn srtt_us(&self) -> u32 {
        self.srtt_x8 >> 3
    }
    /// Two smoothed RTTs and `slack_us` microseconds in jiffies.
    #[inline]
    pub fn jiffies_of_two(&mut self, slack_us: u64, clock: &Clock) -> u64 {
        clock.jiffies_near(u64::from(self.srtt_x8 >> 2) + slack_us, &mut self.double_memo)
    }
    /// Floor of the variance term.
    #[inline]
    pub fn rto_min_us(&self) -> u32 {
        self.rto_min_us
    }
    /// The timeout in microseconds.
    #[inline]
    pub fn rto_us(&self) -> u64 {
        self.rto_us
    }
    pub fn rto_max(&self) -> u64 {
        self.rto_max
    }

    /// Takes a sample; ends a round trip when `snd_una` has passed the data of its start.
    #[inline(always)]
    pub fn sample(&mut self, clock: &Clock, rtt_us: u32, snd_una: u64, snd_nxt: u64) {
        if self.srtt_x8 == 0 {
            self.first_sample(rtt_us, snd_nxt);
        } else {
            let error = i64::from(rtt_us) - i64::from(self.srtt_x8 >> 3);
            self.srtt_x8 = (i64::from(self.srtt_x8) + error).max(1) as u32;
            let mut change = error.abs() - i64::from(self.mdev_x4 >> 2);
            if error < 0 && change > 0 {
                change >>= 3;
            }
            self.mdev_x4 = (i64::from(self.mdev_x4) + change) as u32;
            if self.mdev_x4 > self.mdev_max_x4 {
                self.mdev_max_x4 = self.mdev_x4;
                self.rttvar_us = self.rttvar_us.max(self.mdev_max_x4);
            }
            if snd_una > self.round_end {
                if self.mdev_max_x4 < self.rttvar_us {
                    self.rttvar_us -= (self.rttvar_us - self.mdev_max_x4) >> 2;
                }
                self.round_end = snd_nxt;
                self.mdev_max_x4 = self.rto_min_us;
            }
        }
        let rto_us = u64::from(self.srtt_x8 >> 3) + u64::from(self.rttvar_us);
        let rto = clock.jiffies_near(rto_us, &mut self.rto_memo).min(self.rto_max);
        if rto != self.rto {
            self.rto = rto;
            self.rto_us = clock.us_in(rto);
        }
        self.backoff = 0;
    }

    /// RFC 6298, rule 2.2.
    fn first_sample(&mut self, rtt_us: u32, snd_nxt: u64) {
        self.srtt_x8 = (rtt_us << 3).max(1);
        self.mdev_x4 = rtt_us << 1;
        self.rttvar_us = self.mdev_x4.max(self.rto_min_us);
        self.mdev_max_x4 = self.rttvar_us;
        self.round_end = snd_nxt;
    }

    /// The handshake has measured nothing, as its SYN was sent again: the timeout is at least 3 s (RFC 6298, section 5.7).
    pub fn begin_unmeasured(&mut self, clock: &Clock) {
        const LEAST_US: u64 = 3_000_000;
        self.rto = self.rto.max(clock.jiffies_in(LEAST_US)).min(self.rto_max);
        self.rto_us = clock.us_in(self.rto);
    }

    /// Earlier connections to the destination had this smoothed RTT, in eighths of a microsecond: if it was longer than
    /// that of the handshake, the first timeout is that of RFC 6298, rule 2.2, in whole jiffies.
    pub fn respect(&mut self, clock: &Clock, known_x8: u32) {
        if known_x8 > self.srtt_x8 {
            let jiffies = u64::from(known_x8) / (8 * clock.us_in(1));
            self.rto = jiffies + (2 * jiffies).max(clock.jiffies_in(u64::from(self.rto_min_us)));
            self.rto_us = clock.us_in(self.rto);
        }
    }

    /// RFC 6298, rule 5.5: the timer expired.
    pub fn back_off(&mut self, clock: &Clock) {
        self.backoff += 1;
        self.rto = (self.rto * 2).min(self.rto_max);
        self.rto_us = clock.us_in(self.rto);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daybreak_units::Duration;

    fn estimator() -> (Clock, Rtt) {
        let clock = Clock::new(Duration::from_ms(1), Duration::from_ms(1), 0);
        (clock, Rtt::new(&clock, 1_000, 120_000, 200_000))
    }

    #[test]
    fn first_sample_gives_three_rtts_or_the_floor() {
        let (clock, mut rtt) = estimator();
        rtt.sample(&clock, 40, 1, 1);
        assert_eq!((rtt.srtt_us(), rtt.rto), (40, 201));
        let (_, mut rtt) = estimator();
        rtt.sample(&clock, 300_000, 1, 1);
        assert_eq!((rtt.srtt_us(), rtt.rto), (300_000, 900));
    }

    #[test]
    fn variance_rises_at_once_and_falls_by_a_quarter_a_round() {
        let (clock, mut rtt) = estimator();
        rtt.sample(&clock, 100_000, 1, 1_000);
        assert_eq!(rtt.rto, 300);
        // mdev: 200 ms, then (error 1,900 ms - 50 ms) more.
        rtt.sample(&clock, 2_000_000, 500, 1_000);
        assert_eq!(rtt.srtt_us(), 337_500);
        assert_eq!(rtt.rttvar_us, 2_050_000);
        let before = rtt.rttvar_us;
        // A round without deviation above the floor.
        rtt.sample(&clock, 337_500, 1_001, 2_000);
        let mut rounds = 0;
        while rtt.rttvar_us > 400_000 {
            rounds += 1;
            let edge = 1_001 + rounds * 1_000;
            rtt.sample(&clock, rtt.srtt_us(), edge, edge + 999);
        }
        assert!(rtt.rttvar_us < before && (5..20).contains(&rounds), "{rounds} rounds");
    }

    #[test]
    fn a_falling_rtt_hardly_moves_the_deviation() {
        let (clock, mut rtt) = estimator();
        rtt.sample(&clock, 80_000, 1, 1_000);
        // Error -72 ms against a mean deviation of 40 ms: only an eighth of the difference counts.
        rtt.sample(&clock, 8_000, 2, 1_000);
        assert_eq!(rtt.mdev_x4, 160_000 + (72_000 - 40_000) / 8);
    }

    #[test]
    fn the_first_timeout_respects_a_longer_rtt_of_earlier_connections() {
        // The handshake took 10 ms: 10 + 200 jiffies. Twice 150 ms are more than 200.
        for (known_us, rto) in [(0, 210), (10_000, 210), (10_900, 10 + 200), (99_900, 99 + 200), (150_000, 450)] {
            let (clock, mut rtt) = estimator();
            rtt.sample(&clock, 10_000, 1, 1);
            rtt.respect(&clock, known_us * 8);
            assert_eq!((rtt.rto, rtt.rto_us()), (rto, rto * 1_000), "{known_us}");
        }
    }

    #[test]
    fn back_off_doubles_up_to_the_limit() {
        let (clock, mut rtt) = estimator();
        for _ in 0..20 {
            rtt.back_off(&clock);
        }
        assert_eq!((rtt.rto, rtt.backoff), (120_000, 20));
    }

    #[test]
    fn a_sample_ends_the_back_off() {
        let (clock, mut rtt) = estimator();
        rtt.sample(&clock, 10_000, 1, 1);
        rtt.back_off(&clock);
        rtt.back_off(&clock);
        assert_eq!((rtt.rto, rtt.backoff), (840, 2));
        rtt.sample(&clock, 10_000, 2, 2);
        assert_eq!((rtt.rto, rtt.rto_us(), rtt.backoff), (210, 210_000, 0));
    }
}
