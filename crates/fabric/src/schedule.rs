//! How the fabric asks to be called again.

use daybreak_units::Instant;

use crate::PacketId;

/// A call that the fabric wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Call [`crate::Fabric::link_free`].
    LinkFree {
        /// The link that will have sent its packet.
        link: u32,
    },
    /// Call [`crate::Fabric::arrive`].
    Arrival {
        /// The link at whose end the packet will be.
        link: u32,
        /// The packet, or [`PacketId::NEXT`].
        packet: PacketId,
    },
}

/// Where wishes to be called go. When several fall on one instant, all [`Wake::LinkFree`] must be
/// called before any [`Wake::Arrival`], each kind in the order of its links.
pub trait Schedule {
    /// Asks for `wake` at `at`, which is never in the past.
    fn at(&mut self, at: Instant, wake: Wake);
}
