//! How many ACKs come in bursts: the segments that were acknowledged beyond what the bandwidth
//! explains, so that the window can hold as many more (draft-cardwell-iccrg-bbr-congestion-control-02,
//! section 4.5.5, "ExtraACKed").

use super::bandwidth::Bandwidth;

/// Rounds a maximum is remembered for, at least; twice as many at most.
const WINDOW_ROUNDS: u32 = 5;
/// A sampling epoch ends when it has this many segments.
const EPOCH_LIMIT: u64 = 1 << 20;
/// The surplus is worth at most the bandwidth of this time.
const MAX_US: u64 = 100_000;

/// Surplus of acknowledged segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    /// Start of the epoch, and what it acknowledged so far.
    epoch_us: u64,
    epoch_acked: u64,
    /// Largest surplus of this half of the window and of the one before.
    current: u64,
    previous: u64,
    /// Rounds in this half.
    rounds: u32,
}

/// What one ACK with a valid rate sample shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acked {
    /// Time of the last delivery.
    pub(super) now_us: u64,
    /// Newly delivered segments.
    pub(super) acked: u32,
    /// The ACK starts a round.
    pub(super) starts_round: bool,
    /// Present bandwidth estimate.
    pub(super) bandwidth: Bandwidth,
    /// Present congestion window.
    pub(super) cwnd: u32,
}

impl Aggregation {
    /// Begins a new epoch at `now_us`.
    pub(super) fn restart(&mut self, now_us: u64) {
        self.epoch_us = now_us;
        self.epoch_acked = 0;
    }

    /// Takes one ACK.
    pub(super) fn update(&mut self, ack: Acked) {
        if ack.starts_round {
            self.rounds += 1;
            if self.rounds >= WINDOW_ROUNDS {
                self.rounds = 0;
                self.previous = std::mem::take(&mut self.current);
            }
        }
        let acked = u64::from(ack.acked);
        let mut expected = ack.bandwidth.segments_in(ack.now_us - self.epoch_us);
        if self.epoch_acked <= expected || self.epoch_acked + acked >= EPOCH_LIMIT {
            self.restart(ack.now_us);
            expected = 0;
        }
        self.epoch_acked = (self.epoch_acked + acked).min(EPOCH_LIMIT - 1);
        let surplus = (self.epoch_acked - expected).min(u64::from(ack.cwnd));
        self.current = self.current.max(surplus);
    }

    /// Segments by which the window should be larger.
    pub(super) fn window(&self, bandwidth: Bandwidth) -> u64 {
        self.current.max(self.previous).min(bandwidth.segments_in(MAX_US))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 segments a millisecond.
    fn acked(ms: u64, acked: u32, starts_round: bool) -> Acked {
        Acked { now_us: ms * 1_000, acked, starts_round, bandwidth: Bandwidth::of(10, 1_000), cwnd: 200 }
    }

    #[test]
    fn bursts_are_remembered_for_five_to_ten_rounds() {
        let mut rule = Aggregation::default();
        rule.update(acked(1, 10, false));
        assert_eq!(rule.window(Bandwidth::of(10, 1_000)), 10, "one ACK's own segments");
        // 5 ms of silence end the epoch, then 50 at once.
        rule.update(acked(6, 50, false));
        assert_eq!(rule.window(Bandwidth::of(10, 1_000)), 50);
        let mut rounds = 0;
        while rule.window(Bandwidth::of(10, 1_000)) == 50 {
            rounds += 1;
            rule.update(acked(10 + rounds, 10, true));
        }
        assert_eq!(rounds, 10, "begun in the first half, forgotten at the end of the next");
    }

    #[test]
    fn the_surplus_is_bounded() {
        let mut rule = Aggregation::default();
        rule.update(acked(1, 1_000, false));
        assert_eq!(rule.window(Bandwidth::of(10, 1_000)), 200, "by the window");
        assert_eq!(rule.window(Bandwidth::of(1, 1_000)), 99, "by 100 ms of bandwidth, rounded down");
    }

    #[test]
    fn a_surplus_is_what_an_epoch_has_beyond_its_bandwidth() {
        // A segment every 64 us; the epoch begins with the first ACK, which finds what it acknowledges.
        let ack =
            |now_us, acked| Acked { now_us, acked, starts_round: false, bandwidth: Bandwidth::of(1, 64), cwnd: 5_000 };
        let mut rule = Aggregation::default();
        for (now_us, acked, surplus) in
            [(640, 10, 10), (640, 30, 40), (1_280, 15, 45), (1_280, 700, 745), (1_280, 1_500, 2_245)]
        {
            rule.update(ack(now_us, acked));
            assert_eq!(rule.current, surplus, "after {acked} segments at {now_us} us");
        }
    }

    #[test]
    fn an_epoch_has_less_than_a_mebisegment() {
        for (acked, begun, left) in [(9, 0, EPOCH_LIMIT - 1), (10, 64, 10)] {
            let mut rule = Aggregation { epoch_acked: EPOCH_LIMIT - 10, ..Aggregation::default() };
            let ack = Acked { now_us: 64, acked, starts_round: false, bandwidth: Bandwidth::of(1, 64), cwnd: 200 };
            rule.update(ack);
            assert_eq!((rule.epoch_us, rule.epoch_acked), (begun, left), "{acked}");
        }
    }
}
