//! Who chooses which path of a connection is there.

use daybreak_units::Instant;

use crate::{Flags, Segment};

/// Chooses the path on which a connection with several sends. A choice may follow marks of the network, a timeline, or what
/// ACKs carry.
pub trait PathChoice: std::fmt::Debug + Send {
    /// The path that is there when `ack` arrives, by its place in the order in which the paths were added, the first being 0.
    /// It holds until the next ACK. Called with each ACK, old ones apart, once the handshake is done.
    fn choose(&mut self, now: Instant, ack: &Segment) -> u16;
}

/// The network marks what passes while the second path is there, and the peer echoes it: an ACK with the ECE flag means the
/// second, one without it the first.
#[derive(Clone, Copy, Debug, Default)]
pub struct EchoMarks;

impl PathChoice for EchoMarks {
    fn choose(&mut self, _now: Instant, ack: &Segment) -> u16 {
        u16::from(ack.flags.contains(Flags::ECE) && !ack.flags.contains(Flags::SYN))
    }
}
