//! TCP as a transport: the connection of `crates/tcp`.

use daybreak_fabric::Content;
use daybreak_tcp::{Connection, Segment};
use daybreak_trace::{FlowRow, WindowRow};
use daybreak_units::Instant;

use super::{Body, Outgoing, Transport};

impl Content<Body> for Segment {
    fn body(&self) -> Body {
        Body::Segment(*self)
    }

    /// Writes only the blocks that it has.
    #[inline(always)]
    fn write_to(&self, place: &mut Body) {
        match place {
            Body::Segment(segment) => segment.clone_from(self),
            _ => *place = Body::Segment(*self),
        }
    }
}

impl Transport for Connection {
    type Content = Segment;

    #[inline(always)]
    fn on_packet(&mut self, now: Instant, body: &Body) {
        let Body::Segment(segment) = body else { unreachable!("a connection sends segments") };
        self.on_segment(now, segment);
    }

    fn on_timeout(&mut self, now: Instant) {
        Self::on_timeout(self, now);
    }

    #[inline(always)]
    fn on_departure(&mut self, now: Instant, bytes: u32) {
        self.on_nic_freed(now, bytes);
    }

    #[inline(always)]
    fn awaits_departure(&self) -> bool {
        Self::awaits_departure(self)
    }

    #[inline(always)]
    fn advance(&mut self, now: Instant) {
        Self::advance(self, now);
    }

    #[inline(always)]
    fn poll_transmit(&mut self) -> Option<(&Segment, Outgoing)> {
        self.next_segment().map(|(segment, bytes)| (segment, Outgoing { bytes, ecn: segment.ecn }))
    }

    #[inline(always)]
    fn poll_timeout(&self) -> Instant {
        Self::poll_timeout(self)
    }

    #[inline(always)]
    fn has_acked(&self, bytes: u64) -> bool {
        Self::has_acked(self, bytes)
    }

    #[inline(always)]
    fn delivered_bytes(&self) -> u64 {
        Self::delivered_bytes(self)
    }

    fn window_row(&self, flow: u32, now: Instant) -> WindowRow {
        Self::window_row(self, flow, now)
    }

    #[inline(always)]
    fn is_established(&self) -> bool {
        Self::is_established(self)
    }

    fn add_carried(&self, receiver: &Self, row: &mut FlowRow) {
        let (sent, received) = (self.counters(), receiver.counters());
        row.delivered_bytes += receiver.delivered_bytes();
        row.segments += sent.segments;
        row.retransmits += sent.retransmits;
        row.rtos += sent.rtos as u32;
        row.tlps += sent.tlps as u32;
        row.fast_recoveries += sent.fast_recoveries as u32;
        row.spurious += sent.spurious as u32;
        row.dup_acks += sent.dup_acks;
        row.reordered += received.reordered;
        row.duplicates += received.duplicates;
        row.outstanding_bytes += self.window_row(0, Instant::ZERO).outstanding_bytes;
    }
}
