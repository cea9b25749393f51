//! A gate lets a link pull from a queue.

use super::AtGate;
use crate::queue::{Lane, Lanes};
use crate::scheduler::Place;

/// One gate of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gate {
    pub link: u32,
    pub state: GateState,
    /// The queue's place in the link's scheduler; `None` for a link that serves only this queue.
    pub place: Option<Place>,
    /// While it drains: number of the first packet stored by the queue's discipline that may not pass.
    pub before: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GateState {
    Open,
    Closed,
    /// Passes the packets that were queued when the night began: the numbers left at the front of each lane.
    Draining(Lanes),
    /// Open until another gate of the queue opens.
    Parting,
}

impl Gate {
    /// True when the link may take a packet now.
    #[inline]
    pub(crate) fn is_open(self) -> bool {
        self.state != GateState::Closed
    }

    /// True when the link may take a packet that arrives now. A draining gate only passes those that were queued
    /// before.
    #[inline]
    pub(crate) fn takes_arrivals(&self) -> bool {
        matches!(self.state, GateState::Open | GateState::Parting)
    }

    /// The lane of the queue whose first packet the link is to take, given how many wait in each.
    #[inline]
    pub(crate) fn serves(&self, waiting: Lanes) -> Lane {
        match self.state {
            GateState::Draining(left) => left.first(),
            _ => waiting.first(),
        }
    }

    /// Bound for packets stored by the queue's discipline: those with lower numbers may pass.
    pub(crate) fn passes_before(&self) -> u64 {
        if let GateState::Draining(_) = self.state { self.before } else { u64::MAX }
    }

    /// Begins a night, given how many packets are queued, and the number of the next one that the discipline will keep.
    pub(crate) fn close(&mut self, how: AtGate, waiting: Lanes, next: u64) {
        if !matches!(self.state, GateState::Draining(_)) {
            self.before = next;
        }
        self.state = match (self.state, how) {
            (GateState::Closed, _) | (_, AtGate::Empty | AtGate::Keep) => GateState::Closed,
            // It is night already, and later arrivals stay.
            (GateState::Draining(left), _) => GateState::Draining(left),
            (_, AtGate::Drain) => draining(waiting),
            (_, AtGate::Part) => GateState::Parting,
        };
    }

    /// The first packet of a lane has left the queue.
    #[inline]
    pub(crate) fn has_left(&mut self, lane: Lane) {
        if let GateState::Draining(left) = self.state {
            self.state = draining(left.without_first(lane));
        }
    }

    /// Packets stored by the queue's discipline have left; `kept_before` is how many with lower numbers are left.
    pub(crate) fn recount(&mut self, kept_before: impl Fn(u64) -> u32) {
        if let GateState::Draining(left) = self.state {
            self.state = draining(left.with_others(kept_before(self.before)));
        }
    }

    /// Packets have left the queue at its tail; `waiting` are still in it.
    pub(crate) fn is_cut(&mut self, waiting: Lanes) {
        if let GateState::Draining(left) = self.state {
            self.state = draining(left.at_most(waiting));
        }
    }
}

fn draining(left: Lanes) -> GateState {
    if left.is_empty() { GateState::Closed } else { GateState::Draining(left) }
}
