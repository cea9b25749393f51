//! What happens in the fabric goes into tables, captures and orders to the kernel.

use daybreak_engine::recorder::control_row;
use daybreak_engine::{PacketNumbers, Shown};
use daybreak_fabric::control::Decision;
use daybreak_fabric::{DropReason, Ecn, Monitor, Packet, PacketId};
use daybreak_trace::{CircuitRow, DropRow, PacketRow, Probe};
use daybreak_units::Instant;

use super::frame::{Frame, first_byte, is_data};
use crate::capture::Capture;
use crate::marks::Marks;
use crate::track::Place;

/// What is to happen now with a packet that the kernel has handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Order {
    /// The packet.
    pub handle: u64,
    /// The NIC of its receiver.
    pub nic: u32,
    /// 1 if it is at its receiver, 0 if it is lost.
    pub deliver: u32,
}

/// Watches the fabric.
pub(super) struct Watch<P> {
    pub(super) probe: P,
    pub(super) capture: Option<Capture>,
    pub(super) shown: Shown,
    /// Kept only when packets are listed.
    pub(super) numbers: Option<PacketNumbers>,
    /// The number of the packet that enters the fabric now.
    pub(super) entering: u64,
    pub(super) orders: Vec<Order>,
}

impl<P> Watch<P> {
    /// What a packet has met so far.
    pub(super) fn marks(&self, packet: &Packet<Frame>) -> Option<Marks> {
        let header = packet.header;
        header
            .is_marked()
            .then(|| Marks { congested: header.ecn() == Ecn::Ce, tcp_bits: self.shown.flags(header.marks()).0 })
    }
}

impl<P: Probe> Watch<P> {
    /// A packet of `flow`, in the direction of the data or not, is lost for a reason at a place.
    pub(super) fn drop_row(
        &mut self,
        now: Instant,
        (reason, at): (DropReason, u32),
        (flow, data): (u32, bool),
        place: &Place,
        bytes: u32,
    ) {
        let (data, seq) = (u8::from(data), first_byte(place));
        self.probe.dropped(DropRow { time_ns: now.as_ns(), reason: reason as u8, place: at, flow, data, seq, bytes });
    }

    /// A packet of `flow`, in the direction of the data or not, starts on a link; reported to the probe if it wants
    /// that.
    pub(super) fn packet_row(
        &mut self,
        now: Instant,
        link: u32,
        packet: u64,
        (flow, data): (u32, bool),
        place: &Place,
        bytes: u32,
    ) {
        if self.numbers.is_some() && self.probe.wants_packets(link) {
            let (time_ns, data, seq) = (now.as_ns(), u8::from(data), first_byte(place));
            let payload_bytes = place.payload;
            self.probe.packet(PacketRow { time_ns, link, packet, flow, data, seq, payload_bytes, bytes });
        }
    }
}

impl<P: Probe> Monitor<Frame> for Watch<P> {
    fn created(&mut self, _now: Instant, id: PacketId, _packet: &Packet<Frame>) {
        if let Some(numbers) = &mut self.numbers {
            numbers.note(id, self.entering);
        }
    }

    fn link_sent(&mut self, now: Instant, link: u32, id: PacketId, packet: &Packet<Frame>, wire_bytes: u32) {
        self.probe.link_sent(now, link, packet.endpoint >> 1, is_data(packet), wire_bytes);
        if let Some(numbers) = &self.numbers {
            let flow = (packet.endpoint >> 1, is_data(packet));
            self.packet_row(now, link, numbers.of(id), flow, &packet.body.place, packet.bytes);
        }
        let marks = self.marks(packet);
        if let Some(capture) = &mut self.capture {
            capture.packet(now, link, &packet.body.skb, marks);
        }
    }

    fn link_unsent(&mut self, at: Instant, link: u32, packet: &Packet<Frame>, wire_bytes: u32) {
        self.probe.link_unsent(at, link, packet.endpoint >> 1, is_data(packet), wire_bytes);
    }

    fn queue_changed(&mut self, now: Instant, queue: u32, packets: u32, bytes: u64) {
        self.probe.queue_changed(now, queue, packets, bytes);
    }

    fn dropped(&mut self, now: Instant, reason: DropReason, place: u32, packet: &Packet<Frame>) {
        let Packet { endpoint, bytes, body: Frame { place: in_flow, skb }, .. } = *packet;
        self.drop_row(now, (reason, place), (endpoint >> 1, is_data(packet)), &in_flow, bytes);
        self.orders.push(Order { handle: skb.handle, nic: 0, deliver: 0 });
    }

    fn timeline_stepped(&mut self, now: Instant, timeline: u32, step: u32) {
        self.probe.circuit(CircuitRow { time_ns: now.as_ns(), timeline, step });
    }

    fn decided(&mut self, now: Instant, controller: u32, decision: Decision) {
        self.probe.control(control_row(now, controller, decision));
    }
}
