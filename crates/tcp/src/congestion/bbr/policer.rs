//! Long-term sampling: recognises a token-bucket policer, whose bursts fool the bandwidth filter, by
//! two intervals with heavy loss and the same throughput, and then sends at that throughput.

use super::bandwidth::Bandwidth;

/// Rounds of a sampling interval, at least; an interval four times as long is given up.
const MIN_ROUNDS: u32 = 4;
const MAX_ROUNDS: u32 = 4 * MIN_ROUNDS;
/// Lost per delivered segment from which an interval counts, in 1/256: about a fifth.
const LOSS_THRESHOLD: u64 = 50;
/// Two throughputs are the same within an eighth, or within 4 kbit/s.
const RATIO: u64 = 256 / 8;
const MAX_DIFFERENCE_BYTES_PER_SEC: u64 = 4_000 / 8;
/// Rounds of PROBE_BW for which a found throughput is used.
const USE_ROUNDS: u32 = 48;

/// The policer detector.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    state: State,
    /// Throughput of the interval before, to compare with.
    bandwidth: Option<Bandwidth>,
    /// Rounds in the interval, or of use.
    rounds: u32,
    /// The interval's start: time in ms, and the counts then.
    start_ms: u64,
    start_delivered: u64,
    start_lost: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Waiting for a loss.
    #[default]
    Idle,
    /// Within an interval.
    Sampling,
    /// A policer was found; its rate is used.
    InUse,
}

/// What an ACK with a rate sample shows, or a timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation {
    /// Time of the last delivery.
    pub(super) delivered_us: u64,
    /// Totals of the connection.
    pub(super) delivered: u64,
    pub(super) lost: u64,
    /// Something was newly marked lost.
    pub(super) has_loss: bool,
    pub(super) starts_round: bool,
    pub(super) is_app_limited: bool,
    pub(super) is_probe_bw: bool,
    pub(super) mss: u32,
}

/// What follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Unchanged,
    /// A policer was found: pace without gain.
    Found,
    /// Its rate was used long enough: probe for bandwidth again.
    Expired,
}

impl Policer {
    /// The policer's rate while it is used.
    pub(super) fn bandwidth_in_use(&self) -> Option<Bandwidth> {
        self.bandwidth.filter(|_| self.state == State::InUse)
    }

    /// Takes one observation.
    pub(super) fn observe(&mut self, seen: &Observation) -> Verdict {
        match self.state {
            State::InUse => return self.expire(seen),
            State::Idle if !seen.has_loss => return Verdict::Unchanged,
            State::Idle => {
                self.start_interval(seen);
                self.state = State::Sampling;
            }
            State::Sampling => {}
        }
        if seen.is_app_limited {
            *self = Self::default();
            return Verdict::Unchanged;
        }
        self.rounds += u32::from(seen.starts_round);
        if self.rounds > MAX_ROUNDS {
            *self = Self::default();
            return Verdict::Unchanged;
        }
        // An interval ends with a loss: the policer's bucket is empty then.
        if self.rounds < MIN_ROUNDS || !seen.has_loss {
            return Verdict::Unchanged;
        }
        let lost = seen.lost - self.start_lost;
        let delivered = seen.delivered - self.start_delivered;
        let ms = (seen.delivered_us / 1_000).saturating_sub(self.start_ms);
        if delivered == 0 || lost * 256 < LOSS_THRESHOLD * delivered || ms == 0 {
            return Verdict::Unchanged;
        }
        self.end_interval(Bandwidth::of(delivered, ms * 1_000), seen)
    }

    fn expire(&mut self, seen: &Observation) -> Verdict {
        if seen.is_probe_bw && seen.starts_round {
            self.rounds += 1;
            if self.rounds >= USE_ROUNDS {
                *self = Self::default();
                return Verdict::Expired;
            }
        }
        Verdict::Unchanged
    }

    fn end_interval(&mut self, bandwidth: Bandwidth, seen: &Observation) -> Verdict {
        if let Some(before) = self.bandwidth {
            let difference = Bandwidth(bandwidth.0.abs_diff(before.0));
            if difference.0 * 256 <= RATIO * before.0
                || difference.pacing_bytes_per_sec(seen.mss, super::UNIT_GAIN, super::PACING_MARGIN_PERCENT)
                    <= MAX_DIFFERENCE_BYTES_PER_SEC
            {
                self.bandwidth = Some(Bandwidth((bandwidth.0 + before.0) / 2));
                self.state = State::InUse;
                self.rounds = 0;
                return Verdict::Found;
            }
        }
        self.bandwidth = Some(bandwidth);
        self.start_interval(seen);
        Verdict::Unchanged
    }

