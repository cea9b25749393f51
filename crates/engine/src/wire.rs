//! What watches packets on the wire.

use daybreak_fabric::control::Decision;
use daybreak_fabric::{DropReason, Monitor, Packet, PacketId};
use daybreak_plan::{Mark, ShownAs};
use daybreak_tcp::{Ecn, Flags};
use daybreak_trace::{CircuitRow, DropRow, PacketRow, Probe};
use daybreak_units::Instant;

use crate::capture::Capture;
use crate::flow_packets::{flow_of, is_server};
use crate::recorder::control_row;
use crate::transport::Body;

/// Whether a packet travels from its flow's sender, or has payload: ACKs do neither.
#[inline]
fn is_data(packet: &Packet<Body>) -> bool {
    is_server(packet.endpoint) || packet.body.payload_bytes() > 0
}

/// How marks are shown to the host that receives a packet: what each adds to the flags of the TCP header.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown([Flags; 8]);

impl Shown {
    /// Those of a plan.
    pub fn new(marks: &[Mark]) -> Self {
        let mut shown = Self::default();
        for (flags, mark) in shown.0.iter_mut().zip(marks) {
            *flags = match mark.shown_as {
                ShownAs::Ece => Flags::ECE,
            };
        }
        shown
    }

    /// The body of the packet as its receiver sees it.
    pub(crate) fn body(&self, packet: &Packet<Body>) -> Body {
        let mut body = packet.body;
        if let Body::Segment(segment) = &mut body {
            if packet.header.ecn() == Ecn::Ce {
                segment.ecn = Ecn::Ce;
            }
            segment.flags = segment.flags.with(self.flags(packet.header.marks()));
        }
        body
    }

    /// The flags that some marks set: a bit for each mark.
    pub fn flags(&self, marks: u8) -> Flags {
        let set = (0..8).filter(|mark| marks >> mark & 1 == 1);
        set.fold(Flags::default(), |flags, mark| flags.with(self.0[mark]))
    }
}

/// What has to be kept of every packet for the sake of records.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wants {
    pub delays: bool,
    pub packets: bool,
}

/// The numbers of packets on their way, for table `packets`.
#[derive(Debug, Default)]
pub struct PacketNumbers {
    of_packet: Vec<u64>,
    next: u64,
}

impl PacketNumbers {
    /// The number of a new packet: one more than that of the last.
    pub fn draw(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// A packet with this number has entered the fabric.
    #[inline(never)]
    pub fn note(&mut self, id: PacketId, number: u64) {
        note(&mut self.of_packet, id, number, 0);
    }

    /// The number of a packet in the fabric.
    pub fn of(&self, id: PacketId) -> u64 {
        self.of_packet[id.0 as usize]
    }
}

/// Who watches packets on the wire.
pub(crate) struct Wire<P> {
    /// When packets were created, by packet; kept only when one-way delays are recorded.
    born: Option<Vec<Instant>>,
    /// The number of each packet; kept only when packets are listed.
    numbers: Option<PacketNumbers>,
    pub probe: P,
    pub capture: Option<Capture>,
    pub shown: Shown,
}

impl<P: Probe> Wire<P> {
    pub(crate) fn new(probe: P, wants: Wants, capture: Option<Capture>, shown: Shown) -> Self {
        let Wants { delays, packets } = wants;
        Self { born: delays.then(Vec::new), numbers: packets.then(PacketNumbers::default), probe, capture, shown }
    }

    /// Reports a packet at its receiver.
    #[inline]
    pub(crate) fn received(&mut self, now: Instant, id: PacketId, packet: &Packet<Body>) {
        let payload_bytes = packet.body.payload_bytes();
        if !P::LOOKS || payload_bytes == 0 {
            return;
        }
        self.probe.arrived(now, flow_of(packet.endpoint), u64::from(payload_bytes));
        if let Some(born) = &self.born {
            let delay = now - born[id.0 as usize];
            self.probe.packet_delay(flow_of(packet.endpoint), delay.as_ps());
        }
    }
}

impl<P: Probe> Monitor<Body> for Wire<P> {
    #[inline(always)]
    fn created(&mut self, now: Instant, id: PacketId, packet: &Packet<Body>) {
        if !P::LOOKS {
            return;
        }
        if let Some(capture) = &mut self.capture {
            capture.created(packet.endpoint, &packet.body);
        }
        if let Some(born) = &mut self.born {
            note(born, id, now, Instant::ZERO);
        }
        if let Some(numbers) = &mut self.numbers {
            let number = numbers.draw();
            numbers.note(id, number);
        }
    }

    #[inline]
    fn link_sent(&mut self, at: Instant, link: u32, id: PacketId, packet: &Packet<Body>, wire_bytes: u32) {
        if !P::LOOKS {
            return;
        }
        let endpoint = packet.endpoint;
        self.probe.link_sent(at, link, flow_of(endpoint), is_data(packet), wire_bytes);
        if let Some(numbers) = &self.numbers
            && self.probe.wants_packets(link)
        {
            self.probe.packet(PacketRow {
                time_ns: at.as_ns(),
                link,
                packet: numbers.of(id),
                flow: flow_of(endpoint),
                data: u8::from(is_data(packet)),
                seq: packet.body.number(),
                payload_bytes: packet.body.payload_bytes(),
                bytes: packet.bytes,
            });
        }
        if let Some(capture) = &mut self.capture
            && capture.wants(link)
        {
            capture.packet(at, link, endpoint, &self.shown.body(packet), packet.header.ecn());
        }
    }

    fn link_unsent(&mut self, at: Instant, link: u32, packet: &Packet<Body>, wire_bytes: u32) {
        self.probe.link_unsent(at, link, flow_of(packet.endpoint), is_data(packet), wire_bytes);
    }

    #[inline]
    fn queue_changed(&mut self, now: Instant, queue: u32, packets: u32, bytes: u64) {
        self.probe.queue_changed(now, queue, packets, bytes);
    }

    fn dropped(&mut self, now: Instant, reason: DropReason, place: u32, packet: &Packet<Body>) {
        self.probe.dropped(DropRow {
            time_ns: now.as_ns(),
            reason: reason as u8,
            place,
            flow: flow_of(packet.endpoint),
            data: u8::from(is_data(packet)),
            seq: packet.body.number(),
            bytes: packet.bytes,
        });
    }

    fn timeline_stepped(&mut self, now: Instant, timeline: u32, step: u32) {
        self.probe.circuit(CircuitRow { time_ns: now.as_ns(), timeline, step });
    }

    fn decided(&mut self, now: Instant, controller: u32, decision: Decision) {
        self.probe.control(control_row(now, controller, decision));
    }
}

/// Notes something of a packet; `none` stands where nothing has been noted.
#[inline(never)]
fn note<T: Copy>(of_packet: &mut Vec<T>, id: PacketId, value: T, none: T) {
    let index = id.0 as usize;
    if index >= of_packet.len() {
        // Doubling: the slab's indices rise one by one.
        of_packet.resize((index + 1).next_power_of_two(), none);
    }
    of_packet[index] = value;
}
