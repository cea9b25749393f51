//! A gate lets a link pull from a queue.

/// One gate of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gate {
    pub link: u32,
    pub state: GateState,
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
}
