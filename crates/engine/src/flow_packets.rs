//! How packets belong to flows.

use daybreak_fabric::Identity;

/// IPv4 header without options.
pub(crate) const IP_HEADER: u32 = 20;

/// Endpoints are numbered by flow and side: the client, which sends the data, is even.
pub(crate) fn client_of(flow: u32) -> u32 {
    2 * flow
}
/// The receiver of the data.
pub(crate) fn server_of(flow: u32) -> u32 {
    2 * flow + 1
}
/// The flow of an endpoint.
#[inline]
pub(crate) fn flow_of(endpoint: u32) -> u32 {
    endpoint / 2
}
/// Whether a packet to this endpoint travels in the data direction.
#[inline]
pub(crate) fn is_server(endpoint: u32) -> bool {
    endpoint % 2 == 1
}
/// The other end of the connection.
#[inline]
pub(crate) fn peer_of(endpoint: u32) -> u32 {
    endpoint ^ 1
}

/// Identifies a packet within its flow and direction, identically on both engines: data by its offset, a pure ACK by the
/// bytes that it acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKey {
    /// A SYN.
    Opening,
    /// A FIN without data.
    Closing,
    /// Payload, by its offset from the first byte; or a datagram, by its number.
    Payload(u64),
    /// An acknowledgement, by the bytes that it acknowledges.
    Acknowledgement(u64),
}

impl PacketKey {
    /// As impairments take it.
    pub fn identity(self) -> Identity {
        match self {
            Self::Payload(number) => Identity { class: 0, number },
            Self::Acknowledgement(number) => Identity { class: 1, number },
            Self::Opening => Identity { class: 2, number: 0 },
            Self::Closing => Identity { class: 3, number: 0 },
        }
    }
}
