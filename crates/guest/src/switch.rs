//! The switch: takes packets from the hosts' NICs, drives the fabric, says when each reaches its receiver.
//!
//! A state machine. The kernel calls [`Switch::send`] when a packet leaves a NIC, and [`Switch::advance`] not
//! later than [`Switch::next`]: all in the guest's virtual time, which stands still meanwhile.

use std::mem::size_of;

use daybreak_engine::recorder::control_row;
use daybreak_engine::{PacketNumbers, Shown, wiring};
use daybreak_fabric::control::Decision;
use daybreak_fabric::{
    Config as FabricConfig, Context, Control, DropReason, Ecn, Fabric, Impairment, LinkTotals, Monitor, NewPacket,
    Packet, PacketId, QueueTotals,
};
use daybreak_plan::Plan;
use daybreak_trace::{CircuitRow, DatagramRow, DropRow, ExchangeColumns, PacketRow, Probe};
use daybreak_units::{ByteTime, Duration, Instant, Rate};

use crate::capture::Capture;
use crate::discover::{Discovery, Seen};
use crate::error::GuestError;
use crate::events::{Event, Events};
use crate::follow::{Arrival, Followed};
use crate::headers::{Headers, Protocol};
use crate::layout::{Layout, delivers, ports};
use crate::lookahead;
use crate::marks::Marks;
use crate::skb::Skb;
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

/// Where a packet comes from.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// The NIC that it leaves.
    pub nic: u32,
    /// The user whose socket it is from, or [`crate::discover::NOBODY`].
    pub owner: u32,
}

/// A packet's body in the fabric.
#[derive(Clone, Copy, Debug)]
struct Frame {
    place: Place,
    skb: Skb,
}

const _: () = assert!(size_of::<Packet<Frame>>() == 64, "a packet should be one cache line");

/// A host's NIC as the switch sees it.
#[derive(Debug)]
struct Nic {
    link: u32,
    delay: Duration,
    framing_bytes: u32,
    byte_time: ByteTime,
    /// When its last packet has been sent.
    busy_until: Instant,
    /// Its random loss and jitter.
    impairment: Option<Impairment>,
    count: LinkTotals,
}

/// A direction of a flow.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// First step behind the NIC; `None` if the NIC's link leads to the receiver.
    cursor: Option<u32>,
    /// NIC at which it starts.
    from: u32,
    /// The receiver's NIC.
    to: u32,
}

/// The switch and everything that it knows.
pub struct Switch<P> {
    fabric: Fabric<Frame>,
    events: Events,
    watch: Watch<P>,
    control: Control,
    nics: Vec<Nic>,
    ways: Vec<[Way; 2]>,
    waiting: Entries,
    /// What the flows' packets show: of the plan's flows, then of those that were found.
    pub flows: Vec<Followed>,
    /// Finds the connections of programs.
    pub discovery: Discovery,
    /// Requests that have been answered.
    pub exchanges: ExchangeColumns,
    /// When each flow was complete.
    pub ends: Vec<Option<Instant>>,
    unfinished: usize,
    stop_when_complete: bool,
    end: Instant,
    /// Packets taken over from NICs.
    pub taken: u64,
    /// Events handled.
    pub handled: u64,
    /// When the run stopped.
    pub stopped: Option<Instant>,
}

/// Who watches the fabric.
struct Watch<P> {
    probe: P,
    capture: Option<Capture>,
    shown: Shown,
    /// Kept only when packets are listed.
    numbers: Option<PacketNumbers>,
    /// The number of the packet that enters the fabric now.
    entering: u64,
    orders: Vec<Order>,
}

/// Packets that cross a host's own link: they have not entered the fabric.
#[derive(Debug, Default)]
struct Entries {
    packets: Vec<Entry>,
    free: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    endpoint: u32,
    bytes: u32,
    ecn: Ecn,
    number: u64,
    frame: Frame,
}

impl Entries {
    fn put(&mut self, entry: Entry) -> u32 {
        if let Some(index) = self.free.pop() {
            self.packets[index as usize] = entry;
            return index;
        }
        self.packets.push(entry);
        self.packets.len() as u32 - 1
    }

