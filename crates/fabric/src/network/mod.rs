//! The fabric: packets enter, are forwarded hop by hop, and come out at an endpoint.

mod apply;
mod build;
mod census;
mod control;
mod forward;
mod lookahead;
mod serve;
mod switching;

use std::collections::{BTreeSet, VecDeque};

use daybreak_units::Instant;

use crate::analytic_link::{AnalyticLink, Transit};
use crate::circuit::Gate;
use crate::control::Change;
use crate::impairment::Impairment;
use crate::link::Link;
use crate::monitor::Place;
use crate::path::{Code, Fork, Marker, RouteSwitch};
use crate::queue::Queue;
use crate::repeats::Identity;
use crate::scheduler::Scheduler;
use crate::totals::QueueTotals;
use crate::{Content, DropReason, Monitor, NewPacket, Packet, PacketId, Schedule, Slab, Wake};

pub use control::Control;

/// The context of every call: the time, the scheduler of further calls, and the monitor.
pub struct Context<'a, S, M> {
    /// Now.
    pub now: Instant,
    /// Takes the fabric's requests for further calls.
    pub schedule: &'a mut S,
    /// The monitor.
    pub monitor: &'a mut M,
}

impl<S, M> Context<'_, S, M> {
    /// A copy for a call that is not inlined, so that this one may stay in registers.
    #[inline(always)]
    pub(crate) fn again(&mut self) -> Context<'_, S, M> {
        Context { now: self.now, schedule: self.schedule, monitor: self.monitor }
    }
}

/// A packet of [`Fabric::send_announced`] has left its first queue: it is on the wire, or lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Where the packet is going.
    pub endpoint: u32,
    /// Its IP length.
    pub bytes: u32,
}

/// A packet that enters the queue of a link now or later; `cursor` is its step after that.
#[derive(Clone, Copy)]
struct Entering {
    link: u32,
    at: Instant,
    id: PacketId,
    cursor: u32,
    bytes: u32,
}

/// The network between the endpoints.
#[derive(Debug)]
pub struct Fabric<B> {
    pub(crate) slab: Slab<B>,
    pub(crate) steps: Vec<Code>,
    /// First step of each path.
    pub(crate) cursors: Vec<u32>,
    pub(crate) queues: Vec<Queue>,
    pub(crate) gates: Vec<Gate>,
    pub(crate) links: Vec<Link>,
    /// By link; a placeholder with `exists = false` for a link that is not analytic.
    pub(crate) analytic: Vec<AnalyticLink>,
    /// By link; empty for a link that serves just one queue.
    pub(crate) schedulers: Vec<Scheduler>,
    pub(crate) impairments: Vec<Impairment>,
    /// The identity by which impairments draw.
    pub(crate) identify: fn(&B) -> Identity,
    pub(crate) route_switches: Vec<RouteSwitch>,
    pub(crate) forks: Vec<Fork>,
    pub(crate) markers: Vec<Marker>,
    /// Everything that may be changed.
    pub(crate) changes: BTreeSet<Change>,
    pub(crate) departures: VecDeque<Departure>,
    /// By queue.
    pub(crate) totals: Vec<QueueTotals>,
    /// Packets lost, by endpoint.
    pub(crate) lost: Vec<u64>,
}

impl<B: Copy> Fabric<B> {
    /// The first step of a path of the configuration, for [`Fabric::send`].
    pub fn cursor(&self, path: u32) -> u32 {
        self.cursors[path as usize]
    }

    /// Discards the links' state of packets to `endpoint`, of which none is in flight and none will be sent.
    pub fn forget(&mut self, endpoint: u32) {
        for impairment in &mut self.impairments {
            impairment.forget(endpoint);
        }
    }

