//! Queues: where packets wait for a link. The waiting itself is the same for all kinds; a kind, one
//! file each, decides who may wait.

mod drop_tail;

use std::collections::VecDeque;

use crate::PacketId;

/// What a queue may hold; a kind may ignore what does not concern it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Most packets that may wait.
    pub packets: Option<u64>,
    /// Most bytes (IP length) that may wait.
    pub bytes: Option<u64>,
}

/// The occupancy that a packet meets on arrival; the packet itself is not counted yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Occupancy {
    /// Packets that wait.
    pub packets: u32,
    /// Bytes that wait.
    pub bytes: u64,
}

/// What is done with an arriving packet that has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It waits at the end of the queue.
    Accept,
    /// It is lost.
    Drop,
}

/// One kind of queue: decides for every packet that cannot be sent at once.
trait Discipline: Sized {
    fn new(limits: Limits) -> Self;
    fn arrival(&mut self, occupancy: Occupancy, bytes: u32) -> Verdict;
    /// Packets of at most so many bytes that are certain to be accepted from this occupancy on, even if
    /// nothing leaves. A kind that has to see every arrival promises none.
    fn room(&self, _occupancy: Occupancy, _largest_packet: u32) -> u32 {
        0
    }
}

/// Builds the enum of all kinds from the registry, so that the choice costs no indirect call.
macro_rules! registry {
    ($($name:literal => $module:ident::$kind:ident, $summary:literal;)*) => {
        /// Names of all kinds of queue with a line about each.
        pub const REGISTRY: &[(&str, &str)] = &[$(($name, $summary)),*];

        /// The kind of one queue, with its settings and state.
        #[derive(Debug)]
        pub(crate) enum Kind { $($kind($module::$kind)),* }

        impl Kind {
            pub(crate) fn find(name: &str, limits: Limits) -> Option<Self> {
                match name {
                    $($name => Some(Self::$kind($module::$kind::new(limits))),)*
                    _ => None,
                }
            }
            #[inline(always)]
            pub(crate) fn arrival(&mut self, occupancy: Occupancy, bytes: u32) -> Verdict {
                match self { $(Self::$kind(kind) => kind.arrival(occupancy, bytes)),* }
            }
            pub(crate) fn room(&self, occupancy: Occupancy, largest_packet: u32) -> u32 {
                match self { $(Self::$kind(kind) => kind.room(occupancy, largest_packet)),* }
            }
        }
    };
}

// A new kind of queue is one file and one line here.
registry! {
    "drop_tail" => drop_tail::DropTail, "FIFO that drops arrivals when it is full";
}

impl Default for Kind {
    fn default() -> Self {
        Self::DropTail(drop_tail::DropTail::new(Limits::default()))
    }
}

/// True when `name` is in the [`REGISTRY`].
pub fn is_known(name: &str) -> bool {
    REGISTRY.iter().any(|(known, _)| *known == name)
}

/// The state of a queue.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Queue {
    ring: VecDeque<PacketId>,
    bytes: u64,
    kind: Kind,
    /// The one link that serves it through an open gate, or [`NOT_PLAIN`].
    pub sole_link: u32,
    /// Its gates in the fabric's list.
    pub gates_start: u32,
    pub gates_end: u32,
    /// Arrivals are lost because the gates closed with the policy `drop`.
    pub drops_arrivals: bool,
}

/// Gates have to be looked at.
pub(crate) const NOT_PLAIN: u32 = u32::MAX;

impl Queue {
    /// `None` if there is no such kind.
    pub(crate) fn new(kind: &str, limits: Limits, gates: std::ops::Range<u32>) -> Option<Self> {
        Some(Self {
            ring: VecDeque::new(),
            bytes: 0,
            kind: Kind::find(kind, limits)?,
            sole_link: NOT_PLAIN,
            gates_start: gates.start,
            gates_end: gates.end,
            drops_arrivals: false,
        })
    }

    /// Lets the packet wait, or refuses it.
    #[inline]
    pub(crate) fn push(&mut self, id: PacketId, bytes: u32) -> Verdict {
        let verdict = self.kind.arrival(self.occupancy(), bytes);
        if verdict == Verdict::Accept {
            self.ring.push_back(id);
            self.bytes += u64::from(bytes);
        }
        verdict
    }

    /// The packet that has waited longest.
    #[inline]
    pub(crate) fn front(&self) -> Option<PacketId> {
        self.ring.front().copied()
    }

    /// Takes the packet out that has waited longest; it has so many bytes.
    #[inline]
    pub(crate) fn pop(&mut self, bytes: u32) {
        self.ring.pop_front();
        self.bytes -= u64::from(bytes);
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    #[inline]
    pub(crate) fn occupancy(&self) -> Occupancy {
        Occupancy { packets: self.ring.len() as u32, bytes: self.bytes }
    }
}