    fn take(&mut self, index: u32) -> Entry {
        self.free.push(index);
        self.packets[index as usize]
    }
}

impl<P: Probe> Switch<P> {
    /// A switch for a plan, before its clock starts.
    pub fn new(plan: &Plan, layout: &Layout, probe: P, capture: Option<Capture>) -> Self {
        let mut config = FabricConfig { packets: 1 << 12, ..wiring::fabric(plan) };
        // The first step of a flow's path is its NIC, which is the kernel's: packets enter behind it.
        for &path in plan.flows.iter().flat_map(|flow| [&flow.data_path, &flow.ack_path]) {
            let whole = &plan.paths[path as usize];
            config.paths[path as usize] = whole[1..].to_vec();
        }
        let fabric = Fabric::new(&config).identified_by(|frame: &Frame| frame.place.identity());
        let way = |flow: usize, data: bool| {
            let (src, dst) = layout.flows[flow];
            let (from, to) = if data { (src, dst) } else { (dst, src) };
            let path = if data { plan.flows[flow].data_path } else { plan.flows[flow].ack_path };
            let cursor = (!config.paths[path as usize].is_empty()).then(|| fabric.cursor(path));
            let nic = |end: u32| layout.ends[end as usize].nic;
            Way { cursor, from: nic(from), to: nic(to) }
        };
        let ways = (0..plan.flows.len()).map(|flow| [true, false].map(|data| way(flow, data))).collect();
        let mut events = Events::new(delivers(plan), lookahead::least(plan, layout));
        let mut control = wiring::control(plan);
        control.start(&mut events);
        for flow in control.flows() {
            events.push(Instant::from_ps(plan.flows[flow as usize].start_ps), Event::Start { flow });
        }
        let limited = plan.flows.iter().filter(|flow| flow.application.limited_bytes().is_some());
        // All clients of all programs together are complete once.
        let programs = plan.flows.iter().any(|flow| flow.application.commands()[0].is_some());
        Self {
            fabric,
            events,
            watch: Watch {
                probe,
                capture,
                shown: Shown::new(&plan.marks),
                numbers: (!plan.records.packet_links.is_empty()).then(PacketNumbers::default),
                entering: 0,
                orders: Vec::new(),
            },
            control,
            nics: layout.nics.iter().map(|nic| Nic::new(plan, nic.link)).collect(),
            ways,
            waiting: Entries::default(),
            flows: (0..).zip(&plan.flows).map(|(index, flow)| Followed::new(index, flow)).collect(),
            exchanges: ExchangeColumns::default(),
            ends: vec![None; plan.flows.len()],
            discovery: Discovery::new(plan, layout),
            unfinished: limited.count() + usize::from(programs),
            stop_when_complete: plan.stop_when_flows_complete,
            end: Instant::from_ps(plan.end_ps),
            taken: 0,
            handled: 0,
            stopped: None,
        }
    }

    /// The NIC lets a packet go. False if it is lost there, or of no interest: the kernel forgets it then.
    #[inline]
    pub fn send(&mut self, now: Instant, from: Origin, mut skb: Skb) -> Result<bool, GuestError> {
        if self.stopped.is_some() {
            return Ok(false);
        }
        let Some(headers) = Headers::read(skb.headers()) else { return Ok(false) };
        let Some((flow, data)) = self.flow_of(now, &headers, from)? else { return Ok(false) };
        let nic = from.nic;
        let way = self.ways[flow as usize][usize::from(!data)];
        if nic != way.from {
            return Err(GuestError::Broken(format!("a packet of flow {flow} came from a NIC that is not its own")));
        }
        let Some(place) = self.flows[flow as usize].sent(now, &headers, data) else {
            return Err(GuestError::Broken(format!("a packet of flow {flow} is of another protocol than the flow's")));
        };
        self.taken += 1;
        let endpoint = flow << 1 | u32::from(data);
        let nic = &mut self.nics[nic as usize];
        let wire_bytes = headers.ip_bytes + nic.framing_bytes;
        let began = nic.begin(now, wire_bytes);
        skb.cut(headers.length);
        let data = data || headers.payload > 0;
        self.watch.probe.link_sent(began, nic.link, flow, data, wire_bytes);
        let number = self.watch.numbers.as_mut().map_or(0, PacketNumbers::draw);
        self.watch.packet_row(began, nic.link, number, (flow, data), &place, headers.ip_bytes);
        if let Some(capture) = &mut self.watch.capture {
            capture.packet(began, nic.link, &skb, None);
        }
        let on_time = nic.busy_until + nic.delay;
        let arrival = match &mut nic.impairment {
            Some(impairment) => impairment.pass(endpoint, place.identity(), on_time),
            None => Some(on_time),
        };
        let Some(at) = arrival else {
            nic.count.lost += 1;
            let reason = (DropReason::RandomLoss, nic.link);
            self.watch.drop_row(began, reason, (flow, data), &place, headers.ip_bytes);
            self.flows[flow as usize].lost_at_nic();
            return Ok(false);
        };
        let frame = Frame { place, skb };
        let entry = Entry { endpoint, bytes: headers.ip_bytes, ecn: headers.ecn, number, frame };
        let frame = self.waiting.put(entry);
        self.events.push(at, Event::Entry { link: nic.link, frame });
        Ok(true)
    }

