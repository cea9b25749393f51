//! The minimum RTT over a sliding window of 300 s (`tcp_min_rtt_wlen`).
//!
//! Kathleen Nichols' filter: the best, second best and third best sample, each later than the one
//! before, so that the minimum of the window is known without keeping the window.

/// Length of the window in microseconds.
const WINDOW_US: u64 = 300_000_000;

#[derive(Clone, Copy, Debug)]
struct Sample {
    at_us: u64,
    rtt_us: u32,
}

/// The filter. Before the first sample the minimum is unknown.
#[derive(Clone, Debug)]
pub(crate) struct MinRtt {
    best: [Sample; 3],
}

impl MinRtt {
    pub fn new() -> Self {
        Self { best: [Sample { at_us: 0, rtt_us: u32::MAX }; 3] }
    }

    /// The minimum in microseconds; `u32::MAX` before the first sample.
    #[inline]
    pub fn get(&self) -> u32 {
        self.best[0].rtt_us
    }

    #[inline]
    pub fn sample(&mut self, now_us: u64, rtt_us: u32) {
        let new = Sample { at_us: now_us, rtt_us };
        if rtt_us <= self.best[0].rtt_us || now_us - self.best[2].at_us > WINDOW_US {
            self.best = [new; 3];
            return;
        }
        if rtt_us <= self.best[1].rtt_us {
            self.best[1] = new;
            self.best[2] = new;
        } else if rtt_us <= self.best[2].rtt_us {
            self.best[2] = new;
        }
        let age = now_us - self.best[0].at_us;
        // The later places must not all hold samples of the window's beginning.
        if age > WINDOW_US / 4 {
            self.renew(new, age);
        }
    }

    #[cold]
    fn renew(&mut self, new: Sample, age: u64) {
        if age > WINDOW_US {
            self.best = [self.best[1], self.best[2], new];
            if new.at_us - self.best[0].at_us > WINDOW_US {
                self.best = [self.best[1], new, new];
            }
        } else if self.best[1].at_us == self.best[0].at_us {
            self.best[1] = new;
            self.best[2] = new;
        } else if self.best[2].at_us == self.best[1].at_us && age > WINDOW_US / 2 {
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_minimum_and_forgets_it_after_the_window() {
        let mut filter = MinRtt::new();
        filter.sample(0, 50);
        filter.sample(10, 40);
        filter.sample(20, 60);
        assert_eq!(filter.get(), 40);
        for second in 1..=299 {
            filter.sample(second * 1_000_000, 70);
        }
        assert_eq!(filter.get(), 40);
        for second in 300..=310 {
            filter.sample(second * 1_000_000, 70);
        }
        assert_eq!(filter.get(), 70);
    }

    #[test]
    fn the_window_is_counted_from_the_samples_not_from_the_start() {
        let mut filter = MinRtt::new();
        let long_after = 1_000_000_000;
        filter.sample(long_after, 50);
        for second in 1..=10 {
            filter.sample(long_after + second * 1_000_000, 60);
        }
        assert_eq!(filter.get(), 50);
    }

    /// When each was taken, and its value.
    type Choices = [(u64, u32); 3];

    #[test]
    fn later_choices_come_from_later_parts_of_the_window() {
        // A second choice after a quarter of the window, a third after half of it.
        let second = |at: u64| at * 1_000_000;
        let mut filter = MinRtt::new();
        let steps: [(u64, u32, Choices); 14] = [
            (1_000, 50, [(1_000, 50), (1_000, 50), (1_000, 50)]),
            (1_001, 60, [(1_000, 50), (1_000, 50), (1_000, 50)]),
            (1_075, 61, [(1_000, 50), (1_000, 50), (1_000, 50)]),
            (1_076, 62, [(1_000, 50), (1_076, 62), (1_076, 62)]),
            (1_150, 63, [(1_000, 50), (1_076, 62), (1_076, 62)]),
            (1_151, 70, [(1_000, 50), (1_076, 62), (1_151, 70)]),
            // What is not above the third choice takes its place, what is not above the second those of both.
            (1_160, 70, [(1_000, 50), (1_076, 62), (1_160, 70)]),
            (1_170, 62, [(1_000, 50), (1_170, 62), (1_170, 62)]),
            (1_180, 80, [(1_000, 50), (1_170, 62), (1_180, 80)]),
            (1_300, 90, [(1_000, 50), (1_170, 62), (1_180, 80)]),
            (1_301, 91, [(1_170, 62), (1_180, 80), (1_301, 91)]),
            // Here the second one is too old as well, and then the third.
            (1_481, 92, [(1_301, 91), (1_481, 92), (1_481, 92)]),
            (1_781, 93, [(1_481, 92), (1_481, 92), (1_781, 93)]),
            (2_082, 99, [(2_082, 99), (2_082, 99), (2_082, 99)]),
        ];
        for (at, rtt_us, expected) in steps {
            filter.sample(second(at), rtt_us);
            let found = filter.best.map(|sample| (sample.at_us, sample.rtt_us));
            assert_eq!(found, expected.map(|(at, rtt_us)| (second(at), rtt_us)), "{at} s");
        }
    }
}
