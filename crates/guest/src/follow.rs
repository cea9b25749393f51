//! Tracks a flow by the packets that cross the fabric, for any transport.

use daybreak_host::{Datagram, Exchanges, Received};
use daybreak_plan::{Application, Flow};
use daybreak_trace::{DatagramRow, ExchangeRow, FlowRow, NEVER_NS};
use daybreak_units::{Duration, Instant};

use crate::counters::Counters;
use crate::headers::{Headers, Protocol, flags};
use crate::track::{Place, Track};

/// The tracked state of a flow.
#[derive(Clone, Debug)]
pub enum TrackedFlow {
    /// A transfer in one direction, complete when this number of bytes is acknowledged.
    Bulk(Box<Track>, Option<u64>),
    /// Two directions of one connection: the requests, the responses.
    Exchanges(Box<[Track; 2]>, Box<Exchanges>),
    /// Datagrams: sent, lost at the sender's own NIC, and received.
    Datagrams(Box<Datagrams>),
    /// A flow that runs programs has no packets: their connections have.
    Programs,
    /// A program's connection, found by its first packet.
    Connection(Box<Connection>),
    /// A program's datagrams in one direction, which carry no head of ours, and when the first was sent.
    Packets(Box<Datagrams>, Instant),
}

/// A connection of a program.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The payload of the end that opened it, and of the other end.
    ways: [Track; 2],
    opened: Instant,
    /// SYNs and SYN-ACKs sent.
    syns: [u64; 2],
    /// FINs that have arrived.
    fins: [bool; 2],
    /// When payload was last acknowledged.
    acknowledged: Option<Instant>,
    /// When it was closed in both directions or reset.
    closed: Option<Instant>,
    /// What the kernel has counted at both ends.
    counters: Counters,
}

/// The datagrams of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Datagrams {
    sent: u64,
    delivered_bytes: u64,
    /// Lost on the link of the sender's NIC, of which the fabric does not know.
    lost_at_nic: u64,
    received: Received,
}

/// The effects of a packet's arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Payload handed to the application.
    pub delivered: u64,
    /// One-way delay of a datagram.
    pub delay: Option<Duration>,
    /// The exchange that it completes.
    pub answered: Option<ExchangeRow>,
    /// Whether it completes the flow.
    pub is_complete: bool,
}

impl TrackedFlow {
    /// A flow before its first packet.
    pub fn new(index: u32, flow: &Flow) -> Self {
        match &flow.application {
            Application::Bulk { bytes } => Self::Bulk(Box::default(), *bytes),
            Application::RequestResponse { exchanges } => {
                let exchanges = Exchanges::new(index, exchanges, Instant::from_ps(flow.start_ps));
                Self::Exchanges(Box::default(), Box::new(exchanges))
            }
            Application::ConstantRate { .. } => Self::Datagrams(Box::default()),
            Application::Program { .. } => Self::Programs,
        }
    }

    /// A flow that is found `now` by its first packet.
    pub fn found(headers: &Headers, now: Instant) -> Self {
        match headers.protocol {
            Protocol::Tcp => Self::Connection(Box::new(Connection {
                ways: Default::default(),
                opened: now,
                syns: [0; 2],
                fins: [false; 2],
                acknowledged: None,
                closed: None,
                counters: Counters::default(),
            })),
            Protocol::Udp(_) | Protocol::Other(_) => Self::Packets(Box::default(), now),
        }
    }

