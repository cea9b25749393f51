//! The fabric itself: packets enter, are forwarded hop by hop, and come out at an endpoint.

use std::collections::VecDeque;

use daybreak_units::Instant;

use crate::circuit::{Downtime, Gate, GateState};
use crate::lane::{Lane, Transit};
use crate::link::{CERTAIN, Chance, Link, LinkConfig, SEVERAL};
use crate::path::{self, Branch, BranchConfig, Code, Decoded, Step};
use crate::queue::{Kind, Limits, NOT_PLAIN, Queue, Verdict};
use crate::{DropReason, Monitor, Packet, PacketId, Schedule, Slab, Wake};

/// A queue at the start of a run. All its gates are open.
#[derive(Clone, Debug)]
pub struct QueueConfig {
    /// Name in [`crate::queue::REGISTRY`].
    pub kind: String,
    /// What it may hold.
    pub limits: Limits,
    /// Links that may serve it, in the order in which they are tried.
    pub served_by: Vec<u32>,
    /// Somebody looks at each packet here or changes the gates: the monitor is told of every packet
    /// that enters, leaves or crosses the link at its time, and gates, announced packets and random
    /// loss work. A queue that is not watched, with a link of its own that neither loses nor
    /// delays at random, is served with half the events or less.
    pub watched: bool,
}

/// What every call is told: the time, where to ask for further calls, and who watches.
pub struct Context<'a, S, M> {
    /// Now.
    pub now: Instant,
    /// Takes the fabric's wishes to be called.
    pub schedule: &'a mut S,
    /// Watches.
    pub monitor: &'a mut M,
}

impl<S, M> Context<'_, S, M> {
    /// The same again, for a call that is not inlined: this one may then stay in registers.
    #[inline(always)]
    fn again(&mut self) -> Context<'_, S, M> {
        Context { now: self.now, schedule: self.schedule, monitor: self.monitor }
    }
}

/// A packet that enters the fabric.
#[derive(Clone, Copy, Debug)]
pub struct NewPacket {
    /// Where it will be delivered.
    pub endpoint: u32,
    /// Start of its path: see [`Fabric::add_path`].
    pub cursor: u32,
    /// IP length.
    pub bytes: u32,
    /// A [`Departure`] shall tell when it leaves its first queue.
    pub announce: bool,
}

/// A packet that was announced has left its first queue: it is on the wire, or lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Where the packet is going.
    pub endpoint: u32,
    /// Its IP length.
    pub bytes: u32,
}

/// The network between the endpoints.
#[derive(Debug)]
pub struct Fabric<B> {
    pub(crate) slab: Slab<B>,
    pub(crate) steps: Vec<Code>,
    pub(crate) queues: Vec<Queue>,
    pub(crate) gates: Vec<Gate>,
    pub(crate) links: Vec<Link>,
    /// By link; a link that is not a lane has one that does not exist.
    pub(crate) lanes: Vec<Lane>,
    /// The link of each queue that is a lane.
    lane_of_queue: Vec<Option<u32>>,
    /// Queues that each link serves, where it does not serve just one; and whose turn it is.
    shared: Vec<(Vec<u32>, u32)>,
    pub(crate) chances: Vec<Chance>,
    pub(crate) branches: Vec<Branch>,
    departures: VecDeque<Departure>,
    /// Packets lost, by endpoint.
    pub(crate) lost: Vec<u64>,
}

