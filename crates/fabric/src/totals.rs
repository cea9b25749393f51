//! What links and queues have done, and where packets are: what conservation is checked with.

/// What one link has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkTotals {
    /// Packets that began to be sent, lost ones included.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Packets lost at random.
    pub lost: u64,
    /// Packets that arrived at the other end.
    pub arrived: u64,
    /// Packets in the queue of a link whose departures are settled, counted from the time at which
    /// it was settled that they come; 0 for other links.
    pub waiting: u64,
    /// Packets on this link or in its queue that another link's `waiting` or total counts already.
    pub handed_on: u64,
    /// [`crate::Wake::Arrival`]s under way.
    pub wakes: u64,
}

/// What has happened to the packets of one queue so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueTotals {
    /// Packets that its discipline marked.
    pub marked: u64,
    /// Packets that were lost here.
    pub dropped: u64,
    /// Packets that found it full and went on elsewhere.
    pub overflowed: u64,
    /// Packets that came back to it.
    pub returned: u64,
}

/// Where the packets are that are neither delivered nor lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// In the slab, wherever they are.
    pub alive: u64,
    /// In queues.
    pub queued: u64,
    /// Held by dark route switches.
    pub held: u64,
    /// On links, in service or in the pipe.
    pub on_links: u64,
}
