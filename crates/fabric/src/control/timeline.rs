//! A timeline is a periodic program of [`Action`]s.

use daybreak_units::{Duration, Instant};

use super::{Action, Controller, Counters, Orders, Report};

/// What a timeline does at one offset of its period.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineStep {
    /// Time after the start of the period.
    pub offset: Duration,
    /// Done in this order.
    pub actions: Vec<Action>,
}

/// A program that repeats forever.
#[derive(Clone, Debug)]
pub struct Timeline {
    period_start: Instant,
    period: Duration,
    steps: Vec<TimelineStep>,
    next: usize,
}

impl Timeline {
    /// A program whose first period starts at `start`. Steps are in the order of their offsets, which
    /// are all shorter than the period.
    ///
    /// # Panics
    /// If the offsets are not in order or not below the period.
    pub fn new(start: Instant, period: Duration, steps: Vec<TimelineStep>) -> Self {
        assert!(steps.is_sorted_by_key(|step| step.offset), "timeline steps are not in the order of their offsets");
        assert!(steps.iter().all(|step| step.offset < period), "a timeline step lies behind its period");
        Self { period_start: start, period, steps, next: 0 }
    }
}

impl Controller for Timeline {
    /// When the next step is due; never for an empty program.
    fn next_at(&self) -> Instant {
        match self.steps.get(self.next) {
            Some(step) => self.period_start.saturating_add(step.offset),
            None => Instant::NEVER,
        }
    }

    /// Takes the steps that are due: one, or several at one offset.
    fn advance(&mut self, now: Instant, _counters: &dyn Counters, orders: &mut Orders) {
        while self.next_at() <= now {
            orders.reports.push(Report::Step(self.next as u32));
            orders.actions.extend_from_slice(&self.steps[self.next].actions);
            self.next += 1;
            if self.next == self.steps.len() {
                self.next = 0;
                self.period_start = self.period_start.saturating_add(self.period);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::testing::NoCounters;

    #[test]
    fn a_program_repeats_with_its_period() {
        let at = |us| TimelineStep { offset: Duration::from_us(us), actions: vec![] };
        let mut timeline =
            Timeline::new(Instant::ZERO + Duration::from_us(5), Duration::from_us(200), vec![at(0), at(180)]);
        let mut seen = Vec::new();
        for _ in 0..4 {
            let (when, mut orders) = (timeline.next_at(), Orders::default());
            timeline.advance(when, &NoCounters, &mut orders);
            seen.extend(orders.reports.into_iter().map(|report| (when.as_us(), report)));
        }
        assert_eq!(seen, [(5, 0), (185, 1), (205, 0), (385, 1)].map(|(when, step)| (when, Report::Step(step))));
    }
}