    /// The flow of a packet, and whether it comes from the flow's source; `None` for what is of no interest.
    fn flow_of(&mut self, now: Instant, headers: &Headers, from: Origin) -> Result<Option<(u32, bool)>, GuestError> {
        let planned = ports::flow(headers.source, headers.destination, self.ends.len());
        if !self.discovery.is_wanted() {
            return match (planned, headers.protocol) {
                (Some(_), Protocol::Tcp | Protocol::Udp(Some(_))) => Ok(planned),
                (_, Protocol::Udp(None) | Protocol::Other(_)) => Ok(None),
                (None, _) => {
                    let (from, to) = (headers.source, headers.destination);
                    Err(GuestError::Broken(format!("a packet from port {from} to port {to} belongs to no flow")))
                }
            };
        }
        let of_this_nic = |&(flow, data): &(u32, bool)| {
            let way = self.ways[flow as usize][usize::from(!data)];
            way.from == from.nic && !self.discovery.runs_programs(flow)
        };
        if let Some(planned) = planned.filter(of_this_nic) {
            return Ok(Some(planned));
        }
        let flows = &self.flows;
        Ok(match self.discovery.see(headers, from.owner, |flow| flows[flow as usize].is_closed()) {
            None => None,
            Some(Seen::Known(flow, data)) => Some((flow, data)),
            Some(Seen::New { of_flow, is_reversed }) => {
                let [there, back] = self.ways[of_flow as usize];
                self.ways.push(if is_reversed { [back, there] } else { [there, back] });
                self.flows.push(Followed::found(headers, now));
                self.watch.probe.flow_found();
                Some((self.flows.len() as u32 - 1, true))
            }
        })
    }

    /// The client of a flow has ended, or all of them and their servers with them: at `now`, which lies ahead.
    pub fn programs_ended(&mut self, now: Instant, flow: Option<u32>) {
        self.events.push(now, Event::End { flow });
    }

    /// The run has failed and stops.
    pub fn give_up(&mut self, now: Instant) {
        self.stopped.get_or_insert(now);
    }

    /// Lets the fabric work up to `now`; returns what is to happen with packets of the kernel's, in this order.
    pub fn advance(&mut self, now: Instant) -> &[Order] {
        self.watch.orders.clear();
        while self.stopped.is_none() {
            let Some((at, event)) = self.events.pop(now.min(self.end)) else { break };
            self.handled += 1;
            self.handle(at, event);
        }
        if self.stopped.is_none() && now >= self.end {
            self.stopped = Some(self.end);
        }
        &self.watch.orders
    }

    /// When [`Switch::advance`] has to be called at the latest.
    #[inline]
    pub fn next(&self) -> Instant {
        if self.stopped.is_some() { Instant::NEVER } else { self.events.next_delivery().min(self.end) }
    }

    /// What every link of the plan has done by `now`; packets still on their way are the rest.
    pub fn link_totals(&self, now: Instant) -> Vec<LinkTotals> {
        let mut totals: Vec<LinkTotals> = self.fabric.link_totals(now).collect();
        for nic in &self.nics {
            totals[nic.link as usize] = nic.count;
        }
        totals
    }

