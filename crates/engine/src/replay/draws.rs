//! Random numbers of a congestion rule: what the other's rule has drawn is not known, so a replay tries.

use daybreak_tcp::congestion::Draw;

use super::{Captured, is_at_one_time, is_same};

/// Most sequences of random numbers that a rule which draws them is tried with.
pub const ATTEMPTS: usize = 1_024;
/// Once this many sequences part at the same segment, the difference is taken not to be a draw.
const ALIKE: usize = 16;

/// What one of our ends has done.
pub(super) struct Attempt {
    /// Length of the common prefix, in segments.
    pub together: usize,
    pub sent: Vec<Captured>,
    /// What its rule has drawn.
    pub drawn: Vec<Drawn>,
}

/// A draw, and how many segments had been sent then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn {
    pub draw: Draw,
    pub sent: usize,
}

/// When two segments in one place are the same.
#[derive(Clone, Copy, Debug)]
pub(super) enum Measure {
    OrderAndTime,
    Order,
}

impl Measure {
    pub fn together(self, ours: &[Captured], theirs: &[Captured]) -> usize {
        let is_one = |(ours, theirs): &(&Captured, &Captured)| match self {
            Measure::OrderAndTime => is_same(ours, theirs) && is_at_one_time(ours, theirs),
            Measure::Order => is_same(ours, theirs),
        };
        ours.iter().zip(theirs).take_while(is_one).count()
    }
}

/// What the end sends that stays with the other for longest: in order and time, and if none does to the end, in order.
pub(super) fn best(theirs: &[Captured], attempt: impl Fn(&[u32], Measure, bool) -> Attempt) -> Vec<Captured> {
    let mut outcomes = Vec::new();
    for measure in [Measure::OrderAndTime, Measure::Order] {
        let found;
        (outcomes, found) = search(theirs, outcomes, |outcomes| attempt(outcomes, measure, false));
        if let Some(sent) = found {
            return sent;
        }
    }
    attempt(&outcomes, Measure::Order, true).sent
}

/// The draws of the end that stays with the other for longest, beginning with `outcomes`, and what it sends
/// if that is the same to the end. What was drawn last before two ends part is changed first.
fn search(
    theirs: &[Captured],
    mut outcomes: Vec<u32>,
    attempt: impl Fn(&[u32]) -> Attempt,
) -> (Vec<u32>, Option<Vec<Captured>>) {
    let (mut longest, mut best) = (0, Vec::new());
    let (mut parted, mut alike) = (0, 0);
    for n in 0..ATTEMPTS {
        let tried = attempt(&outcomes);
        let mut drawn = tried.drawn;
        // What was drawn after they parted cannot be the reason.
        drawn.truncate(drawn.partition_point(|drawn| drawn.sent <= tried.together));
        if n == 0 || tried.together > longest {
            longest = tried.together;
            best = drawn.iter().map(|drawn| drawn.draw.outcome).collect();
        }
        if tried.together == theirs.len() && tried.together == tried.sent.len() {
            return (best, Some(tried.sent));
        }
        alike = if tried.together == parted { alike + 1 } else { 0 };
        parted = tried.together;
        if alike == ALIKE {
            break;
        }
        // The next outcome of the last draw that has one.
        while drawn.last().is_some_and(|drawn| drawn.draw.outcome + 1 == drawn.draw.outcomes) {
            drawn.pop();
        }
        let Some(last) = drawn.last_mut() else { break };
        last.draw.outcome += 1;
        outcomes = drawn.iter().map(|drawn| drawn.draw.outcome).collect();
    }
    (best, None)
}

#[cfg(test)]
mod tests {
    use daybreak_tcp::{Header, Segment};
    use daybreak_units::{Duration, Instant};

    use super::super::{Replayed, compared};
    use super::*;

    fn found(theirs: &[Captured], attempt: impl Fn(&[u32], Measure, bool) -> Attempt) -> Replayed {
        compared(best(theirs, attempt), theirs)
    }

    /// A hundred segments a millisecond apart; behind every thirtieth the sender is early or late by what it
    /// draws, one of seven.
    fn drawn(outcomes: [u32; 3]) -> Vec<Captured> {
        let early_us = |n: u64| if n < 30 { 0 } else { 100 * u64::from(outcomes[n as usize / 30 - 1]) };
        (0..100)
            .map(|n| Captured {
                at: Instant::ZERO + Duration::from_us(1_000 * (n + 1) - early_us(n)),
                segment: Segment::from(Header { seq: 1 + 100 * n, len: 100, ..Header::default() }),
            })
            .collect()
    }

    /// What the sender with these draws does, and draws, while it stays with the other.
    fn against(theirs: &[Captured], outcomes: &[u32], measure: Measure) -> Attempt {
        let outcome = |n: usize| outcomes.get(n).copied().unwrap_or(0);
        let sent = drawn([outcome(0), outcome(1), outcome(2)]);
        let together = measure.together(&sent, theirs);
        let drawn = (0..3).map(|n| Drawn { draw: Draw { outcomes: 7, outcome: outcome(n) }, sent: 30 * (n + 1) });
        Attempt { together, drawn: drawn.filter(|drawn| drawn.sent <= together + 1).collect(), sent }
    }

    #[test]
    fn three_draws_of_seven_are_found() {
        let theirs = drawn([5, 0, 6]);
        let tried = std::cell::Cell::new(0);
        let found = found(&theirs, |outcomes, measure, _| {
            tried.set(tried.get() + 1);
            against(&theirs, outcomes, measure)
        });
        assert_eq!((found.same, found.other_time), (100, 0));
        assert_eq!(found.sent, theirs);
        assert!(tried.get() <= 15, "{} tries", tried.get());
    }

    #[test]
    fn without_a_draw_that_fits_the_longest_way_counts() {
        // No sequence omits segment 70.
        let mut theirs = drawn([5, 3, 0]);
        theirs.remove(70);
        let found = found(&theirs, |outcomes, measure, _| against(&theirs, outcomes, measure));
        assert_eq!((found.same, found.other_time), (70, 0));
        assert!(!found.is_identical());
    }

    #[test]
    fn where_nothing_is_drawn_one_is_tried() {
        let theirs = drawn([1, 0, 0]);
        let tried = std::cell::Cell::new(0);
        let found = found(&theirs, |_, measure, _| {
            tried.set(tried.get() + 1);
            Attempt { drawn: Vec::new(), ..against(&theirs, &[], measure) }
        });
        assert_eq!((found.same, found.other_time), (100, 30));
        assert_eq!(tried.get(), 2, "in order and time, and in order");
    }
}
