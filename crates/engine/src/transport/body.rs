//! What a packet carries.

use daybreak_fabric::Identity;
use daybreak_host::Datagram;
use daybreak_tcp::{Flags, Segment};

use crate::flow_packets::PacketKey;

/// The body of a packet in the fabric: that of one of the transports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// A segment of a TCP connection.
    Segment(Segment),
    /// A datagram of UDP.
    Datagram {
        /// What its payload begins with.
        head: Datagram,
        /// Its payload.
        payload_bytes: u32,
    },
}

impl Body {
    /// Bytes that are an application's.
    #[inline(always)]
    pub(crate) fn payload_bytes(&self) -> u32 {
        match self {
            Self::Segment(segment) => segment.len,
            Self::Datagram { payload_bytes, .. } => *payload_bytes,
        }
    }

    /// Its number in the records: the sequence number of a segment, or how many datagrams were sent before.
    #[inline(always)]
    pub(crate) fn number(&self) -> u64 {
        match self {
            Self::Segment(segment) => segment.seq,
            Self::Datagram { head, .. } => head.number,
        }
    }

    /// Its identity among the packets of its flow and direction.
    pub(crate) fn identity(&self) -> Identity {
        let key = match self {
            Self::Segment(segment) => key_of(segment),
            Self::Datagram { head, .. } => PacketKey::Payload(head.number),
        };
        key.identity()
    }
}

fn key_of(segment: &Segment) -> PacketKey {
    let (flags, behind_syn) = (segment.flags, |number: u64| number.saturating_sub(1));
    match segment.len {
        _ if flags.contains(Flags::SYN) => PacketKey::Opening,
        0 if flags.contains(Flags::FIN) => PacketKey::Closing,
        0 => PacketKey::Acknowledgement(behind_syn(segment.ack)),
        _ => PacketKey::Payload(behind_syn(segment.seq)),
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use daybreak_fabric::Packet;

    use super::*;

    /// The SACK blocks, which few segments have, are the second line.
    #[test]
    fn a_segment_in_a_packet_is_two_cache_lines() {
        assert_eq!((size_of::<Packet<Body>>(), size_of::<Body>()), (128, size_of::<Segment>()), "a body needs no tag");
        assert_eq!(16 + offset_of!(Segment, sack), 64);
    }
}