    /// What happened at every queue of the plan; nothing is known of NICs, where nothing is lost or marked.
    pub fn queue_totals(&self) -> Vec<QueueTotals> {
        self.fabric.queue_totals().collect()
    }

    /// What became of the datagrams of each flow over UDP.
    pub fn datagrams(&self) -> impl Iterator<Item = DatagramRow> {
        (0..).zip(&self.flows).filter_map(|(flow, followed)| followed.datagrams(flow, self.fabric.lost(flow << 1 | 1)))
    }

    /// Who fills the tables.
    pub fn probe(&mut self) -> &mut P {
        &mut self.watch.probe
    }

    /// The probe, at the end, when the capture is complete.
    pub fn finish(self) -> Result<P, GuestError> {
        let finished = self.watch.capture.map_or(Ok(()), Capture::finish);
        finished.map_err(|error| GuestError::io("write the capture", error))?;
        Ok(self.watch.probe)
    }

    fn handle(&mut self, now: Instant, event: Event) {
        let Self { fabric, events, watch, .. } = self;
        let mut ctx = Context { now, schedule: events, monitor: watch };
        match event {
            Event::Control { controller } => self.control.wake(fabric, &mut ctx, controller),
            Event::Start { flow } => self.control.flow_started(fabric, &mut ctx, flow),
            Event::End { flow: Some(flow) } => self.control.flow_ended(fabric, &mut ctx, flow),
            Event::End { flow: None } => self.complete(now),
            Event::TransmissionComplete { link } => fabric.transmission_complete(&mut ctx, link),
            Event::Arrival { link, packet } => {
                if let Some(id) = fabric.arrive(&mut ctx, link, PacketId(packet)) {
                    let packet = fabric.packet(id);
                    let (endpoint, mut frame) = (packet.endpoint, packet.body);
                    if let Some(marks) = watch.marks(packet) {
                        marks.write(frame.skb.checksum_is_partial, frame.skb.headers_mut());
                    }
                    fabric.release(id);
                    self.delivered(now, endpoint, &frame);
                }
            }
            Event::Entry { frame, .. } => {
                let entry = self.waiting.take(frame);
                let way = self.ways[(entry.endpoint >> 1) as usize][usize::from(entry.endpoint & 1 == 0)];
                self.nics[way.from as usize].count.arrived += 1;
                match way.cursor {
                    Some(cursor) => {
                        let Entry { endpoint, bytes, ecn, number, .. } = entry;
                        ctx.monitor.entering = number;
                        let packet = NewPacket { endpoint, cursor, bytes, ecn, announce: false };
                        fabric.send(&mut ctx, packet, &entry.frame);
                    }
                    None => self.delivered(now, entry.endpoint, &entry.frame),
                }
            }
        }
    }

    /// A packet is at its receiver.
    fn delivered(&mut self, now: Instant, endpoint: u32, frame: &Frame) {
        let flow = endpoint >> 1;
        let way = self.ways[flow as usize][usize::from(endpoint & 1 == 0)];
        self.watch.orders.push(Order { handle: frame.skb.handle, nic: way.to, deliver: 1 });
        let arrival = self.flows[flow as usize].arrived(now, &frame.place, endpoint & 1 == 1);
        let Arrival { delivered, delay, answered, is_complete } = arrival;
        let payload = u64::from(frame.place.payload);
        if payload > 0 {
            self.watch.probe.arrived(now, flow, payload);
        }
        if delivered > 0 {
            self.watch.probe.delivered(now, flow, delivered);
        }
        if let Some(delay) = delay {
            self.watch.probe.packet_delay(flow, delay.as_ps());
        }
        if let Some(row) = answered {
            self.exchanges.push(row);
        }
        if is_complete && self.ends[flow as usize].is_none() {
            self.ends[flow as usize] = Some(now);
            let Self { fabric, events, watch, control, .. } = self;
            control.flow_ended(fabric, &mut Context { now, schedule: events, monitor: watch }, flow);
            self.complete(now);
        }
    }