impl<B: Copy> Fabric<B> {
    /// A fabric with room for so many `packets` before it has to move them. The links' random
    /// streams are those of the run's `seed`.
    ///
    /// # Panics
    /// If the configuration names a queue kind or a link that does not exist.
    pub fn new(
        links: &[LinkConfig],
        queues: &[QueueConfig],
        branches: &[BranchConfig],
        seed: u64,
        packets: usize,
    ) -> Self {
        let mut fabric = Self {
            slab: Slab::with_capacity(packets),
            steps: Vec::new(),
            queues: Vec::with_capacity(queues.len()),
            gates: Vec::new(),
            links: Vec::with_capacity(links.len()),
            lanes: Vec::with_capacity(links.len()),
            lane_of_queue: vec![None; queues.len()],
            shared: vec![(Vec::new(), 0); links.len()],
            chances: Vec::new(),
            branches: Vec::new(),
            departures: VecDeque::new(),
            lost: Vec::new(),
        };
        for config in links {
            let mut chance = CERTAIN;
            if let Some(random) = Chance::new(config, seed) {
                chance = fabric.chances.len() as u32;
                fabric.chances.push(random);
            }
            fabric.links.push(Link::new(config, chance));
        }
        for (index, config) in queues.iter().enumerate() {
            let start = fabric.gates.len() as u32;
            for &link in &config.served_by {
                fabric.gates.push(Gate { link, state: GateState::Open });
                fabric.shared[link as usize].0.push(index as u32);
            }
            let queue = Queue::new(&config.kind, config.limits, start..fabric.gates.len() as u32);
            fabric.queues.push(queue.unwrap_or_else(|| panic!("queue kind \"{}\" is not registered", config.kind)));
            fabric.update_sole_link(index as u32);
        }
        for (link, (queues, _)) in fabric.links.iter_mut().zip(&fabric.shared) {
            link.queue = if let [queue] = queues[..] { queue } else { SEVERAL };
        }
        fabric.make_lanes(links, queues);
        for config in branches {
            let alternatives: Vec<u32> = config
                .alternatives
                .iter()
                .map(|steps| path::append(&mut fabric.steps, steps, &fabric.lane_of_queue))
                .collect();
            fabric.branches.push(Branch {
                current: alternatives[config.initial as usize],
                alternatives,
                dark: None,
                held: Default::default(),
                hold_limit: config.hold_limit.unwrap_or(u64::MAX),
            });
        }
        fabric
    }

    /// Queues and links that have only each other, and that nobody watches, become lanes.
    fn make_lanes(&mut self, links: &[LinkConfig], queues: &[QueueConfig]) {
        let unused = |config| Lane::new(config, Kind::default(), false);
        self.lanes = links.iter().map(unused).collect();
        for (index, config) in queues.iter().enumerate() {
            let [link] = config.served_by[..] else { continue };
            let state = &self.links[link as usize];
            if !config.watched
                && state.queue == index as u32
                && state.chance == CERTAIN
                && let Some(kind) = Kind::find(&config.kind, config.limits)
            {
                self.lanes[link as usize] = Lane::new(&links[link as usize], kind, true);
                self.lane_of_queue[index] = Some(link);
            }
        }
    }

    /// Whether a queue and its link are a lane.
    pub(crate) fn is_lane(&self, queue: u32) -> bool {
        self.lane_of_queue[queue as usize].is_some()
    }

    /// To be called when all paths have been added and no packet is under way: finds lanes that only
    /// one other lane feeds, so that packets need no event in between. No packet may have more than
    /// `largest_packet` bytes (IP length) then.
    pub fn join_lanes(&mut self, largest_packet: u32) {
        #[derive(Clone, Copy, PartialEq)]
        enum Feeder {
            Nobody,
            Lane(u32),
            Others,
        }
        let mut feeders = vec![Feeder::Nobody; self.lanes.len()];
        let mut before = Feeder::Others;
        for code in &self.steps {
            let Decoded::Lane(link) = code.decode() else {
                before = Feeder::Others;
                continue;
            };
            let feeder = &mut feeders[link as usize];
            *feeder = if *feeder == Feeder::Nobody || *feeder == before { before } else { Feeder::Others };
            before = Feeder::Lane(link);
        }
        for lane in &mut self.lanes {
            lane.expect_at_most(largest_packet);
        }
        // A lane passes packets on if each of them goes to a lane that it alone feeds.
        let mut passes: Vec<bool> = self.lanes.iter().map(|lane| lane.exists).collect();
        for pair in self.steps.windows(2) {
            let Decoded::Lane(link) = pair[0].decode() else { continue };
            passes[link as usize] &= match pair[1].decode() {
                Decoded::Lane(next) => {
                    let lane = &self.lanes[link as usize];
                    feeders[next as usize] == Feeder::Lane(link)
                        && self.lanes[next as usize].keeps_up_with(lane, largest_packet)
                }
                _ => false,
            };
        }
        for link in self.steps.iter().filter_map(|code| code.lane()) {
            if passes[link as usize] {
                self.lanes[link as usize].make_pass();
            }
        }
    }

