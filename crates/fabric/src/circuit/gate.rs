//! A gate lets a link pull from a queue.

use crate::scheduler::Place;

/// One gate of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gate {
    pub link: u32,
    pub state: GateState,
    /// Where the queue stands in the link's scheduler; `None` for a link that serves this queue only.
    pub place: Option<Place>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GateState {
    Open,
    Closed,
    /// Lets the packets through that were queued when the night began: so many are left.
    Draining(u32),
    /// Open until another gate of the queue opens.
    Parting,
}

impl Gate {
    /// True when the link may take a packet now.
    #[inline]
    pub(crate) fn is_open(self) -> bool {
        match self.state {
            GateState::Open | GateState::Parting => true,
            GateState::Closed => false,
            GateState::Draining(left) => left > 0,
        }
    }

    /// True when the link may take a packet that arrives now. A draining gate is for those that were there before.
    #[inline]
    pub(crate) fn takes_arrivals(&self) -> bool {
        matches!(self.state, GateState::Open | GateState::Parting)
    }
}