    fn start_interval(&mut self, seen: &Observation) {
        self.start_ms = seen.delivered_us / 1_000;
        self.start_delivered = seen.delivered;
        self.start_lost = seen.lost;
        self.rounds = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One observation a round of 100 ms: `delivered` more segments, `lost` more lost.
    struct Feed {
        policer: Policer,
        seen: Observation,
    }

    impl Feed {
        fn new() -> Self {
            let seen = Observation {
                delivered_us: 1_000_000,
                delivered: 0,
                lost: 0,
                has_loss: false,
                starts_round: true,
                is_app_limited: false,
                is_probe_bw: true,
                mss: 1_448,
            };
            Self { policer: Policer::default(), seen }
        }
        fn round(&mut self, delivered: u64, lost: u64) -> Verdict {
            self.seen.delivered_us += 100_000;
            self.seen.delivered += delivered;
            self.seen.lost += lost;
            self.seen.has_loss = lost > 0;
            self.policer.observe(&self.seen)
        }
    }

    #[test]
    fn two_like_intervals_with_a_fifth_lost_are_a_policer() {
        let mut feed = Feed::new();
        // The first round with loss only starts the sampling, but its start counts as a round.
        let verdicts: Vec<Verdict> = (0..8).map(|_| feed.round(100, 25)).collect();
        assert_eq!(verdicts.iter().position(|&v| v == Verdict::Found), Some(7), "{verdicts:?}");
        // 100 segments in 100 ms.
        assert_eq!(feed.policer.bandwidth_in_use(), Some(Bandwidth::of(1, 1_000)));
        let used = (1..=60).find(|_| feed.round(100, 0) == Verdict::Expired);
        assert_eq!(used, Some(48));
        assert_eq!(feed.policer.bandwidth_in_use(), None);
    }

    #[test]
    fn other_losses_are_not() {
        // Less than 50/256 lost.
        let mut feed = Feed::new();
        assert!((0..40).all(|_| feed.round(100, 19) != Verdict::Found));
        // Throughputs that differ by more than an eighth.
        let mut feed = Feed::new();
        assert!((0..16).all(|n| feed.round(if n / 4 % 2 == 0 { 100 } else { 150 }, 50) != Verdict::Found));
        // An application-limited sender proves nothing.
        let mut feed = Feed::new();
        feed.seen.is_app_limited = true;
        assert!((0..16).all(|_| feed.round(100, 50) != Verdict::Found));
    }

    #[test]
    fn an_interval_has_four_to_sixteen_rounds() {
        // The first observation begins it and is its first round; the last one has the loss that ends it.
        for (rounds, is_interval) in [(3, false), (4, true), (16, true), (17, false)] {
            let mut feed = Feed::new();
            feed.round(100, 1);
            for _ in 2..rounds {
                feed.round(100, 0);
            }
            feed.round(100, 1_000);
            assert_eq!(feed.policer.bandwidth.is_some(), is_interval, "{rounds} rounds");
        }
    }

    #[test]
    fn fifty_of_256_lost_are_enough() {
        for (delivered, is_interval) in [(256, true), (257, false)] {
            let mut feed = Feed::new();
            feed.round(1, 1);
            (0..2).for_each(|_| assert_eq!(feed.round(1, 0), Verdict::Unchanged));
            feed.round(delivered - 2, 50);
            assert_eq!(feed.policer.bandwidth.is_some(), is_interval, "50 to {delivered}");
        }
    }

    #[test]
    fn the_rate_is_used_for_rounds_of_probing_for_bandwidth() {
        for (is_probe_bw, starts_round, counted) in [(true, true, 1), (true, false, 0), (false, true, 0)] {
            let mut feed = Feed::new();
            feed.policer = Policer { state: State::InUse, bandwidth: Some(Bandwidth::of(1, 1)), ..Policer::default() };
            (feed.seen.is_probe_bw, feed.seen.starts_round) = (is_probe_bw, starts_round);
            feed.round(100, 0);
            assert_eq!(feed.policer.rounds, counted);
        }
    }
}