    /// Creates a packet and puts it on its path.
    #[inline(always)]
    pub fn send<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        packet: NewPacket,
        content: &impl Content<B>,
    ) {
        let id = self.create(ctx, packet, content);
        if let Some(link) = self.steps[packet.cursor as usize].analytic_link() {
            return self.enter_analytic_link(ctx, link, id, packet.cursor, packet.bytes);
        }
        let delivered = self.forward_in_general(&mut ctx.again(), id, NO_LINK);
        debug_assert!(delivered.is_none(), "a path without a queue was added");
    }

    /// Like [`Fabric::send`], for a sender that needs the time at which the packet leaves its first queue: it is
    /// returned if settled (now if the packet is lost), or else a [`Departure`] will report it.
    #[inline(always)]
    pub fn send_announced<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        packet: NewPacket,
        content: &impl Content<B>,
    ) -> Option<Instant> {
        let id = self.create(ctx, packet, content);
        let Some(link) = self.steps[packet.cursor as usize].analytic_link() else {
            self.slab.get_mut(id).announce = true;
            self.forward_in_general(&mut ctx.again(), id, NO_LINK);
            return None;
        };
        let analytic = &self.analytic[link as usize];
        let (begins, accepted) = (analytic.begins(ctx.now), analytic.ring.tail());
        self.enter_analytic_link(ctx, link, id, packet.cursor, packet.bytes);
        let is_lost = self.analytic[link as usize].ring.tail() == accepted;
        Some(if is_lost { ctx.now } else { begins })
    }

    #[inline(always)]
    fn create<S, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        packet: NewPacket,
        content: &impl Content<B>,
    ) -> PacketId {
        let id = self.slab.insert(packet, content);
        ctx.monitor.created(ctx.now, id, self.slab.get(id));
        id
    }

    /// [`Fabric::next_arrives`] or [`Fabric::packet_arrives`], by the kind of [`Wake::Arrival`].
    #[inline(always)]
    pub fn arrive<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        link: u32,
        packet: PacketId,
    ) -> Option<PacketId> {
        if packet == PacketId::NEXT { self.next_arrives(ctx, link) } else { self.packet_arrives(ctx, link, packet) }
    }

    /// A packet is at the end of the link. Returns it if it has reached its endpoint: the caller
    /// reads it and then gives it back with [`Fabric::release`].
    #[inline(always)]
    pub fn packet_arrives<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        link: u32,
        packet: PacketId,
    ) -> Option<PacketId> {
        self.links[link as usize].arrived += 1;
        self.forward_in_general(&mut ctx.again(), packet, link)
    }

    /// [`Fabric::packet_arrives`] for [`PacketId::NEXT`]. No [`Departure`] follows from it: such a link is not the
    /// first of a packet that is announced.
    #[inline(always)]
    pub fn next_arrives<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        link: u32,
    ) -> Option<PacketId> {
        let (Transit { id, cursor, bytes, .. }, next) = self.analytic[link as usize].arrival();
        if let Some(at) = next {
            ctx.schedule.at(at, Wake::Arrival { link, packet: PacketId::NEXT });
        }
        let code = self.steps[cursor as usize];
        if let Some(next) = code.analytic_link() {
            self.enter_analytic_link(ctx, next, id, cursor, bytes);
            return None;
        }
        if code == Code::DELIVER {
            return Some(id);
        }
        self.slab.get_mut(id).cursor = cursor;
        self.forward_in_general(&mut ctx.again(), id, link)
    }

    #[inline(never)]
    fn forward_in_general<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        id: PacketId,
        came_by: u32,
    ) -> Option<PacketId> {
        self.forward(ctx, id, came_by).then_some(id)
    }

    /// The packet, whose step at `cursor` is the queue of an analytic link, enters it or is lost.
    #[inline(always)]
    pub(crate) fn enter_analytic_link<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        link: u32,
        id: PacketId,
        cursor: u32,
        bytes: u32,
    ) {
        debug_assert!(!self.slab.get(id).announce, "packet {id:?} leaves its first queue, and nothing tells of it");
        let at = ctx.now;
        self.enter_analytic_links::<false, _, _>(ctx, Entering { link, at, id, cursor: cursor + 1, bytes });
    }

    /// [`Fabric::enter_analytic_link`] for a link that processes each packet, or whose queue has to decide about this
    /// one.
    #[inline(never)]
    fn ask_analytic_links<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, entering: Entering) {
        if self.analytic[entering.link as usize].looks_singly() {
            self.enter_singly(ctx, entering);
        } else {
            self.enter_analytic_links::<true, _, _>(ctx, entering);
        }
    }

    /// Puts the packet on a link that processes each one. Such a link passes none on.
    #[inline(always)]
    fn enter_singly<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, entering: Entering) {
        let Entering { link, at, id, cursor, bytes } = entering;
        let analytic = &mut self.analytic[link as usize];
        if !analytic.try_reserve_singly() && !self.ask_queue(ctx, link, at, id, bytes) {
            return;
        }
        let Self { analytic, slab, identify, impairments, links, .. } = self;
        let (analytic, packet) = (&mut analytic[link as usize], slab.get(id));
        let late = |on_time| {
            let impairment = &mut impairments[links[link as usize].impairment as usize];
            impairment.delay(packet.endpoint, identify(&packet.body), on_time)
        };
        let meter = |begins, wire_bytes| ctx.monitor.link_sent(begins, link, id, packet, wire_bytes);
        let arrival = analytic.accept_singly((ctx.now, at), (id, cursor, bytes), late, meter);
        if analytic.ring.len() == 1 {
            ctx.schedule.at(arrival, Wake::Arrival { link, packet: PacketId::NEXT });
        }
    }

    /// Applies the queue of an analytic link to a packet, which may be marked or lost. False if it is lost.
    #[inline(never)]
    fn ask_queue<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        link: u32,
        at: Instant,
        id: PacketId,
        bytes: u32,
    ) -> bool {
        let queue = self.links[link as usize].queue;
        match self.analytic[link as usize].admit(at, bytes, || self.slab.get(id).header.ecn().is_ect()) {
            Ok(false) => {}
            Ok(true) => {
                self.slab.get_mut(id).header.set_ce();
                self.totals[queue as usize].marked += 1;
            }
            Err(reason) => {
                self.lose(ctx, id, reason, queue);
                return false;
            }
        }
        true
    }

    /// Takes the packet through links that pass it on, to the first that does not.
    #[inline(always)]
    fn enter_analytic_links<const ASK: bool, S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        entering: Entering,
    ) {
        let Entering { mut link, mut at, id, mut cursor, bytes } = entering;
        let mut has_to_ask = ASK;
        loop {
            let mut analytic = &mut self.analytic[link as usize];
            if !ASK && !analytic.try_reserve() {
                return self.ask_analytic_links(&mut ctx.again(), Entering { link, at, id, cursor, bytes });
            }
            if ASK && (has_to_ask || !analytic.try_reserve()) {
                if !has_to_ask && analytic.looks_singly() {
                    return self.enter_singly(ctx, Entering { link, at, id, cursor, bytes });
                }
                has_to_ask = false;
                if !self.ask_queue(ctx, link, at, id, bytes) {
                    return;
                }
                analytic = &mut self.analytic[link as usize];
            }
            let arrival = analytic.accept(ctx.now, at, id, cursor, bytes);
            if !analytic.passes() {
                if analytic.ring.len() == 1 {
                    ctx.schedule.at(arrival, Wake::Arrival { link, packet: PacketId::NEXT });
                }
                return;
            }
            at = arrival;
            match self.steps[cursor as usize].analytic_link() {
                Some(next) => link = next,
                None => unreachable!("an analytic link that passes packets on leads to another kind of step"),
            }
            cursor += 1;
        }
    }

    /// The discipline of the queue marks the packet.
    #[inline(never)]
    pub(crate) fn mark(&mut self, id: PacketId, queue: u32) {
        let packet = self.slab.get_mut(id);
        debug_assert!(packet.header.ecn().is_ect(), "a packet is marked that is not ECN-capable");
        packet.header.set_ce();
        self.totals[queue as usize].marked += 1;
    }

    #[cold]
    pub(crate) fn lose<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        id: PacketId,
        reason: DropReason,
        place: u32,
    ) {
        let packet = self.slab.get(id);
        let endpoint = packet.endpoint as usize;
        if packet.announce {
            self.departures.push_back(Departure { endpoint: packet.endpoint, bytes: packet.bytes });
        }
        ctx.monitor.dropped(ctx.now, reason, place, packet);
        if reason.place() == Place::Queue {
            self.totals[place as usize].dropped += 1;
        }
        if self.lost.len() <= endpoint {
            self.lost.resize(endpoint + 1, 0);
        }
        self.lost[endpoint] += 1;
        self.slab.remove(id);
    }

    /// The packet `id`, which has been delivered.
    #[inline]
    pub fn packet(&self, id: PacketId) -> &Packet<B> {
        self.slab.get(id)
    }

    /// The body of packet `id`, which has been delivered, for the caller that writes its marks there.
    #[inline]
    pub fn body_mut(&mut self, id: PacketId) -> &mut B {
        &mut self.slab.get_mut(id).body
    }

    /// Forgets a packet that has been delivered.
    #[inline]
    pub fn release(&mut self, id: PacketId) {
        self.slab.remove(id);
    }

    /// Whether [`Fabric::take_departure`] has something to report.
    #[inline(always)]
    pub fn has_departures(&self) -> bool {
        !self.departures.is_empty()
    }

    /// Announced departures since the last call, oldest first.
    #[inline]
    pub fn take_departure(&mut self) -> Option<Departure> {
        self.departures.pop_front()
    }
}

/// The packet has not come over a link, or its path does not depend on it.
pub(crate) const NO_LINK: u32 = u32::MAX;
