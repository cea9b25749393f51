//! Follows a flow by the packets that cross the fabric, whatever carries it.

use daybreak_host::{Datagram, Exchanges, Received};
use daybreak_plan::{Application, Flow};
use daybreak_trace::{DatagramRow, ExchangeRow, FlowRow};
use daybreak_units::{Duration, Instant};

use crate::headers::{Headers, Protocol};
use crate::track::{Place, Track};

/// What is known of a flow.
#[derive(Clone, Debug)]
pub enum Followed {
    /// A transfer in one direction, complete when this number of bytes is acknowledged.
    Bulk(Box<Track>, Option<u64>),
    /// Two directions of one connection: the requests, the responses.
    Exchanges(Box<[Track; 2]>, Box<Exchanges>),
    /// Datagrams: sent, lost at the sender's own NIC, and what the receiver has got.
    Datagrams(Box<Datagrams>),
}

/// The datagrams of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Datagrams {
    payload_bytes: u32,
    sent: u64,
    /// Lost on the link of the sender's NIC, of which the fabric does not know.
    lost_at_nic: u64,
    received: Received,
}

/// What the arrival of a packet has brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Payload handed to the application.
    pub delivered: u64,
    /// One-way delay of a datagram.
    pub delay: Option<Duration>,
    /// The exchange that is complete with it.
    pub answered: Option<ExchangeRow>,
    /// The flow is complete with it.
    pub is_complete: bool,
}

impl Followed {
    /// A flow before its first packet.
    pub fn new(index: u32, flow: &Flow) -> Self {
        match &flow.application {
            Application::Bulk { bytes } => Self::Bulk(Box::default(), *bytes),
            Application::RequestResponse { exchanges } => {
                let exchanges = Exchanges::new(index, exchanges, Instant::from_ps(flow.start_ps));
                Self::Exchanges(Box::default(), Box::new(exchanges))
            }
            &Application::ConstantRate { payload_bytes, .. } => {
                Self::Datagrams(Box::new(Datagrams { payload_bytes, ..Datagrams::default() }))
            }
        }
    }

    /// A packet has left its NIC; `data` is the direction from the flow's sender. `None` for a packet of another
    /// protocol than the flow's.
    pub fn sent(&mut self, headers: &Headers, data: bool) -> Option<Place> {
        match (self, headers.protocol) {
            (Self::Bulk(track, _), Protocol::Tcp) => Some(track.sent(headers, data)),
            (Self::Exchanges(ways, _), Protocol::Tcp) => {
                let [requests, responses] = &mut **ways;
                responses.sent(headers, !data);
                Some(requests.sent(headers, data))
            }
            (Self::Datagrams(datagrams), Protocol::Udp(datagram)) => {
                datagrams.sent += 1;
                Some(Place::of(datagram, headers.payload))
            }
            _ => None,
        }
    }

    /// The packet that was sent last is lost on its NIC's link.
    pub fn lost_at_nic(&mut self) {
        if let Self::Datagrams(datagrams) = self {
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
            Self::Datagrams(datagrams) => {
                let Datagrams { received, .. } = &mut **datagrams;
                let Place { seq: number, ack: sent_ps, payload, .. } = *place;
                let delay = received.count(now, Datagram { number, sent_at: Instant::from_ps(sent_ps) });
                Arrival { delivered: u64::from(payload), delay: Some(delay), ..Arrival::default() }
            }
        }
    }

    /// Fills in what the packets have shown.
    pub fn fill(&self, row: &mut FlowRow) {
        match self {
            Self::Bulk(track, _) => add(row, track),
            Self::Exchanges(ways, _) => ways.iter().for_each(|track| add(row, track)),
            Self::Datagrams(datagrams) => {
                row.segments = datagrams.sent;
                row.delivered_bytes = datagrams.received.datagrams * u64::from(datagrams.payload_bytes);
                row.reordered = datagrams.received.reordered;
            }
        }
    }

    /// What became of the datagrams of `flow`, of which the fabric has lost some; `None` if it has none.
    pub fn datagrams(&self, flow: u32, lost_in_fabric: u64) -> Option<DatagramRow> {
        let Self::Datagrams(datagrams) = self else { return None };
        let Datagrams { sent, lost_at_nic, received, .. } = &**datagrams;
        Some(received.row(flow, *sent, lost_at_nic + lost_in_fabric))
    }
}

fn add(row: &mut FlowRow, track: &Track) {
    row.delivered_bytes += track.delivered;
    row.dup_acks += track.dup_acks;
    row.reordered += track.reordered;
    row.duplicates += track.duplicates;
    row.outstanding_bytes += track.sent - track.acked;
}