    /// Whether it is a connection that has ended.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Connection(connection) if connection.closed.is_some())
    }

    /// A packet has left its NIC; `data` is the direction from the flow's sender. `None` for a packet of another
    /// protocol than the flow's.
    pub fn sent(&mut self, now: Instant, headers: &Headers, data: bool) -> Option<Place> {
        match (self, headers.protocol) {
            (Self::Bulk(track, _), Protocol::Tcp) => Some(track.sent(headers, data)),
            (Self::Exchanges(ways, _), Protocol::Tcp) => {
                let [requests, responses] = &mut **ways;
                responses.sent(headers, !data);
                Some(requests.sent(headers, data))
            }
            (Self::Datagrams(datagrams), Protocol::Udp(Some(datagram))) => {
                datagrams.sent += 1;
                Some(Place::of(datagram, headers.payload))
            }
            (Self::Connection(connection), Protocol::Tcp) => {
                connection.syns[usize::from(!data)] += u64::from(headers.flags & flags::SYN != 0);
                let [requests, responses] = &mut connection.ways;
                responses.sent(headers, !data);
                Some(requests.sent(headers, data))
            }
            (Self::Packets(datagrams, _), Protocol::Udp(_) | Protocol::Other(_)) => {
                datagrams.sent += 1;
                Some(Place::of(Datagram { number: datagrams.sent - 1, sent_at: now }, headers.payload))
            }
            _ => None,
        }
    }

    /// The kernel has newly counted this at one end of the connection.
    pub fn count(&mut self, added: Counters) {
        if let Self::Connection(connection) = self {
            connection.counters += added;
        }
    }

    /// The packet that was sent last is lost on its NIC's link.
    pub fn lost_at_nic(&mut self) {
        if let Self::Datagrams(datagrams) | Self::Packets(datagrams, _) = self {
            datagrams.lost_at_nic += 1;
        }
    }

    /// A packet is at its receiver.
    pub fn arrived(&mut self, now: Instant, place: &Place, data: bool) -> Arrival {
        match self {
            Self::Bulk(track, _) if data => Arrival { delivered: track.data_arrived(place), ..Arrival::default() },
            Self::Bulk(track, bytes) => {
                let is_news = track.ack_arrived(place);
                let is_complete = is_news && bytes.is_some_and(|bytes| track.acked >= bytes);
                Arrival { is_complete, ..Arrival::default() }
            }
            Self::Exchanges(ways, exchanges) => {
                let [requests, responses] = &mut **ways;
                let (carries, acknowledged) = if data { (requests, responses) } else { (responses, requests) };
                acknowledged.ack_arrived(place);
                let delivered = carries.data_arrived(place);
                let answered = if data { None } else { exchanges.delivered(now, carries.delivered) };
                let is_complete = answered.is_some() && exchanges.are_complete();
                Arrival { delivered, answered, is_complete, delay: None }
            }
            Self::Programs => Arrival::default(),
            Self::Connection(connection) => {
                Arrival { delivered: connection.arrived(now, place, data), ..Arrival::default() }
            }
            Self::Datagrams(datagrams) | Self::Packets(datagrams, _) => {
                let Datagrams { received, delivered_bytes, .. } = &mut **datagrams;
                let Place { seq: number, ack: sent_ps, payload, .. } = *place;
                *delivered_bytes += u64::from(payload);
                let delay = received.count(now, Datagram { number, sent_at: Instant::from_ps(sent_ps) });
                Arrival { delivered: u64::from(payload), delay: Some(delay), ..Arrival::default() }
            }
        }
    }

    /// Fills in the row from the packets.
    pub fn fill(&self, row: &mut FlowRow) {
        match self {
            Self::Bulk(track, _) => add(row, track),
            Self::Exchanges(ways, _) => ways.iter().for_each(|track| add(row, track)),
            Self::Connection(connection) => connection.fill(row),
            Self::Datagrams(datagrams) => datagrams.fill(row),
            Self::Programs => {}
            Self::Packets(datagrams, began) => {
                datagrams.fill(row);
                (row.start_ns, row.end_ns, row.fct_ns) = (began.as_ns(), NEVER_NS, NEVER_NS);
            }
        }
    }

    /// The datagram row of `flow`, `lost_in_fabric` of which were lost there; `None` if it has no datagrams.
    pub fn datagrams(&self, flow: u32, lost_in_fabric: u64) -> Option<DatagramRow> {
        let (Self::Datagrams(datagrams) | Self::Packets(datagrams, _)) = self else { return None };
        let Datagrams { sent, lost_at_nic, received, .. } = &**datagrams;
        Some(received.row(flow, *sent, lost_at_nic + lost_in_fabric))
    }
}

impl Datagrams {
    fn fill(&self, row: &mut FlowRow) {
        row.segments = self.sent;
        row.delivered_bytes = self.delivered_bytes;
        row.reordered = self.received.reordered;
    }
}

impl Connection {
    /// A packet is at its receiver; returns how many bytes of payload it made deliverable.
    fn arrived(&mut self, now: Instant, place: &Place, data: bool) -> u64 {
        let (here, there) = (usize::from(!data), usize::from(data));
        if self.ways[there].ack_arrived(place) {
            self.acknowledged = Some(now);
        }
        let delivered = self.ways[here].data_arrived(place);
        self.fins[here] |= place.flags & flags::FIN != 0;
        let is_done = self.fins == [true; 2] && self.ways.iter().all(|way| way.acked == way.sent);
        if is_done || place.flags & flags::RST != 0 {
            self.closed.get_or_insert(now);
        }
        delivered
    }

    /// It ends with the acknowledgement of its last payload, which is known once it is closed.
    fn fill(&self, row: &mut FlowRow) {
        self.ways.iter().for_each(|way| add(row, way));
        let end = self.closed.map(|closed| self.acknowledged.unwrap_or(closed));
        row.start_ns = self.opened.as_ns();
        row.end_ns = end.map_or(NEVER_NS, Instant::as_ns);
        row.fct_ns = end.map_or(NEVER_NS, |end| (end - self.opened).as_ns());
        row.bytes = if end.is_some() { self.ways.iter().map(|way| way.sent).sum() } else { 0 };
        row.segments = self.ways.iter().map(|way| way.segments).sum();
        let again = |syns: u64| syns.saturating_sub(1);
        row.retransmits = self.ways.iter().map(|way| way.retransmits).sum::<u64>()
            + self.syns.iter().map(|&syns| again(syns)).sum::<u64>();
        let Counters { rtos, tlps, fast_recoveries, spurious } = self.counters;
        (row.rtos, row.tlps, row.fast_recoveries, row.spurious) = (rtos, tlps, fast_recoveries, spurious);
    }
}