    /// One less to wait for.
    fn complete(&mut self, now: Instant) {
        self.unfinished -= 1;
        if self.unfinished == 0 && self.stop_when_complete {
            self.stopped = Some(now);
        }
    }
}

impl Nic {
    fn new(plan: &Plan, index: u32) -> Self {
        let link = &plan.links[index as usize];
        Self {
            link: index,
            delay: Duration::from_ps(link.delay_ps),
            framing_bytes: link.framing_bytes,
            byte_time: ByteTime::new(Rate::from_bps(link.rate_bps)),
            busy_until: Instant::ZERO,
            impairment: Impairment::new(&wiring::link(link), plan.seed),
            count: LinkTotals::default(),
        }
    }

    /// Starts to send a packet that the queueing discipline has let go, and returns when that was. The
    /// discipline's bucket lets small packets go together; they are sent one after the other. It counts
    /// whole nanoseconds, so a packet that comes a fraction of one early is in time.
    fn begin(&mut self, let_go: Instant, wire_bytes: u32) -> Instant {
        const TICK: Duration = Duration::from_ns(1);
        let began = if self.busy_until <= let_go + TICK { let_go } else { self.busy_until };
        self.busy_until = began + self.byte_time.of(wire_bytes);
        self.count.packets += 1;
        self.count.bytes += u64::from(wire_bytes);
        began
    }
}

/// Whether a packet travels from its flow's sender, or has payload: ACKs do neither.
fn is_data(packet: &Packet<Frame>) -> bool {
    packet.endpoint & 1 == 1 || packet.body.place.payload > 0
}

/// The first byte of a packet's payload as tables have it: the first of a flow has number 1, behind the SYN.
fn first_byte(place: &Place) -> u64 {
    if place.is_datagram() { place.seq } else { place.seq + 1 }
}

impl<P> Watch<P> {
    /// What a packet has met so far.
    fn marks(&self, packet: &Packet<Frame>) -> Option<Marks> {
        let header = packet.header;
        header
            .is_marked()
            .then(|| Marks { congested: header.ecn() == Ecn::Ce, tcp_bits: self.shown.flags(header.marks()).0 })
    }
}

