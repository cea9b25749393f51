//! The switch: takes packets from the hosts' NICs, drives the fabric, hands packets to their receivers.
//!
//! All in the guest's virtual time, which stands still while anything runs. The switch sleeps as long
//! as [`Lookahead`] lets it, then takes over what has come in the meantime at the times at which it
//! came, and lets the fabric work up to the instant from which on a packet that has not come yet could
//! enter it.

use std::mem::size_of;

use daybreak_engine::{Plan, wiring};
use daybreak_fabric::control::Timeline;
use daybreak_fabric::{Chance, Context, DropReason, Fabric, Monitor, NewPacket, Packet, PacketId, QueueConfig};
use daybreak_trace::{CircuitRow, DropRow, Probe};
use daybreak_units::{ByteTime, Duration, Instant, Rate};

use crate::capture::Capture;
use crate::error::GuestError;
use crate::events::{Event, Events};
use crate::headers::Headers;
use crate::layout::{Layout, behind_nic, delivers, ports};
use crate::lookahead::Lookahead;
use crate::ring::{Arrival, Outgoing, Ring, Sender};
use crate::system::{self, Timer};
use crate::track::{Place, Track};

/// The guest's clock moves a nanosecond with every look at it, so a timer may seem to be late by some of them.
const CREEP: Duration = Duration::from_ns(200);

/// A packet's body in the fabric.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    place: Place,
    /// Where its headers are kept.
    slot: u32,
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
    /// What is random about it.
    chance: Option<Chance>,
    packets: u64,
    bytes: u64,
    lost: u64,
    arrived: u64,
}

/// A packet whose delivery is certain but not known to the kernel.
#[derive(Clone, Copy, Debug)]
struct Ready {
    at: Instant,
    device: u32,
    slot: u32,
}

/// A direction of a flow.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// First step behind the NIC; `None` if the NIC's link leads to the receiver.
    cursor: Option<u32>,
    /// NIC at which it starts.
    from: u32,
    /// Device of the receiver's cable.
    device: u32,
}

/// What one link has carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCount {
    /// Packets that began to be sent.
    pub packets: u64,
    /// Their bytes with framing.
    pub bytes: u64,
    /// Packets lost on the link.
    pub lost: u64,
    /// Packets that arrived.
    pub arrived: u64,
}

/// How far the run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Call [`Switch::turn`] again.
    More,
    /// All flows are complete, or the time is over.
    Done,
}

/// The switch and everything that it knows.
pub struct Switch<P> {
    fabric: Fabric<Frame>,
    events: Events,
    watch: Watch<P>,
    timelines: Vec<Timeline>,
    nics: Vec<Nic>,
    /// NIC by device of its cable.
    nic_of_device: Vec<u32>,
    ways: Vec<[Way; 2]>,
    waiting: Entries,
    ready: Vec<Ready>,
    ring: Ring,
    timer: Timer,
    sender: Sender,
    look: Lookahead,
    /// What the flows' packets show.
    pub tracks: Vec<Track>,
    /// When each flow had everything acknowledged.
    pub ends: Vec<Option<Instant>>,
    sizes: Vec<u64>,
    unfinished: usize,
    stop_when_complete: bool,
    end: Instant,
    zero_ns: u64,
    real_offset_ns: u64,
    busy: bool,
    now: Instant,
    /// Packets taken over from NICs.
    pub taken: u64,
    /// Events handled.
    pub handled: u64,
    /// How often the switch was awake.
    pub turns: u64,
    /// When the run stopped.
    pub stopped: Option<Instant>,
}

/// Who watches the fabric, and the places of the packets' headers.
pub struct Watch<P> {
    /// Fills the tables.
    pub probe: P,
    capture: Option<Capture>,
    slots: Slots,
}

/// Headers of the packets on their way.
#[derive(Debug, Default)]
struct Slots {
    packets: Vec<Outgoing>,
    free: Vec<u32>,
}

