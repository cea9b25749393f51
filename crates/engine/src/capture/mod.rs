//! Packet capture of chosen links as pcapng, with Ethernet, IPv4 and TCP or UDP headers that carry what the
//! model's packets carry. Payload is zeros, but for a datagram's number and time: the model carries none.

mod frame;
mod pcapng;

use std::io::{self, Write};

use daybreak_tcp::{Ecn, Flags};
use daybreak_units::Instant;

use crate::flow_packets::{client_of, flow_of, is_server, peer_of};
use crate::transport::Body;
use daybreak_plan::Plan;
use frame::Addresses;
pub use pcapng::PcapngWriter;

/// Captures to one output; every captured link is an interface of it.
pub(crate) struct Capture {
    writer: PcapngWriter<Box<dyn Write + Send>>,
    /// Interface of each link.
    interfaces: Vec<Option<u32>>,
    snaplen: u32,
    /// Source and destination host of each flow.
    hosts: Vec<(u32, u32)>,
    /// Window scale that each endpoint's SYN offered.
    scales: Vec<Option<u8>>,
    frame: Vec<u8>,
    /// The first failure; nothing is written after it.
    failed: Option<io::Error>,
}

impl Capture {
    pub(crate) fn new(plan: &Plan, output: Box<dyn Write + Send>) -> io::Result<Self> {
        let snaplen = plan.records.capture_snaplen;
        let mut writer = PcapngWriter::new(output)?;
        let mut interfaces = vec![None; plan.links.len()];
        for (number, &link) in plan.records.capture_links.iter().enumerate() {
            writer.interface(&plan.links[link as usize].name, snaplen)?;
            interfaces[link as usize] = Some(number as u32);
        }
        Ok(Self {
            writer,
            interfaces,
            snaplen,
            hosts: plan.flows.iter().map(|flow| (flow.src, flow.dst)).collect(),
            scales: vec![None; 2 * plan.flows.len()],
            frame: Vec::new(),
            failed: None,
        })
    }

    /// Whether packets of this link are captured.
    #[inline]
    pub(crate) fn wants(&self, link: u32) -> bool {
        self.interfaces[link as usize].is_some()
    }

    /// Notes what the windows of later segments depend on, whichever links they cross.
    #[inline]
    pub(crate) fn created(&mut self, destination: u32, body: &Body) {
        if let Body::Segment(segment) = body
            && segment.flags.contains(Flags::SYN)
        {
            self.scales[peer_of(destination) as usize] = segment.syn.window_scale_plus_one.checked_sub(1);
        }
    }

    /// A link starts to send a packet with this body and ECN field to the endpoint `destination`.
    pub(crate) fn packet(&mut self, now: Instant, link: u32, destination: u32, body: &Body, ecn: Ecn) {
        let Some(interface) = self.interfaces[link as usize].filter(|_| self.failed.is_none()) else { return };
        let flow = flow_of(destination);
        let addresses = Addresses::of(flow, self.hosts[flow as usize], is_server(destination));
        let length = match *body {
            Body::Segment(ref segment) => {
                let scale = self.scale_of(peer_of(destination));
                frame::encode(&mut self.frame, addresses, segment, scale, self.snaplen)
            }
            Body::Datagram { head, payload_bytes } => {
                frame::encode_datagram(&mut self.frame, addresses, head, (payload_bytes, ecn), self.snaplen)
            }
        };
        if let Err(error) = self.writer.packet(interface, now.as_ns(), &self.frame, length) {
            self.failed = Some(error);
        }
    }

    /// Writes what is still buffered and returns the first failure.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self.failed {
            Some(error) => Err(error),
            None => self.writer.finish(),
        }
    }

    /// The scale of an endpoint's windows, which counts only when both ends offered one.
    fn scale_of(&self, endpoint: u32) -> u8 {
        let client = client_of(flow_of(endpoint)) as usize;
        match (self.scales[client], self.scales[client + 1]) {
            (Some(_), Some(_)) => self.scales[endpoint as usize].unwrap_or(0),
            _ => 0,
        }
    }
}
