//! Random numbers of a congestion rule, which a replay can choose.
//!
//! What another sender has drawn is not known, but what it did shows it. So a replay tries: it makes the rule
//! draw what it sets, and reads which draws the rule made.

use daybreak_units::Stream;

/// The random numbers of one rule.
#[derive(Clone, Debug)]
pub struct Draws {
    stream: Stream,
    /// What is to be drawn, and what was: only in a replay.
    script: Option<Script>,
}

/// One draw: a number below `outcomes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    /// Number of possible values.
    pub outcomes: u32,
    /// This one it was.
    pub outcome: u32,
}

#[derive(Clone, Debug)]
struct Script {
    outcomes: Vec<u32>,
    made: Vec<Draw>,
}

impl Draws {
    /// The draws of the rule `name` with this `seed`.
    pub fn new(seed: u64, name: &str) -> Self {
        Self { stream: Stream::new(seed, name), script: None }
    }

    /// A number below `bound`, which must not be zero.
    pub fn below(&mut self, bound: u32) -> u32 {
        let drawn = self.stream.below(u64::from(bound)) as u32;
        match &mut self.script {
            None => drawn,
            Some(script) => script.next(bound),
        }
    }

    /// True unless a number of 32 bits is at most `limit`.
    pub fn exceeds(&mut self, limit: u32) -> bool {
        let drawn = self.stream.next_u64() >> 32 > u64::from(limit);
        match &mut self.script {
            None => drawn,
            Some(script) => script.next(2) == 1,
        }
    }

    /// Draws these outcomes from now on, then zeros, and records each draw.
    pub fn follow(&mut self, outcomes: Vec<u32>) {
        self.script = Some(Script { outcomes, made: Vec::new() });
    }

    /// What was drawn since [`Draws::follow`].
    pub fn made(&self) -> &[Draw] {
        self.script.as_ref().map_or(&[], |script| &script.made)
    }
}

impl Script {
    fn next(&mut self, outcomes: u32) -> u32 {
        let outcome = self.outcomes.get(self.made.len()).map_or(0, |&outcome| outcome.min(outcomes - 1));
        self.made.push(Draw { outcomes, outcome });
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chance_is_as_likely_as_its_limit_says() {
        let mut draws = Draws::new(3, "test");
        let limit = u32::MAX / 4;
        let exceeded = (0..10_000).filter(|_| draws.exceeds(limit)).count();
        assert!((7_300..7_700).contains(&exceeded), "{exceeded} of 10,000");
        assert!((0..1_000).all(|_| !draws.exceeds(u32::MAX)));
    }

    #[test]
    fn a_script_is_followed_and_then_zeros() {
        let mut draws = Draws::new(3, "test");
        draws.follow(vec![5, 1, 9]);
        assert_eq!((draws.below(7), draws.exceeds(0), draws.below(4), draws.below(7)), (5, true, 3, 0));
        let made: Vec<(u32, u32)> = draws.made().iter().map(|draw| (draw.outcomes, draw.outcome)).collect();
        assert_eq!(made, [(7, 5), (2, 1), (4, 3), (7, 0)]);
    }
}
