//! Paths: one flat arena of steps. A packet carries the index of its next step.

use std::collections::VecDeque;

use crate::PacketId;
use crate::circuit::AtRoute;
use crate::control::Passed;

/// One step of a path. A list of steps ends with a fork, a return or a route switch, which continue elsewhere, or else
/// with the delivery of the packet. A step refers to things by their index in the list of their kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(tag = "kind", content = "index", rename_all = "snake_case", deny_unknown_fields)
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Step {
    /// Wait in this queue, then cross the link that serves it.
    Queue(u32),
    /// Wait in the queue of this fork and cross the link that serves it; that link determines where to continue.
    Fork(u32),
    /// Come back to the queue of this fork, to wait among the returned packets, which are served first.
    Return(u32),
    /// Continue with the alternative that is in force in this route switch.
    RouteSwitch(u32),
    /// Get the mark of this marker if it is on.
    Marker(u32),
}

/// A place where packets take the path that is in force now. Paths are indices into [`crate::Config::paths`].
#[derive(Clone, Debug)]
pub struct RouteSwitchConfig {
    /// Paths from here on.
    pub alternatives: Vec<u32>,
    /// Index of the alternative in force at the start.
    pub initial: u32,
    /// Limit on the packets that wait here while the route is dark.
    pub hold_limit: Option<u64>,
}

/// A queue after which the path depends on the link that has served the packet.
#[derive(Clone, Debug)]
pub struct ForkConfig {
    /// The queue.
    pub queue: u32,
    /// For each link that may serve it, the path from the link's end on.
    pub tails: Vec<(u32, u32)>,
    /// The path of a packet that finds the queue full; `None` if it is lost. It begins at once, and must include a
    /// queue.
    pub overflow: Option<u32>,
}

/// A place where packets get a mark while it is on.
#[derive(Clone, Debug)]
pub struct MarkerConfig {
    /// Which of the eight mark bits.
    pub mark: u8,
    /// Whether it is on at the start.
    pub is_on: bool,
}

/// The state of a route switch.
#[derive(Debug)]
pub(crate) struct RouteSwitch {
    /// First step of each alternative.
    pub alternatives: Vec<u32>,
    /// First step of the alternative in force.
    pub current: u32,
    /// What happens to arrivals while it is dark.
    pub dark: Option<AtRoute>,
    pub held: VecDeque<PacketId>,
    pub hold_limit: u64,
    /// Packets that have passed here.
    pub passed: Passed,
}

/// A fork.
#[derive(Debug)]
pub(crate) struct Fork {
    pub queue: u32,
    /// First step of a packet that finds the queue full, or [`NO_STEP`].
    pub overflow: u32,
    /// Links and the first steps behind them.
    pub tails: Box<[(u32, u32)]>,
}

/// There is none.
pub(crate) const NO_STEP: u32 = u32::MAX;

impl Fork {
    /// First step of a packet that has come over this link.
    pub(crate) fn tail(&self, link: u32) -> u32 {
        let found = self.tails.iter().find(|(served_by, _)| *served_by == link);
        found.unwrap_or_else(|| panic!("a fork does not say where packets of link {link} go")).1
    }
}

/// A marker's bit in the header, and what it sets now: that bit or nothing.
#[derive(Debug)]
pub(crate) struct Marker {
    pub bit: u8,
    pub sets: u8,
}

/// A [`Step`] in 32 bits: three of kind, the others of index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(u32);

pub(crate) enum Decoded {
    Queue(u32),
    RouteSwitch(u32),
    Fork(u32),
    /// The packet comes from the queue of this fork: the link determines where it continues.
    Tails(u32),
    Return(u32),
    Marker(u32),
    /// A queue with its link; the index is the link's.
    Analytic(u32),
    /// The packet has left a link whose delay may change, or another one that serves its queue.
    Pipe,
    Deliver,
}

const KIND_SHIFT: u32 = 29;
const INDEX: u32 = (1 << KIND_SHIFT) - 1;

impl Code {
    pub(crate) const DELIVER: Self = Self(7 << KIND_SHIFT);
    const PIPE: Self = Self(Self::DELIVER.0 + 1);

    fn new(kind: u32, index: u32) -> Self {
        assert!(index <= INDEX, "index {index} of a path step does not fit 29 bits");
        Self(kind << KIND_SHIFT | index)
    }

    /// The link, if the step is a queue that is served analytically.
    #[inline(always)]
    pub(crate) fn analytic_link(self) -> Option<u32> {
        if self.0 >> KIND_SHIFT == 0 { Some(self.0) } else { None }
    }

    #[inline(always)]
    pub(crate) fn decode(self) -> Decoded {
        let index = self.0 & INDEX;
        match self.0 >> KIND_SHIFT {
            0 => Decoded::Analytic(index),
            1 => Decoded::Queue(index),
            2 => Decoded::RouteSwitch(index),
            3 => Decoded::Fork(index),
            4 => Decoded::Tails(index),
            5 => Decoded::Return(index),
            6 => Decoded::Marker(index),
            _ if self == Self::PIPE => Decoded::Pipe,
            _ => Decoded::Deliver,
        }
    }
}

/// Properties of the service of queues that affect the steps of paths.
pub(crate) struct Served<'a> {
    /// The link of every queue that is served analytically.
    pub analytic: &'a [Option<u32>],
    /// Whether the delay of a link that serves the queue may change.
    pub has_pipe: &'a [bool],
    /// The queue of each fork.
    pub queues_of_forks: &'a [u32],
}

/// Appends a list of steps to the arena and returns where it starts.
pub(crate) fn append(arena: &mut Vec<Code>, steps: &[Step], served: &Served) -> u32 {
    let start = u32::try_from(arena.len()).expect("more than 2^32 path steps");
    let pipe = |queue: u32| served.has_pipe[queue as usize].then_some(Code::PIPE);
    let of_fork = |fork: u32| pipe(served.queues_of_forks[fork as usize]).into_iter().chain([Code::new(4, fork)]);
    for &step in steps {
        match step {
            Step::Queue(index) => match served.analytic[index as usize] {
                Some(link) => arena.push(Code::new(0, link)),
                None => arena.extend([Code::new(1, index)].into_iter().chain(pipe(index))),
            },
            Step::RouteSwitch(index) => arena.push(Code::new(2, index)),
            Step::Fork(index) => arena.extend([Code::new(3, index)].into_iter().chain(of_fork(index))),
            Step::Return(index) => arena.extend([Code::new(5, index)].into_iter().chain(of_fork(index))),
            Step::Marker(index) => arena.push(Code::new(6, index)),
        }
    }
    if !matches!(steps.last(), Some(Step::Fork(_) | Step::Return(_) | Step::RouteSwitch(_))) {
        arena.push(Code::DELIVER);
    }
    start
}