impl Slots {
    fn put(&mut self, packet: Outgoing) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.packets[slot as usize] = packet;
            return slot;
        }
        self.packets.push(packet);
        self.packets.len() as u32 - 1
    }
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
    /// A switch for a plan, in the namespace of the calling thread, where the hosts' cables end at
    /// `devices`. The clock's zero is at `zero_ns`.
    pub fn new(
        plan: &Plan,
        layout: &Layout,
        devices: &[u32],
        zero_ns: u64,
        probe: P,
        capture: Option<Capture>,
    ) -> Result<Self, GuestError> {
        let links: Vec<_> = plan.links.iter().map(wiring::link).collect();
        let branches: Vec<_> = plan.branches.iter().map(wiring::branch).collect();
        // Whoever hands packets over has to know of each as soon as it is on its last link.
        let watched = |queue| QueueConfig { watched: true, ..queue };
        let queues: Vec<_> = wiring::queues(plan).into_iter().map(watched).collect();
        let mut fabric = Fabric::new(&links, &queues, &branches, plan.seed, 1 << 12);
        let way = |flow: usize, data: bool, fabric: &mut Fabric<Frame>| {
            let (src, dst) = layout.flows[flow];
            let (from, to) = if data { (src, dst) } else { (dst, src) };
            let steps = behind_nic(&plan.flows[flow], data);
            let cursor = (!steps.is_empty()).then(|| fabric.add_path(&wiring::path(steps)));
            let nic = |end: u32| layout.ends[end as usize].nic;
            Way { cursor, from: nic(from), device: devices[nic(to) as usize] }
        };
        let ways = (0..plan.flows.len()).map(|flow| [true, false].map(|data| way(flow, data, &mut fabric)));
        let ways = ways.collect();
        let look = Lookahead::of(plan, layout);
        let mut events = Events::new(delivers(plan), look.clone());
        let timelines: Vec<_> = plan.timelines.iter().map(wiring::timeline).collect();
        for (index, timeline) in (0..).zip(&timelines) {
            if timeline.next_at() < Instant::NEVER {
                events.push(timeline.next_at(), Event::Timeline { timeline: index });
            }
        }
        let mut nic_of_device = vec![u32::MAX; devices.iter().max().map_or(0, |&most| most as usize + 1)];
        for (index, &device) in (0..).zip(devices) {
            nic_of_device[device as usize] = index;
        }
        let limited = |bytes: &&u64| **bytes > 0;
        let sizes: Vec<u64> = plan.flows.iter().map(|flow| flow.bytes).collect();
        // The clock stands still between the two looks.
        let real_offset_ns = system::clock_ns(libc::CLOCK_REALTIME) - system::clock_ns(libc::CLOCK_MONOTONIC);
        Ok(Self {
            fabric,
            events,
            watch: Watch { probe, capture, slots: Slots::default() },
            timelines,
            nics: layout.nics.iter().map(|nic| Nic::new(plan, nic.link)).collect(),
            nic_of_device,
            ways,
            waiting: Entries::default(),
            ready: Vec::new(),
            ring: Ring::open()?,
            timer: Timer::new()?,
            sender: Sender::open()?,
            look,
            tracks: vec![Track::default(); plan.flows.len()],
            ends: vec![None; plan.flows.len()],
            unfinished: sizes.iter().filter(limited).count(),
            sizes,
            stop_when_complete: plan.stop_when_flows_complete,
            end: Instant::from_ps(plan.end_ps),
            zero_ns,
            real_offset_ns,
            busy: false,
            now: Instant::ZERO,
            taken: 0,
            handled: 0,
            turns: 0,
            stopped: None,
        })
    }

    /// Now, on the plan's clock; zero before the run starts. The clock stands still while the switch is
    /// awake, so one look at it, or the knowledge of when the sleep was to end, is enough.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Takes over what has come, lets the fabric work, hands deliveries to the kernel.
    pub fn turn(&mut self) -> Result<Turn, GuestError> {
        self.turns += 1;
        let now = self.now;
        let before = self.taken;
        self.take_over()?;
        self.busy = self.taken > before;
        let horizon = now.saturating_add(self.look.entry);
        while self.stopped.is_none() {
            let Some((at, event)) = self.events.pop(horizon.min(self.end)) else { break };
            self.handled += 1;
            self.handle(at, event);
            self.collect();
        }
        if self.stopped.is_none() && horizon >= self.end {
            self.stopped = Some(self.end);
        }
        self.hand_over()?;
        Ok(if self.stopped.is_some() { Turn::Done } else { Turn::More })
    }

    /// Sleeps until the next turn is due, at most until `latest`.
    pub fn sleep(&mut self, latest: Instant) -> Result<(), GuestError> {
        let now = self.now;
        let in_fabric = self.events.uncertain_until(now.saturating_add(self.look.entry));
        let unseen = if self.busy { now.saturating_add(self.look.through) } else { Instant::NEVER };
        let wake = in_fabric.min(unseen).min(latest).min(self.end);
        let now_ns = self.zero_ns + now.as_ns();
        let wake_ns = (self.zero_ns + wake.as_ns()).max(now_ns + 1);
        if self.busy {
            system::sleep_until(wake_ns);
            self.now = Instant::from_ps((wake_ns - self.zero_ns) * 1_000);
            return Ok(());
        }
        self.timer.wait(self.ring.fd(), wake_ns)?;
        let clock_ns = system::clock_ns(libc::CLOCK_MONOTONIC);
        self.now = Instant::from_ps(clock_ns.saturating_sub(self.zero_ns) * 1_000);
        Ok(())
    }

    /// What every link of the plan has carried; packets still on their way at the end are the rest.
    pub fn link_counts(&self) -> Vec<LinkCount> {
        let mut counts: Vec<LinkCount> = self
            .fabric
            .link_totals(self.now.max(self.stopped.unwrap_or(self.now)))
            .map(|link| LinkCount { packets: link.packets, bytes: link.bytes, lost: link.lost, arrived: link.arrived })
            .collect();
        for nic in &self.nics {
            let Nic { packets, bytes, lost, arrived, .. } = *nic;
            counts[nic.link as usize] = LinkCount { packets, bytes, lost, arrived };
        }
        counts
    }

    /// The probe, at the end, when the capture is complete.
    pub fn finish(self) -> Result<P, GuestError> {
        let finished = self.watch.capture.map_or(Ok(()), Capture::finish);
        finished.map_err(|error| GuestError::io("write the capture", error))?;
        Ok(self.watch.probe)
    }

    /// Who fills the tables.
    pub fn probe(&mut self) -> &mut P {
        &mut self.watch.probe
    }

    fn take_over(&mut self) -> Result<(), GuestError> {
        let Self { ring, nics, nic_of_device, ways, tracks, watch, waiting, ready, events, taken, .. } = self;
        let (zero_ns, real_offset_ns) = (self.zero_ns, self.real_offset_ns);
        let mut take = |arrival: Arrival<'_>| {
            let Some(headers) = Headers::read(arrival.headers) else { return Ok(()) };
            let Some((flow, data)) = ports::flow(headers.source, headers.destination, ways.len()) else {
                return Err(GuestError::Broken(format!(
                    "a packet from port {} to port {} belongs to no flow",
                    headers.source, headers.destination
                )));
            };
            *taken += 1;
            let left_ns = arrival.real_ns - real_offset_ns;
            let left = Instant::from_ps(left_ns.saturating_sub(zero_ns) * 1_000);
            let way = ways[flow as usize][usize::from(!data)];
            let nic = &mut nics[nic_of_device[arrival.device as usize] as usize];
            if nic_of_device[arrival.device as usize] != way.from {
                return Err(GuestError::Broken(format!("a packet of flow {flow} came from a NIC that is not its own")));
            }
            let wire_bytes = headers.ip_bytes + nic.framing_bytes;
            let began = nic.begin(left, wire_bytes);
            let place = tracks[flow as usize].sent(&headers, data);
            watch.probe.link_sent(began, nic.link, flow, data, wire_bytes);
            let packet = Outgoing::new(&arrival, headers.length);
            if let Some(capture) = &mut watch.capture {
                capture.packet(began, nic.link, &packet);
            }
            if nic.loses() {
                nic.lost += 1;
                watch.drop_row(began, DropReason::RandomLoss, nic.link, flow, data, place.seq, headers.ip_bytes);
                return Ok(());
            }
            let on_time = nic.busy_until + nic.delay;
            let at = nic.chance.as_mut().map_or(on_time, |chance| chance.late(on_time));
            let slot = watch.slots.put(packet);
            let endpoint = flow << 1 | u32::from(data);
            let entry = Entry { endpoint, bytes: headers.ip_bytes, frame: Frame { place, slot } };
            let frame = waiting.put(entry);
            events.push(at, Event::Entry { link: nic.link, frame });
            if way.cursor.is_none() {
                ready.push(Ready { at, device: way.device, slot });
            }
            Ok(())
        };
        while ring.read(&mut take)? {}
        Ok(())
    }

    fn handle(&mut self, now: Instant, event: Event) {
        let Self { fabric, events, watch, .. } = self;
        let mut ctx = Context { now, schedule: events, monitor: watch };
        match event {
            Event::Timeline { timeline: index } => {
                let timeline = &mut self.timelines[index as usize];
                let (step, actions) = timeline.advance();
                ctx.monitor.probe.circuit(CircuitRow { time_ns: now.as_ns(), timeline: index, step });
                for action in actions {
                    fabric.apply(&mut ctx, action);
                }
                let next = timeline.next_at();
                self.events.push(next, Event::Timeline { timeline: index });
            }
            Event::LinkFree { link } => fabric.link_free(&mut ctx, link),
            Event::Arrival { link, packet } => {
                if let Some(id) = fabric.arrive(&mut ctx, link, PacketId(packet)) {
                    let packet = fabric.packet(id);
                    let (endpoint, place) = (packet.endpoint, packet.body.place);
                    fabric.release(id);
                    self.delivered(now, endpoint, &place);
                }
            }
            Event::Entry { link, frame } => {
                let entry = self.waiting.take(frame);
                let way = self.ways[(entry.endpoint >> 1) as usize][usize::from(entry.endpoint & 1 == 0)];
                self.nics[way.from as usize].arrived += 1;
                debug_assert_eq!(self.nics[way.from as usize].link, link);
                match way.cursor {
                    Some(cursor) => {
                        let packet =
                            NewPacket { endpoint: entry.endpoint, cursor, bytes: entry.bytes, announce: false };
                        fabric.send(&mut ctx, packet, &entry.frame);
                    }
                    None => self.delivered(now, entry.endpoint, &entry.frame.place),
                }
            }
        }
    }

    /// A packet is at its receiver.
    fn delivered(&mut self, now: Instant, endpoint: u32, place: &Place) {
        let flow = endpoint >> 1;
        let track = &mut self.tracks[flow as usize];
        if endpoint & 1 == 1 {
            let bytes = track.data_arrived(place);
            if bytes > 0 {
                self.watch.probe.delivered(now, flow, bytes);
            }
            return;
        }
        let size = self.sizes[flow as usize];
        if track.ack_arrived(place) && size > 0 && track.acked >= size && self.ends[flow as usize].is_none() {
            self.ends[flow as usize] = Some(now);
            self.unfinished -= 1;
            if self.unfinished == 0 && self.stop_when_complete {
                self.stopped = Some(now);
            }
        }
    }

    /// Notes the deliveries that have become certain, before their packets can be gone.
    fn collect(&mut self) {
        for delivery in self.events.outbox.drain(..) {
            let packet = self.fabric.packet(delivery.packet);
            let way = self.ways[(packet.endpoint >> 1) as usize][usize::from(packet.endpoint & 1 == 0)];
            self.ready.push(Ready { at: delivery.at, device: way.device, slot: packet.body.slot });
        }
    }

    /// Tells the kernel of every delivery that is certain.
    fn hand_over(&mut self) -> Result<(), GuestError> {
        if self.ready.is_empty() {
            return Ok(());
        }
        if let Some(late) = self.ready.iter().find(|ready| ready.at.saturating_add(CREEP) < self.now) {
            let [at, now] = [late.at, self.now].map(Instant::as_ps);
            return Err(GuestError::Broken(format!("a delivery at {at} ps was known only at {now} ps")));
        }
        let slots = &mut self.watch.slots;
        let packets = &slots.packets;
        self.sender.send(self.ready.iter().map(|ready| {
            let ns = self.zero_ns + ready.at.as_ps().div_ceil(1_000);
            (&packets[ready.slot as usize], ready.device, ns)
        }))?;
        slots.free.extend(self.ready.drain(..).map(|ready| ready.slot));
        Ok(())
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
            chance: Chance::new(&wiring::link(link), plan.seed),
            packets: 0,
            bytes: 0,
            lost: 0,
            arrived: 0,
        }
    }

    /// Starts to send a packet that the queueing discipline has let go, and returns when that was. The
    /// discipline's bucket lets small packets go together; they are sent one after the other. It counts
    /// whole nanoseconds, so a packet that comes a fraction of one early is in time.
    fn begin(&mut self, let_go: Instant, wire_bytes: u32) -> Instant {
        const TICK: Duration = Duration::from_ns(1);
        let began = if self.busy_until <= let_go + TICK { let_go } else { self.busy_until };
        self.busy_until = began + self.byte_time.of(wire_bytes);
        self.packets += 1;
        self.bytes += u64::from(wire_bytes);
        began
    }

    fn loses(&mut self) -> bool {
        self.chance.as_mut().is_some_and(Chance::loses)
    }
}

