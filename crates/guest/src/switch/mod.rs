//! The switch: takes packets from the hosts' NICs, drives the fabric, says when each reaches its receiver.
//!
//! A state machine. The kernel calls [`Switch::send`] when a packet leaves a NIC, and [`Switch::advance`] not
//! later than [`Switch::next`]: all in the guest's virtual time, which stands still meanwhile.

mod frame;
mod nic;
mod watch;

use daybreak_engine::{PacketNumbers, Shown, wiring};
use daybreak_fabric::{
    Config as FabricConfig, Context, Control, DropReason, Fabric, LinkTotals, NewPacket, PacketId, QueueTotals,
};
use daybreak_plan::Plan;
use daybreak_trace::{DatagramRow, ExchangeColumns, Probe};
use daybreak_units::Instant;

use self::frame::Frame;
pub use self::nic::Origin;
use self::nic::{Entries, Entry, Nic};
pub use self::watch::Order;
use self::watch::Watch;
use crate::capture::Capture;
use crate::counters::Counters;
use crate::discover::{Discovery, PacketOwner};
use crate::error::GuestError;
use crate::events::{Event, Events};
use crate::follow::{Arrival, TrackedFlow};
use crate::headers::{Headers, Protocol};
use crate::layout::{Layout, delivers, ports};
use crate::lookahead;
use crate::skb::Skb;
use crate::sockets::SocketAddress;

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
    pub flows: Vec<TrackedFlow>,
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
            flows: (0..).zip(&plan.flows).map(|(index, flow)| TrackedFlow::new(index, flow)).collect(),
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
            Some(PacketOwner::Known(flow, data)) => Some((flow, data)),
            Some(PacketOwner::New { of_flow, is_reversed }) => {
                let [there, back] = self.ways[of_flow as usize];
                self.ways.push(if is_reversed { [back, there] } else { [there, back] });
                self.flows.push(TrackedFlow::found(headers, now));
                self.watch.probe.flow_found();
                Some((self.flows.len() as u32 - 1, true))
            }
        })
    }

    /// The kernel has newly counted this at one end of a program's connection: its own address, then its peer's.
    pub fn count(&mut self, socket: [SocketAddress; 2], added: Counters) {
        if let Some((flow, _)) = self.discovery.of_socket(socket) {
            self.flows[flow as usize].count(added);
        }
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
    pub fn finish(mut self) -> Result<P, GuestError> {
        self.fabric.revoke_unsent(self.stopped.unwrap_or(Instant::ZERO), &mut self.watch);
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
                        let packet = NewPacket { endpoint, cursor, bytes, ecn };
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

#[cfg(test)]
mod tests;
