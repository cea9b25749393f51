//! The events that the fabric reports while it runs.

use daybreak_units::Instant;

use crate::control::Decision;
use crate::{Packet, PacketId};

pub use daybreak_trace::{DropReason, Place};

/// Observes packets. Every method does nothing by default; the monitor is a type parameter, so disabled observation
/// costs nothing.
pub trait Monitor<B> {
    /// A packet was made and is about to enter its first queue.
    #[inline]
    fn created(&mut self, _now: Instant, _id: PacketId, _packet: &Packet<B>) {}
    /// A link starts to send the packet at a time, which takes `wire_bytes` with its framing. If its queue is only
    /// metered, not observed, that time may be yet to come: then [`crate::Fabric::revoke_unsent`] is to be called at
    /// the end.
    #[inline]
    fn link_sent(&mut self, _at: Instant, _link: u32, _id: PacketId, _packet: &Packet<B>, _wire_bytes: u32) {}
    /// The packet announced for this time is not sent: the run ends before.
    #[inline]
    fn link_unsent(&mut self, _at: Instant, _link: u32, _packet: &Packet<B>, _wire_bytes: u32) {}
    /// The occupancy of the queue after an arrival or a departure.
    #[inline]
    fn queue_changed(&mut self, _now: Instant, _queue: u32, _packets: u32, _bytes: u64) {}
    /// The packet is lost at `place`, a queue, link or route switch depending on the reason.
    #[inline]
    fn dropped(&mut self, _now: Instant, _reason: DropReason, _place: u32, _packet: &Packet<B>) {}
    /// A timeline took a step of its program.
    #[inline]
    fn timeline_stepped(&mut self, _now: Instant, _timeline: u32, _step: u32) {}
    /// A controller made a decision.
    #[inline]
    fn decided(&mut self, _now: Instant, _controller: u32, _decision: Decision) {}
}

/// Observes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl<B> Monitor<B> for Unobserved {}
