//! A packet as the fabric carries it, and what tables say of it.

use std::mem::size_of;

use daybreak_fabric::Packet;

use crate::skb::Skb;
use crate::track::Place;

/// A packet's body in the fabric.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) place: Place,
    pub(super) skb: Skb,
}

const _: () = assert!(size_of::<Packet<Frame>>() == 64, "a packet should be one cache line");

/// Whether a packet travels from its flow's sender, or has payload: ACKs do neither.
pub(super) fn is_data(packet: &Packet<Frame>) -> bool {
    packet.endpoint & 1 == 1 || packet.body.place.payload > 0
}

/// The first byte of a packet's payload as tables have it: the first of a flow has number 1, behind the SYN.
pub(super) fn first_byte(place: &Place) -> u64 {
    if place.is_datagram() { place.seq } else { place.seq + 1 }
}
