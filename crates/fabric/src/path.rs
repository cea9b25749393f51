//! Paths: one flat arena of steps. A packet carries the index of its next step.

use std::collections::VecDeque;

use crate::PacketId;
use crate::circuit::Downtime;

/// One step of a path. A list of steps ends with a branch or else with the delivery of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Step {
    /// Wait in this queue, then cross the link that serves it.
    Queue(u32),
    /// Go on with the alternative that is in force in this branch.
    Branch(u32),
}

/// A place where packets take the alternative that is in force now.
#[derive(Clone, Debug)]
pub struct BranchConfig {
    /// Tails of the path from here on.
    pub alternatives: Vec<Vec<Step>>,
    /// Index of the alternative in force at the start.
    pub initial: u32,
    /// Most packets that wait here while the branch is dark.
    pub hold_limit: Option<u64>,
}

/// The state of a branch.
#[derive(Debug)]
pub(crate) struct Branch {
    /// First step of each alternative.
    pub alternatives: Vec<u32>,
    /// First step of the alternative in force.
    pub current: u32,
    /// Policy while dark.
    pub dark: Option<Downtime>,
    pub held: VecDeque<PacketId>,
    pub hold_limit: u64,
}

/// A [`Step`] in 32 bits: two of kind, thirty of index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(u32);

pub(crate) enum Decoded {
    Queue(u32),
    Branch(u32),
    /// A queue with its link; the index is the link's.
    Analytic(u32),
    Deliver,
}

const KIND_SHIFT: u32 = 30;
const INDEX: u32 = (1 << KIND_SHIFT) - 1;

impl Code {
    pub(crate) const DELIVER: Self = Self(3 << KIND_SHIFT);

    /// `analytic` holds the link of every queue that is served analytically.
    fn new(step: Step, analytic: &[Option<u32>]) -> Self {
        let (kind, index) = match step {
            Step::Queue(index) => match analytic[index as usize] {
                Some(link) => (0, link),
                None => (1, index),
            },
            Step::Branch(index) => (2, index),
        };
        assert!(index <= INDEX, "index {index} of a path step does not fit 30 bits");
        Self(kind << KIND_SHIFT | index)
    }

    /// The link, if the step is an analytic link.
    #[inline(always)]
    pub(crate) fn analytic_link(self) -> Option<u32> {
        if self.0 >> KIND_SHIFT == 0 { Some(self.0) } else { None }
    }

    #[inline(always)]
    pub(crate) fn decode(self) -> Decoded {
        match self.0 >> KIND_SHIFT {
            0 => Decoded::Analytic(self.0),
            1 => Decoded::Queue(self.0 & INDEX),
            2 => Decoded::Branch(self.0 & INDEX),
            _ => Decoded::Deliver,
        }
    }
}

/// Appends a list of steps to the arena and returns where it starts.
pub(crate) fn append(arena: &mut Vec<Code>, steps: &[Step], analytic: &[Option<u32>]) -> u32 {
    assert!(!steps.is_empty(), "a path has no steps");
    let start = u32::try_from(arena.len()).expect("more than 2^32 path steps");
    arena.extend(steps.iter().map(|&step| Code::new(step, analytic)));
    if !matches!(steps.last(), Some(Step::Branch(_))) {
        arena.push(Code::DELIVER);
    }
    start
}