impl<P: Probe> Watch<P> {
    #[expect(clippy::too_many_arguments, reason = "the columns of one row")]
    fn drop_row(&mut self, now: Instant, reason: DropReason, place: u32, flow: u32, data: bool, seq: u64, bytes: u32) {
        // The simulator's first payload byte has number 1, behind the SYN.
        let row = DropRow {
            time_ns: now.as_ns(),
            reason: reason as u8,
            place,
            flow,
            data: u8::from(data),
            seq: seq + 1,
            bytes,
        };
        self.probe.dropped(row);
    }
}

impl<P: Probe> Monitor<Frame> for Watch<P> {
    fn link_sent(&mut self, now: Instant, link: u32, packet: &Packet<Frame>, wire_bytes: u32) {
        self.probe.link_sent(now, link, packet.endpoint >> 1, packet.endpoint & 1 == 1, wire_bytes);
        if let Some(capture) = &mut self.capture {
            capture.packet(now, link, &self.slots.packets[packet.body.slot as usize]);
        }
    }

    fn queue_changed(&mut self, now: Instant, queue: u32, packets: u32, bytes: u64) {
        self.probe.queue_changed(now, queue, packets, bytes);
    }

    fn dropped(&mut self, now: Instant, reason: DropReason, place: u32, packet: &Packet<Frame>) {
        let data = packet.endpoint & 1 == 1;
        self.drop_row(now, reason, place, packet.endpoint >> 1, data, packet.body.place.seq, packet.bytes);
        self.slots.free.push(packet.body.slot);
    }
}