    /// Adds a path and returns the cursor of its first step, for [`Fabric::send`].
    ///
    /// # Panics
    /// If the path is empty.
    pub fn add_path(&mut self, steps: &[Step]) -> u32 {
        path::append(&mut self.steps, steps, &self.lane_of_queue)
    }

    /// Makes a packet and puts it on its path.
    #[inline(always)]
    pub fn send<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, packet: NewPacket, body: &B) {
        let NewPacket { endpoint, cursor, bytes, announce } = packet;
        let id = self.slab.insert(endpoint, cursor, bytes, announce, body);
        ctx.monitor.created(ctx.now, id, endpoint, body);
        if let Some(link) = self.steps[cursor as usize].lane() {
            return self.enter_lane(ctx, link, id, cursor, bytes);
        }
        let delivered = self.forward_in_general(&mut ctx.again(), id);
        debug_assert!(delivered.is_none(), "a path without a queue was added");
    }

    /// [`Fabric::next_arrives`] or [`Fabric::packet_arrives`], as a [`Wake::Arrival`] says.
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
        self.forward_in_general(&mut ctx.again(), packet)
    }

    /// The same for [`PacketId::NEXT`]. No [`Departure`] follows from it: such a link is not the first
    /// of a packet that is announced.
    #[inline(always)]
    pub fn next_arrives<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        link: u32,
    ) -> Option<PacketId> {
        let (Transit { id, cursor, bytes, .. }, next) = self.lanes[link as usize].arrival();
        if let Some(at) = next {
            ctx.schedule.at(at, Wake::Arrival { link, packet: PacketId::NEXT });
        }
        let code = self.steps[cursor as usize];
        if let Some(next) = code.lane() {
            self.enter_lane(ctx, next, id, cursor, bytes);
            return None;
        }
        if code == Code::DELIVER {
            return Some(id);
        }
        self.slab.get_mut(id).cursor = cursor;
        self.forward_in_general(&mut ctx.again(), id)
    }

    #[inline(never)]
    fn forward_in_general<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        id: PacketId,
    ) -> Option<PacketId> {
        self.forward(ctx, id).then_some(id)
    }

    /// The packet, whose step at `cursor` is the lane, enters it or is lost.
    #[inline(always)]
    fn enter_lane<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        mut link: u32,
        id: PacketId,
        mut cursor: u32,
        bytes: u32,
    ) {
        debug_assert!(!self.slab.get(id).announce, "nobody watches when packet {id:?} leaves its first queue");
        let mut at = ctx.now;
        loop {
            cursor += 1;
            let lane = &mut self.lanes[link as usize];
            let Ok(arrival) = lane.accept(ctx.now, at, id, cursor, bytes) else {
                return self.lose(&mut ctx.again(), id, DropReason::QueueFull, self.links[link as usize].queue);
            };
            if !lane.passes() {
                if lane.ring.len() == 1 {
                    ctx.schedule.at(arrival, Wake::Arrival { link, packet: PacketId::NEXT });
                }
                return;
            }
            at = arrival;
            match self.steps[cursor as usize].lane() {
                Some(next) => link = next,
                None => unreachable!("a lane that passes does not always lead to a lane"),
            }
        }
    }

    /// The link has sent its packet and pulls the next one.
    #[inline]
    pub fn link_free<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, link: u32) {
        let state = &mut self.links[link as usize];
        state.awaited = false;
        let index = state.queue;
        if index == SEVERAL || self.queues[index as usize].sole_link != link {
            return self.pull_through_gates(ctx, link);
        }
        let queue = &mut self.queues[index as usize];
        if let Some(id) = queue.front() {
            let bytes = self.slab.get(id).bytes;
            queue.pop(bytes);
            let next = queue.front();
            let occupancy = queue.occupancy();
            ctx.monitor.queue_changed(ctx.now, index, occupancy.packets, occupancy.bytes);
            self.transmit(ctx, link, id);
            if let Some(next) = next {
                self.slab.prefetch(next);
                self.await_link(ctx, link);
            }
        }
    }

    /// The packet `id`, which has been delivered.
    #[inline]
    pub fn packet(&self, id: PacketId) -> &Packet<B> {
        self.slab.get(id)
    }

    /// Forgets a packet that has been delivered.
    #[inline]
    pub fn release(&mut self, id: PacketId) {
        self.slab.remove(id);
    }

    /// Whether [`Fabric::take_departure`] has something to tell.
    #[inline(always)]
    pub fn has_departures(&self) -> bool {
        !self.departures.is_empty()
    }

    /// Announced departures since the last call, oldest first.
    #[inline]
    pub fn take_departure(&mut self) -> Option<Departure> {
        self.departures.pop_front()
    }

    /// Takes the packet one step further along its path. True when it is at its endpoint.
    #[inline]
    pub(crate) fn forward<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, id: PacketId) -> bool {
        loop {
            let packet = self.slab.get_mut(id);
            match self.steps[packet.cursor as usize].decode() {
                Decoded::Lane(link) => {
                    let (cursor, bytes) = (packet.cursor, packet.bytes);
                    self.enter_lane(ctx, link, id, cursor, bytes);
                    return false;
                }
                Decoded::Queue(queue) => {
                    packet.cursor += 1;
                    self.enqueue(ctx, queue, id);
                    return false;
                }
                Decoded::Branch(branch) => {
                    if !self.pass_branch(ctx, branch, id) {
                        return false;
                    }
                }
                Decoded::Deliver => return true,
            }
        }
    }

    /// Lets the packet take the alternative in force. False if it stays here.
    #[inline(never)]
    fn pass_branch<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        index: u32,
        id: PacketId,
    ) -> bool {
        let branch = &mut self.branches[index as usize];
        match branch.dark {
            None | Some(Downtime::MakeBeforeBreak) => {
                self.slab.get_mut(id).cursor = branch.current;
                return true;
            }
            Some(Downtime::Drop) => self.lose(ctx, id, DropReason::Night, index),
            Some(Downtime::Hold | Downtime::Drain) => {
                if (branch.held.len() as u64) < branch.hold_limit {
                    branch.held.push_back(id);
                } else {
                    self.lose(ctx, id, DropReason::HoldFull, index);
                }
            }
        }
        false
    }

    #[inline(always)]
    fn enqueue<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, index: u32, id: PacketId) {
        let link = self.queues[index as usize].sole_link;
        if link == NOT_PLAIN {
            return self.enqueue_before_gates(ctx, index, id);
        }
        if self.links[link as usize].is_idle(ctx.now) {
            return self.transmit(ctx, link, id);
        }
        if self.wait(ctx, index, id) {
            self.await_link(ctx, link);
        }
    }

    /// Puts the packet into the queue. False if it was lost.
    #[inline(always)]
    fn wait<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, index: u32, id: PacketId) -> bool {
        let queue = &mut self.queues[index as usize];
        if queue.push(id, self.slab.get(id).bytes) == Verdict::Drop {
            self.lose(ctx, id, DropReason::QueueFull, index);
            return false;
        }
        let occupancy = queue.occupancy();
        ctx.monitor.queue_changed(ctx.now, index, occupancy.packets, occupancy.bytes);
        true
    }

    /// Makes sure that somebody calls when the link is free.
    #[inline(always)]
    pub(crate) fn await_link<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, link: u32) {
        let state = &mut self.links[link as usize];
        if !state.awaited {
            state.awaited = true;
            ctx.schedule.at(state.busy_until, Wake::LinkFree { link });
        }
    }

    /// Starts to send the packet on a link that is free.
    #[inline(always)]
    fn transmit<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, index: u32, id: PacketId) {
        let link = &mut self.links[index as usize];
        let packet = self.slab.get_mut(id);
        let wire_bytes = packet.bytes + link.framing_bytes;
        link.busy_until = ctx.now + link.byte_time.of(wire_bytes);
        link.packets += 1;
        link.bytes += u64::from(wire_bytes);
        let mut arrival = link.busy_until + link.delay;
        let chance = link.chance;
        if packet.announce {
            packet.announce = false;
            self.departures.push_back(Departure { endpoint: packet.endpoint, bytes: packet.bytes });
        }
        ctx.monitor.link_sent(ctx.now, index, packet, wire_bytes);
        if chance != CERTAIN {
            let chance = &mut self.chances[chance as usize];
            if chance.loses() {
                return self.lose(ctx, id, DropReason::RandomLoss, index);
            }
            arrival = chance.late(arrival);
        }
        ctx.schedule.at(arrival, Wake::Arrival { link: index, packet: id });
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
        if self.lost.len() <= endpoint {
            self.lost.resize(endpoint + 1, 0);
        }
        self.lost[endpoint] += 1;
        self.slab.remove(id);
    }

    // What follows is the general case: queues behind several gates or a closed one, links that
    // serve several queues.

    #[inline(never)]
    fn enqueue_before_gates<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        index: u32,
        id: PacketId,
    ) {
        let queue = &self.queues[index as usize];
        if queue.drops_arrivals {
            return self.lose(ctx, id, DropReason::GateClosed, index);
        }
        // A draining gate is for those who were there before the night.
        let usable = |gate: &Gate| matches!(gate.state, GateState::Open | GateState::Parting);
        let gates = queue.gates_start as usize..queue.gates_end as usize;
        let idle = self.gates[gates.clone()]
            .iter()
            .find(|gate| usable(gate) && self.links[gate.link as usize].is_idle(ctx.now))
            .map(|gate| gate.link);
        if let Some(link) = idle.filter(|_| queue.is_empty()) {
            return self.transmit(ctx, link, id);
        }
        if self.wait(ctx, index, id) {
            for gate in gates {
                if usable(&self.gates[gate]) {
                    self.await_link(ctx, self.gates[gate].link);
                }
            }
        }
    }

    /// A link that is free takes a packet from the queues whose gates to it are open, in turn.
    #[inline(never)]
    pub(crate) fn pull_through_gates<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, link: u32) {
        let Some(index) = self.next_queue(link) else { return };
        let queue = &mut self.queues[index as usize];
        let Some(id) = queue.front() else { return };
        queue.pop(self.slab.get(id).bytes);
        let occupancy = queue.occupancy();
        for gate in &mut self.gates[queue.gates_start as usize..queue.gates_end as usize] {
            if let GateState::Draining(left) = gate.state {
                gate.state = if left > 1 { GateState::Draining(left - 1) } else { GateState::Closed };
            }
        }
        ctx.monitor.queue_changed(ctx.now, index, occupancy.packets, occupancy.bytes);
        self.shared[link as usize].1 += 1;
        self.transmit(ctx, link, id);
        if self.next_queue(link).is_some() {
            self.await_link(ctx, link);
        }
    }

    /// The queue that the link serves next; round robin where several wait.
    fn next_queue(&mut self, link: u32) -> Option<u32> {
        let (queues, turn) = &mut self.shared[link as usize];
        let count = queues.len();
        let turn = *turn as usize;
        let ready = (turn..turn + count).find(|&position| {
            let position = position % count;
            let queue = &self.queues[queues[position] as usize];
            let gates = &self.gates[queue.gates_start as usize..queue.gates_end as usize];
            !queue.is_empty() && gates.iter().any(|gate| gate.link == link && gate.is_open())
        })?;
        let queue = queues[ready % count];
        self.shared[link as usize].1 = (ready % count) as u32;
        Some(queue)
    }
}