fn add(row: &mut FlowRow, track: &Track) {
    row.delivered_bytes += track.delivered;
    row.dup_acks += track.dup_acks;
    row.reordered += track.reordered;
    row.duplicates += track.duplicates;
    row.outstanding_bytes += track.sent - track.acked;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::tests::headers;

    /// Sends a segment of a connection and lets it arrive a microsecond later.
    fn pass(flow: &mut TrackedFlow, us: u64, segment: &Headers, from_source: bool) -> Arrival {
        let at = |us| Instant::ZERO + Duration::from_us(us);
        let place = flow.sent(at(us), segment, from_source).unwrap();
        flow.arrived(at(us + 1), &place, from_source)
    }

    #[test]
    fn a_found_connection_ends_when_its_last_payload_was_acknowledged_once_it_is_closed() {
        let syn = headers(100, 0, flags::SYN, 0);
        let mut flow = TrackedFlow::found(&syn, Instant::ZERO + Duration::from_us(10));
        pass(&mut flow, 10, &syn, true);
        pass(&mut flow, 20, &syn, true);
        pass(&mut flow, 30, &headers(500, 101, flags::SYN | flags::ACK, 0), false);
        assert_eq!(pass(&mut flow, 40, &headers(101, 501, flags::ACK, 70), true).delivered, 70);
        assert_eq!(pass(&mut flow, 50, &headers(101, 501, flags::ACK, 70), true).delivered, 0, "sent again");
        assert_eq!(pass(&mut flow, 60, &headers(501, 171, flags::ACK, 30), false).delivered, 30);
        pass(&mut flow, 70, &headers(171, 531, flags::ACK | flags::FIN, 0), true);
        let row = |flow: &TrackedFlow| {
            let mut row = FlowRow::default();
            flow.fill(&mut row);
            row
        };
        assert!(!flow.is_closed());
        assert_eq!((row(&flow).bytes, row(&flow).end_ns), (0, NEVER_NS));
        pass(&mut flow, 80, &headers(531, 172, flags::ACK | flags::FIN, 0), false);
        assert!(flow.is_closed());
        let FlowRow { bytes, start_ns, end_ns, fct_ns, segments, retransmits, delivered_bytes, .. } = row(&flow);
        assert_eq!((bytes, delivered_bytes, segments, retransmits), (100, 100, 3, 2), "the SYN was sent again, too");
        assert_eq!((start_ns, end_ns, fct_ns), (10_000, 71_000, 61_000));
    }

    #[test]
    fn a_connection_has_what_was_counted_at_both_of_its_ends() {
        let mut flow = TrackedFlow::found(&headers(100, 0, flags::SYN, 0), Instant::ZERO);
        flow.count(Counters { rtos: 1, tlps: 2, fast_recoveries: 3, spurious: 4 });
        flow.count(Counters { rtos: 10, ..Counters::default() });
        let mut row = FlowRow::default();
        flow.fill(&mut row);
        assert_eq!((row.rtos, row.tlps, row.fast_recoveries, row.spurious), (11, 2, 3, 4));
    }

    #[test]
    fn a_reset_closes_a_connection() {
        let syn = headers(100, 0, flags::SYN, 0);
        let mut flow = TrackedFlow::found(&syn, Instant::ZERO);
        pass(&mut flow, 0, &syn, true);
        pass(&mut flow, 5, &headers(0, 101, flags::RST | flags::ACK, 0), false);
        let mut row = FlowRow::default();
        flow.fill(&mut row);
        assert!(flow.is_closed());
        assert_eq!((row.bytes, row.end_ns), (0, 6_000));
    }

    #[test]
    fn found_datagrams_are_numbered_as_they_leave() {
        let datagram = Headers { protocol: Protocol::Udp(None), ..headers(0, 0, 0, 40) };
        let mut flow = TrackedFlow::found(&datagram, Instant::ZERO);
        let at = |us| Instant::ZERO + Duration::from_us(us);
        let places: Vec<Place> = (0..3).map(|us| flow.sent(at(us), &datagram, true).unwrap()).collect();
        let late = flow.arrived(at(9), &places[2], true);
        assert_eq!((late.delivered, late.delay), (40, Some(Duration::from_us(7))));
        flow.arrived(at(9), &places[0], true);
        let row = flow.datagrams(5, 1).unwrap();
        assert_eq!((row.sent, row.delivered, row.lost, row.reordered), (3, 2, 1, 1));
    }
}
