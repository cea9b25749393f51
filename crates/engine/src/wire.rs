//! A TCP segment as a packet's body, and what watches packets on the wire.

use daybreak_fabric::{DropReason, Monitor, Packet, PacketId};
use daybreak_tcp::{Ecn, Flags, SackBlock, Segment, SynOptions};
use daybreak_trace::{DropRow, Probe};
use daybreak_units::Instant;

use crate::capture::Capture;

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

/// A segment without its SACK blocks: small enough that a packet is one cache line. Most segments
/// have no blocks; those of the others are in [`Wire::sacks`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Head {
    pub seq: u64,
    pub ack: u64,
    pub len: u32,
    pub window: u32,
    pub ts_val: u32,
    pub ts_ecr: u32,
    pub flags: Flags,
    pub ecn: Ecn,
    pub sack_count: u8,
    pub syn: SynOptions,
}

impl Head {
    #[inline]
    pub(crate) fn of(segment: &Segment) -> Self {
        let &Segment { seq, ack, len, window, ts_val, ts_ecr, flags, ecn, sack_count, syn, sack: _ } = segment;
        Self { seq, ack, len, window, ts_val, ts_ecr, flags, ecn, sack_count, syn }
    }

    #[inline]
    fn with_sacks(&self, sack: [SackBlock; 4]) -> Segment {
        let &Self { seq, ack, len, window, ts_val, ts_ecr, flags, ecn, sack_count, syn } = self;
        Segment { seq, ack, len, window, ts_val, ts_ecr, flags, ecn, sack_count, syn, sack }
    }
}

/// What is known of packets beside their first cache line, and who watches them.
pub(crate) struct Wire<P> {
    /// SACK blocks by packet; valid for packets whose `sack_count` is not 0.
    sacks: Vec<[SackBlock; 4]>,
    /// When packets were created, by packet; kept only when one-way delays are recorded.
    born: Option<Vec<Instant>>,
    pub probe: P,
    pub capture: Option<Capture>,
}

impl<P: Probe> Wire<P> {
    pub(crate) fn new(probe: P, wants_delays: bool, capture: Option<Capture>) -> Self {
        Self { sacks: Vec::new(), born: wants_delays.then(Vec::new), probe, capture }
    }

    /// Notes what the packet's first cache line does not hold.
    #[inline]
    pub(crate) fn created(&mut self, now: Instant, destination: u32, id: PacketId, segment: &Segment) {
        if let Some(capture) = &mut self.capture {
            capture.created(destination, segment);
        }
        if segment.sack_count > 0 {
            put(&mut self.sacks, id, segment.sack);
        }
        if let Some(born) = &mut self.born {
            put(born, id, now);
        }
    }

    /// The segment that the packet carries.
    #[inline]
    pub(crate) fn segment(&self, id: PacketId, head: &Head) -> Segment {
        let sacks = if head.sack_count > 0 { self.sacks[id.0 as usize] } else { Default::default() };
        head.with_sacks(sacks)
    }

    /// Tells of a packet at its receiver.
    #[inline]
    pub(crate) fn received(&mut self, now: Instant, id: PacketId, packet: &Packet<Head>) {
        if let Some(born) = &self.born
            && packet.body.len > 0
            && is_server(packet.endpoint)
        {
            let delay = now - born[id.0 as usize];
            self.probe.packet_delay(flow_of(packet.endpoint), delay.as_ps());
        }
    }
}

/// Writes to the place of a packet in a list that grows with the slab.
fn put<T: Copy + Default>(list: &mut Vec<T>, id: PacketId, value: T) {
    let index = id.0 as usize;
    if index >= list.len() {
        // Doubling: the slab's indices rise one by one.
        list.resize((index + 1).next_power_of_two(), T::default());
    }
    list[index] = value;
}

impl<P: Probe> Monitor<Head> for Wire<P> {
    #[inline]
    fn link_sent(&mut self, now: Instant, link: u32, id: PacketId, packet: &Packet<Head>, wire_bytes: u32) {
        let endpoint = packet.endpoint;
        self.probe.link_sent(now, link, flow_of(endpoint), is_server(endpoint), wire_bytes);
        if self.capture.as_ref().is_some_and(|capture| capture.wants(link)) {
            let segment = self.segment(id, &packet.body);
            if let Some(capture) = &mut self.capture {
                capture.packet(now, link, endpoint, &segment);
            }
        }
    }

    #[inline]
    fn queue_changed(&mut self, now: Instant, queue: u32, packets: u32, bytes: u64) {
        self.probe.queue_changed(now, queue, packets, bytes);
    }

    fn dropped(&mut self, now: Instant, reason: DropReason, place: u32, packet: &Packet<Head>) {
        self.probe.dropped(DropRow {
            time_ns: now.as_ns(),
            reason: reason as u8,
            place,
            flow: flow_of(packet.endpoint),
            data: u8::from(is_server(packet.endpoint)),
            seq: packet.body.seq,
            bytes: packet.bytes,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_in_a_packet_is_one_cache_line() {
        assert_eq!(size_of::<Packet<Head>>(), 64);
    }
}
