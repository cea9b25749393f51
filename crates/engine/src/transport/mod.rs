//! What carries a flow's data between its ends: TCP and UDP so far, behind one trait.
//!
//! A transport is a state machine without a clock or a network. The engine gives each end the packets and the times that
//! are its own, takes from it what it sends, and comes back when its timeout is due. Another one is a file here, a
//! variant of [`Body`] for what its packets carry, and one of `End`, which holds the ends of all flows.

mod body;
mod tcp;
mod udp;

use daybreak_fabric::Content;
use daybreak_tcp::Ecn;
use daybreak_trace::{FlowRow, WindowRow};
use daybreak_units::Instant;

pub(crate) use body::Body;
pub(crate) use udp::Udp;

/// A packet that an end sends, as IP sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outgoing {
    /// IP length.
    pub bytes: u32,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
}

/// One end of a flow. All times are those of its host's clock.
pub(crate) trait Transport {
    /// What the bodies of its packets are made of.
    type Content: Content<Body>;

    /// A packet has arrived.
    fn on_packet(&mut self, now: Instant, body: &Body);

    /// [`Transport::poll_timeout`] has come. Does nothing when early.
    fn on_timeout(&mut self, now: Instant);

    /// A packet of `bytes` (IP length) has left the queue of its host. Called only for ends that count what is there (TCP
    /// small queues), before the next input or when [`Transport::awaits_departure`].
    fn on_departure(&mut self, _now: Instant, _bytes: u32) {}

    /// Whether a departure may let it send.
    fn awaits_departure(&self) -> bool {
        false
    }

    /// Time has passed without a packet or a timeout, or its application has acted.
    fn advance(&mut self, _now: Instant) {}

    /// The next packet to send; `None` when there is no more at the time of the last input.
    fn poll_transmit(&mut self) -> Option<(&Self::Content, Outgoing)>;

    /// When it wants to be called again; [`Instant::NEVER`] for never. Valid once nothing is left to send.
    fn poll_timeout(&self) -> Instant;

    /// Whether this payload of its application is acknowledged, which completes the flow; [`u64::MAX`] never is.
    fn has_acked(&self, _bytes: u64) -> bool {
        false
    }

    /// Payload delivered to the application here.
    fn delivered_bytes(&self) -> u64;

    /// The state of a sender with a window. Called only for an end whose window is sampled.
    fn window_row(&self, flow: u32, now: Instant) -> WindowRow {
        WindowRow { flow, time_ns: now.as_ns(), ..WindowRow::default() }
    }

    /// Whether it is connected: window samples begin then.
    fn is_established(&self) -> bool {
        true
    }

    /// Adds to the row of its flow what it has carried to `receiver`.
    fn add_carried(&self, receiver: &Self, row: &mut FlowRow);
}
