//! Bandwidth in segments, and the windowed maximum of it.

use daybreak_units::Duration;

/// One segment a microsecond, in the units of [`Bandwidth`].
const UNIT: u64 = 1 << 24;

/// A bandwidth in 2^-24 segments a microsecond: at 1500 bytes a step is 715 bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bandwidth(pub(super) u64);

impl Bandwidth {
    /// `segments` in `interval_us`, which must not be zero.
    pub(super) fn of(segments: u64, interval_us: u64) -> Self {
        Self(segments * UNIT / interval_us)
    }
    /// Segments in `interval_us`, rounded down.
    pub(super) fn segments_in(self, interval_us: u64) -> u64 {
        self.0 * interval_us / UNIT
    }
    /// `gain` times the segments in `interval_us`, rounded up.
    pub(super) fn segments_in_with(self, interval_us: u64, gain: u64) -> u64 {
        (self.0 * interval_us).scaled_by(gain).div_ceil(UNIT)
    }
    /// Payload bytes a second at `gain`, less `margin` percent.
    pub(super) fn pacing_bytes_per_sec(self, mss: u32, gain: u64, margin: u64) -> u64 {
        let bytes = (self.0 * u64::from(mss)).scaled_by(gain);
        ((u128::from(bytes) * u128::from(Duration::from_secs(1).as_us() / 100 * (100 - margin))) >> 24) as u64
    }
    /// `gain` times this bandwidth.
    pub(super) fn times(self, gain: u64) -> Self {
        Self(self.0.scaled_by(gain))
    }
}

/// Gains are fractions of 256.
trait ScaledBy {
    fn scaled_by(self, gain: u64) -> Self;
}

impl ScaledBy for u64 {
    fn scaled_by(self, gain: u64) -> u64 {
        (self * gain) >> 8
    }
}

/// Kathleen Nichols' windowed maximum (draft-cardwell-iccrg-bbr-congestion-control-00, section 4.1.1.3):
/// the best sample of the last `window` rounds, kept with a second and a third choice from later
/// parts of the window, so that memory is constant and an old maximum gives way to a recent one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MaxFilter {
    /// Best, second and third: never growing in value, never falling in time.
    choices: [Choice; 3],
}

#[derive(Clone, Copy, Debug, Default)]
struct Choice {
    round: u32,
    value: Bandwidth,
}

impl MaxFilter {
    /// The maximum.
    #[inline]
    pub(super) fn max(&self) -> Bandwidth {
        self.choices[0].value
    }

    /// Takes the sample of `round` over the last `window` rounds.
    pub(super) fn update(&mut self, window: u32, round: u32, value: Bandwidth) {
        let new = Choice { round, value };
        let [best, second, third] = &mut self.choices;
        if value >= best.value || round.wrapping_sub(third.round) > window {
            self.choices = [new; 3];
            return;
        }
        if value >= second.value {
            (*second, *third) = (new, new);
        } else if value >= third.value {
            *third = new;
        }
        self.age(window, new);
    }

    /// Drops a maximum that left the window, and draws later choices from later parts of it.
    fn age(&mut self, window: u32, new: Choice) {
        let [best, second, third] = &mut self.choices;
        let age = |choice: &Choice| new.round.wrapping_sub(choice.round);
        if age(best) > window {
            (*best, *second, *third) = (*second, *third, new);
            if age(best) > window {
                (*best, *second, *third) = (*second, *third, new);
            }
        } else if second.round == best.round && age(best) > window / 4 {
            (*second, *third) = (new, new);
        } else if third.round == second.round && age(best) > window / 2 {
            *third = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_gigabit_in_jumbo_segments() {
        // 139.7 segments of 8948 bytes a millisecond.
        let bw = Bandwidth::of(1_397, 10_000);
        assert_eq!(bw.segments_in(100_000), 13_969);
        assert_eq!(bw.segments_in_with(40, 256), 6, "5.588 rounded up");
        assert_eq!(bw.segments_in_with(40, 512), 12);
        // 0.1397 * 8948 = 1250.0356 bytes/us, less 1 %: 1,237,535,244; the fixed point loses 3e-8.
        assert_eq!(bw.pacing_bytes_per_sec(8_948, 256, 1), 1_237_535_204);
    }

    #[test]
    fn the_maximum_leaves_after_the_window() {
        let mut filter = MaxFilter::default();
        let mut maxima = Vec::new();
        for round in 0..30u32 {
            let value = if round == 3 { 100 } else { 50 + u64::from(round % 2) };
            filter.update(10, round, Bandwidth(value));
            maxima.push(filter.max().0);
        }
        assert_eq!(maxima[2], 51);
        assert!(maxima[3..=13].iter().all(|&max| max == 100), "{maxima:?}");
        assert!(maxima[14..].iter().all(|&max| max == 51), "{maxima:?}");
    }

    #[test]
    fn a_falling_bandwidth_is_followed_within_the_window() {
        let mut filter = MaxFilter::default();
        for round in 0..100u32 {
            let value = |round: u32| u64::from(1_000 - round);
            filter.update(10, round, Bandwidth(value(round)));
            let lag = u64::from(1_000 - round).abs_diff(filter.max().0);
            assert!(lag <= 10, "round {round}: {lag} rounds old");
        }
    }

    /// When each was taken, and its value.
    type Choices = [(u32, u64); 3];

    #[test]
    fn later_choices_come_from_later_parts_of_the_window() {
        // With eight rounds: a second choice after a quarter of them, a third after half.
        let mut filter = MaxFilter::default();
        let steps: [(u32, u64, Choices); 14] = [
            (0, 100, [(0, 100), (0, 100), (0, 100)]),
            (1, 90, [(0, 100), (0, 100), (0, 100)]),
            (2, 85, [(0, 100), (0, 100), (0, 100)]),
            (3, 70, [(0, 100), (3, 70), (3, 70)]),
            (4, 60, [(0, 100), (3, 70), (3, 70)]),
            (5, 50, [(0, 100), (3, 70), (5, 50)]),
            // What is not below the third choice takes its place, what is not below the second those of both.
            (6, 55, [(0, 100), (3, 70), (6, 55)]),
            (7, 70, [(0, 100), (7, 70), (7, 70)]),
            (8, 40, [(0, 100), (7, 70), (8, 40)]),
            // The best one is nine rounds old.
            (9, 30, [(7, 70), (8, 40), (9, 30)]),
            (10, 30, [(7, 70), (8, 40), (10, 30)]),
            // Here the second one is too, and then the third.
            (17, 10, [(10, 30), (17, 10), (17, 10)]),
            (25, 5, [(17, 10), (17, 10), (25, 5)]),
            (34, 1, [(34, 1), (34, 1), (34, 1)]),
        ];
        for (round, value, expected) in steps {
            filter.update(8, round, Bandwidth(value));
            assert_eq!(filter.choices.map(|choice| (choice.round, choice.value.0)), expected, "round {round}");
        }
    }

    #[test]
    fn a_third_choice_counts_for_the_whole_window() {
        for (round, best) in [(8, 10), (9, 1)] {
            let choice = |value| Choice { round: 0, value: Bandwidth(value) };
            let mut filter = MaxFilter { choices: [choice(30), choice(20), choice(10)] };
            filter.choices[0].round = 0u32.wrapping_sub(9);
            filter.choices[1].round = 0u32.wrapping_sub(1);
            filter.update(8, round, Bandwidth(1));
            assert_eq!(filter.max(), Bandwidth(best), "{round} rounds later");
        }
    }
}
