//! UDP as a transport: a source that sends at a constant rate, or the sink that counts what arrives.

use daybreak_host::{ConstantRate, Datagram, Received, UDP_HEADER};
use daybreak_tcp::Ecn;
use daybreak_trace::{DatagramRow, FlowRow};
use daybreak_units::Instant;

use super::{Body, Outgoing, Transport};
use crate::flow_packets::IP_HEADER;

/// An end of a flow of datagrams.
pub(crate) struct Udp {
    /// When a source sends; `None` of a sink.
    schedule: Option<ConstantRate>,
    payload_bytes: u32,
    now: Instant,
    /// The datagram that was polled last.
    out: Body,
    received: Received,
}

impl Udp {
    /// An end whose datagrams have `payload_bytes`, with the `schedule` of a source.
    pub(crate) fn new(schedule: Option<ConstantRate>, payload_bytes: u32) -> Self {
        let head = Datagram { number: 0, sent_at: Instant::ZERO };
        let out = Body::Datagram { head, payload_bytes };
        Self { schedule, payload_bytes, now: Instant::ZERO, out, received: Received::default() }
    }

    /// The row of table `datagrams`; `lost` of what this end has sent to `receiver` was lost.
    pub(crate) fn row(&self, receiver: &Self, flow: u32, lost: u64) -> DatagramRow {
        receiver.received.row(flow, self.sent(), lost)
    }

    fn sent(&self) -> u64 {
        self.schedule.map_or(0, |schedule| schedule.sent())
    }
}

impl Transport for Udp {
    type Content = Body;

    fn on_packet(&mut self, now: Instant, body: &Body) {
        let Body::Datagram { head, .. } = body else { unreachable!("a source sends datagrams") };
        self.received.count(now, *head);
    }

    fn on_timeout(&mut self, now: Instant) {
        self.now = now;
    }

    fn advance(&mut self, now: Instant) {
        self.now = now;
    }

    fn poll_transmit(&mut self) -> Option<(&Body, Outgoing)> {
        let schedule = self.schedule.as_mut().filter(|schedule| schedule.next_at() <= self.now)?;
        let payload_bytes = self.payload_bytes;
        self.out = Body::Datagram { head: schedule.send(self.now), payload_bytes };
        Some((&self.out, Outgoing { bytes: IP_HEADER + UDP_HEADER + payload_bytes, ecn: Ecn::NotEct }))
    }

    fn poll_timeout(&self) -> Instant {
        self.schedule.map_or(Instant::NEVER, |schedule| schedule.next_at())
    }

    fn delivered_bytes(&self) -> u64 {
        self.received.datagrams * u64::from(self.payload_bytes)
    }

    fn add_carried(&self, receiver: &Self, row: &mut FlowRow) {
        row.delivered_bytes += receiver.delivered_bytes();
        row.segments += self.sent();
        row.reordered += receiver.received.reordered;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_sends_what_is_due_and_its_sink_counts_it() {
        let rate = ConstantRate::new(Instant::from_ps(1_000), Some(Instant::from_ps(30_000)), 1_000_000_000_000, 1_000);
        let (mut source, mut sink) = (Udp::new(Some(rate), 1_000), Udp::new(None, 1_000));
        assert_eq!((source.poll_timeout(), sink.poll_timeout()), (Instant::from_ps(1_000), Instant::NEVER));
        source.on_timeout(Instant::from_ps(17_000));
        let mut sent = Vec::new();
        while let Some((body, outgoing)) = source.poll_transmit() {
            sent.push((*body, outgoing));
        }
        assert_eq!(sent.len(), 3, "of 8 ns each, from 1 ns on");
        assert!(sent.iter().all(|(_, outgoing)| *outgoing == Outgoing { bytes: 1_028, ecn: Ecn::NotEct }));
        assert_eq!(source.poll_timeout(), Instant::from_ps(25_000));
        for (body, _) in [sent[0], sent[2], sent[1]] {
            sink.on_packet(Instant::from_ps(20_000), &body);
        }
        assert!(sink.poll_transmit().is_none());
        let mut row = FlowRow::default();
        source.add_carried(&sink, &mut row);
        assert_eq!((row.segments, row.delivered_bytes, row.reordered), (3, 3_000, 1));
        let datagrams = source.row(&sink, 4, 0);
        assert_eq!((datagrams.flow, datagrams.sent, datagrams.delivered, datagrams.in_flight), (4, 3, 3, 0));
    }
}