impl<P: Probe> Watch<P> {
    /// A packet of `flow`, in the direction of the data or not, is lost for a reason at a place.
    fn drop_row(
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

    /// A packet of `flow`, in the direction of the data or not, starts on a link, of which it is told where that is wanted.
    fn packet_row(
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
    fn created(&mut self, _now: Instant, id: PacketId, _endpoint: u32, _body: &Frame) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover::NOBODY;
    use crate::layout::tests::plan;
    use daybreak_plan::{Application, Choice, ControlledFlow, Controller, Controls, Downtime, RouteSwitch, Step};
    use daybreak_trace::{ControlRow, FlowRow, Silent};

    const PAYLOAD: u16 = 1_000;

    /// A data packet of flow 0: Ethernet, IPv4 and TCP headers.
    fn data() -> Vec<u8> {
        let mut bytes = vec![0u8; 54];
        bytes[12] = 8;
        bytes[14] = 0x45;
        bytes[16..18].copy_from_slice(&(40 + PAYLOAD).to_be_bytes());
        bytes[23] = 6;
        bytes[34..36].copy_from_slice(&ports::client(0).to_be_bytes());
        bytes[36..38].copy_from_slice(&ports::server(0).to_be_bytes());
        bytes[46] = 5 << 4;
        bytes[47] = crate::headers::flags::ACK;
        bytes
    }

    fn at(nic: u32) -> Origin {
        Origin { nic, owner: NOBODY }
    }

    #[expect(unsafe_code, reason = "the bytes outlive the switch in every test")]
    fn skb(handle: u64, bytes: &mut [u8]) -> Skb {
        // SAFETY: see above.
        unsafe { Skb::new(handle, bytes, 54 + u32::from(PAYLOAD), false) }
    }

    fn links_of_data(plan: &Plan) -> Vec<usize> {
        let link = |step: &Step| match step {
            Step::Queue(queue) => plan.queues[*queue as usize].served_by[0] as usize,
            other => panic!("the benchmark has no {other:?}"),
        };
        plan.paths[plan.flows[0].data_path as usize].iter().map(link).collect()
    }

    fn switch(plan: &Plan) -> Switch<Silent> {
        Switch::new(plan, &Layout::of(plan).unwrap(), Silent, None)
    }

    #[test]
    fn a_packet_is_delivered_when_it_has_crossed_its_links_and_not_before() {
        let plan = plan();
        let crossing = links_of_data(&plan).into_iter().map(|link| {
            let link = &plan.links[link];
            let wire = u64::from(40 + u32::from(PAYLOAD) + link.framing_bytes);
            Rate::from_bps(link.rate_bps).time_for(wire).as_ps() + link.delay_ps
        });
        let start = Instant::from_ps(5_000);
        let due = Instant::from_ps(start.as_ps() + crossing.sum::<u64>());
        let (mut switch, mut bytes) = (switch(&plan), data());
        assert!(switch.send(start, at(0), skb(77, &mut bytes)).unwrap());
        let receiver = Layout::of(&plan).unwrap().ends[1].nic;
        let mut calls = 0;
        loop {
            let now = switch.next();
            assert!(now <= due, "it would be late");
            calls += 1;
            let orders = switch.advance(now).to_vec();
            if now == due {
                assert_eq!(orders, [Order { handle: 77, nic: receiver, deliver: 1 }]);
                break;
            }
            assert_eq!(orders, []);
        }
        assert!(calls <= links_of_data(&plan).len() + 1, "it asks for {calls} calls");
        let mut row = FlowRow::default();
        switch.flows[0].fill(&mut row);
        assert_eq!(row.delivered_bytes, u64::from(PAYLOAD));
        let last = *links_of_data(&plan).last().unwrap();
        let count = switch.link_totals(due)[last];
        assert_eq!((count.packets, count.arrived), (1, 1));
    }

    #[test]
    fn a_lost_packet_is_given_back_at_once_by_its_nic_and_later_by_the_fabric() {
        let mut lossy = plan();
        let links = links_of_data(&lossy);
        lossy.links[links[0]].loss_ppb = 1_000_000_000;
        let mut bytes = data();
        assert!(!switch(&lossy).send(Instant::ZERO, at(0), skb(1, &mut bytes)).unwrap());
        lossy.links[links[0]].loss_ppb = 0;
        lossy.links[links[1]].loss_ppb = 1_000_000_000;
        let mut switch = switch(&lossy);
        assert!(switch.send(Instant::ZERO, at(0), skb(1, &mut bytes)).unwrap());
        let orders = std::iter::from_fn(|| {
            let now = switch.next();
            Some(switch.advance(now).to_vec())
        });
        let first = orders.take(10).find(|orders| !orders.is_empty());
        assert_eq!(first.unwrap(), [Order { handle: 1, nic: 0, deliver: 0 }]);
    }

    /// Keeps what arrives.
    #[derive(Default)]
    struct Arrived(Vec<(u32, u64)>);

    impl Probe for Arrived {
        fn arrived(&mut self, _now: Instant, flow: u32, bytes: u64) {
            self.0.push((flow, bytes));
        }
    }

    #[test]
    fn payload_counts_each_time_that_it_arrives() {
        let plan = plan();
        let mut switch = Switch::new(&plan, &Layout::of(&plan).unwrap(), Arrived::default(), None);
        for (handle, us) in [(1, 1), (2, 100_000)] {
            let mut bytes = data();
            assert!(switch.send(Instant::from_ps(us * 1_000_000), at(0), skb(handle, &mut bytes)).unwrap());
            while switch.advance(switch.next()).is_empty() {}
        }
        assert_eq!(switch.watch.probe.0, [(0, u64::from(PAYLOAD)); 2]);
        let mut row = FlowRow::default();
        switch.flows[0].fill(&mut row);
        assert_eq!((row.delivered_bytes, row.duplicates), (u64::from(PAYLOAD), 1));
    }

    /// Keeps what controllers decide.
    #[derive(Default)]
    struct Decided(Vec<(u64, u8, u32, u32)>);

    impl Probe for Decided {
        fn control(&mut self, row: ControlRow) {
            self.0.push((row.time_ns, row.event, row.flow, row.path));
        }
    }

    /// The receiver's first ACK of all payload is the end of the flow.
    #[test]
    fn a_controller_hears_when_flows_start_and_end() {
        let mut plan = plan();
        for flow in 0..2 {
            let whole = plan.paths[plan.flows[flow as usize].data_path as usize].clone();
            let Step::Queue(second) = whole[1] else { panic!("the benchmark has queues alone") };
            let tail = plan.paths.len() as u32;
            plan.route_switches.push(RouteSwitch {
                name: format!("switch {flow}"),
                node: plan.queues[second as usize].node,
                alternatives: vec![tail, tail],
                initial: 0,
                hold_limit_packets: None,
            });
            plan.paths.extend([whole[1..].to_vec(), vec![whole[0], Step::RouteSwitch(flow)]]);
            plan.flows[flow as usize].data_path = tail + 1;
            plan.flows[flow as usize].start_ps = 1_000_000 * (1 + u64::from(flow));
        }
        plan.flows[0].application = Application::Bulk { bytes: Some(1_000) };
        let flow = |flow| ControlledFlow { flow, route_switches: vec![flow], priority: 0, deadline_ps: None };
        let flows = vec![flow(0), flow(1)];
        plan.controllers = vec![Controller {
            name: "broker".into(),
            policy: Choice::plain("first_come"),
            setup_ps: 0,
            controls: Controls::ControlledFlows { flows, paths: 2, downtime: Downtime::Hold },
        }];
        plan.stop_when_flows_complete = false;
        plan.validate().unwrap();
        let layout = Layout::of(&plan).unwrap();
        let mut switch = Switch::new(&plan, &layout, Decided::default(), None);
        let [asked, got, released] = [0, 2, 3];
        switch.advance(Instant::from_ps(2_500_000));
        assert_eq!(switch.probe().0, [(1_000, asked, 0, 0), (1_000, got, 0, 1), (2_000, asked, 1, 0)]);
        // The data, and its acknowledgement.
        let mut bytes = data();
        assert!(
            switch
                .send(Instant::from_ps(3_000_000), at(layout.ends[layout.flows[0].0 as usize].nic), skb(1, &mut bytes))
                .unwrap()
        );
        let mut ack = data();
        (ack[34..36]).copy_from_slice(&ports::server(0).to_be_bytes());
        (ack[36..38]).copy_from_slice(&ports::client(0).to_be_bytes());
        ack[16..18].copy_from_slice(&40u16.to_be_bytes());
        ack[42..46].copy_from_slice(&u32::from(PAYLOAD).to_be_bytes());
        let nic = layout.ends[layout.flows[0].1 as usize].nic;
        assert!(switch.send(Instant::from_ps(4_000_000), at(nic), skb(2, &mut ack)).unwrap());
        switch.advance(Instant::from_ps(plan.end_ps - 1));
        let end = switch.ends[0].expect("everything is acknowledged").as_ns();
        assert_eq!(switch.probe().0[3..], [(end, released, 0, 1), (end, got, 1, 1)]);
    }

    #[test]
    fn packets_of_strangers_are_forgotten_or_an_error() {
        let plan = plan();
        let (mut switch, mut bytes) = (switch(&plan), data());
        let mut arp = bytes.clone();
        arp[13] = 6;
        assert!(!switch.send(Instant::ZERO, at(0), skb(1, &mut arp)).unwrap());
        assert!(switch.send(Instant::ZERO, at(1), skb(1, &mut bytes)).is_err(), "another host's NIC");
        bytes[34] = 0;
        assert!(switch.send(Instant::ZERO, at(0), skb(1, &mut bytes)).is_err(), "no flow has that port");
    }

    #[test]
    fn the_run_is_over_at_its_end() {
        let plan = plan();
        let mut switch = switch(&plan);
        let end = Instant::from_ps(plan.end_ps);
        assert_eq!(switch.next(), end);
        switch.advance(end);
        assert_eq!(switch.stopped, Some(end));
        assert!(!switch.send(end, at(0), skb(1, &mut data())).unwrap(), "nothing is taken any more");
        assert_eq!(switch.next(), Instant::NEVER);
    }
}
