//! Queueing and service: packets wait in queues, and free links pull them.
//!
//! Most queues are plain: one link serves them through an open gate and serves nothing else. The rest is the general
//! case below.

use super::{Context, Departure, Fabric};
use crate::circuit::Gate;
use crate::link::{SEVERAL, UNIMPAIRED};
use crate::queue::{Lane, NOT_PLAIN, Verdict};
use crate::{DropReason, Monitor, PacketId, Schedule, Wake};

impl<B: Copy> Fabric<B> {
    /// The link has sent its packet and pulls the next one.
    #[inline]
    pub fn transmission_complete<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, link: u32) {
        let state = &mut self.links[link as usize];
        state.awaited = false;
        let index = state.queue;
        if index == SEVERAL || self.queues[index as usize].sole_link != link {
            return self.pull_in_general(ctx, link);
        }
        let queue = &mut self.queues[index as usize];
        if let Some(id) = queue.plain_front() {
            let bytes = self.slab.get(id).bytes;
            queue.pop_plain(bytes);
            let next = queue.plain_front();
            let occupancy = queue.occupancy();
            ctx.monitor.queue_changed(ctx.now, index, occupancy.packets, occupancy.bytes);
            self.transmit(ctx, link, id);
            if let Some(next) = next {
                self.slab.prefetch(next);
                self.await_link(ctx, link);
            }
        }
    }

    /// Puts the packet into the queue or on an idle link, or loses it.
    #[inline(always)]
    pub(crate) fn enqueue<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        index: u32,
        id: PacketId,
    ) {
        if let Err(reason) = self.try_enqueue(ctx, index, id) {
            self.lose(ctx, id, reason, index);
        }
    }

    /// Like [`Fabric::enqueue`], but returns false if the queue is full: then nothing has happened to the packet.
    pub(crate) fn enqueue_if_it_fits<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        index: u32,
        id: PacketId,
    ) -> bool {
        // A queue whose discipline keeps the packets would lose others instead.
        let queue = &self.queues[index as usize];
        if queue.keeps_packets && self.idle_link(ctx, index).is_none() && !queue.has_room_for(self.slab.get(id).bytes) {
            return false;
        }
        match self.try_enqueue(ctx, index, id) {
            Ok(()) => true,
            Err(DropReason::QueueFull) => false,
            Err(reason) => {
                self.lose(ctx, id, reason, index);
                true
            }
        }
    }

    #[inline(always)]
    fn try_enqueue<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        index: u32,
        id: PacketId,
    ) -> Result<(), DropReason> {
        let link = self.queues[index as usize].sole_link;
        if link == NOT_PLAIN {
            return self.try_enqueue_in_general(ctx, index, id);
        }
        if self.links[link as usize].is_idle(ctx.now) {
            self.transmit(ctx, link, id);
            return Ok(());
        }
        self.wait(ctx, index, id)?;
        self.await_link(ctx, link);
        Ok(())
    }

    /// Puts the packet into the queue, unless limit or discipline refuse it.
    #[inline(always)]
    fn wait<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        index: u32,
        id: PacketId,
    ) -> Result<(), DropReason> {
        let queue = &mut self.queues[index as usize];
        let packet = self.slab.get(id);
        let is_marked = queue.admit(ctx.now, packet.bytes, packet.header.ecn().is_ect(), packet.endpoint)?;
        queue.push(id, packet.bytes);
        let occupancy = queue.occupancy();
        ctx.monitor.queue_changed(ctx.now, index, occupancy.packets, occupancy.bytes);
        if is_marked {
            self.mark(id, index);
        }
        Ok(())
    }

    /// Schedules a wake-up for when the link becomes free.
    #[inline(always)]
    pub(crate) fn await_link<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, link: u32) {
        let state = &mut self.links[link as usize];
        if !state.awaited {
            state.awaited = true;
            ctx.schedule.at(state.busy_until, Wake::TransmissionComplete { link });
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
        let impairment = link.impairment;
        if packet.announce {
            packet.announce = false;
            self.departures.push_back(Departure { endpoint: packet.endpoint, bytes: packet.bytes });
        }
        ctx.monitor.link_sent(ctx.now, index, id, packet, wire_bytes);
        if impairment != UNIMPAIRED {
            let (endpoint, identity) = (packet.endpoint, (self.identify)(&packet.body));
            match self.impairments[impairment as usize].pass(endpoint, identity, arrival) {
                Some(late) => arrival = late,
                None => return self.lose(ctx, id, DropReason::RandomLoss, index),
            }
        }
        ctx.schedule.at(arrival, Wake::Arrival { link: index, packet: id });
    }

    // What follows is the general case.

    #[inline(never)]
    fn try_enqueue_in_general<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        index: u32,
        id: PacketId,
    ) -> Result<(), DropReason> {
        let queue = &self.queues[index as usize];
        if queue.drops_arrivals {
            return Err(DropReason::GateClosed);
        }
        let Some(link) = self.idle_link(ctx, index) else {
            if queue.keeps_packets {
                self.keep(ctx, index, id);
            } else {
                self.wait(ctx, index, id)?;
                self.queues[index as usize].note_arrival(ctx.now);
            }
            self.now_waits(ctx, index);
            return Ok(());
        };
        let packet = self.slab.get(id);
        let (bytes, is_ect, flow) = (packet.bytes, packet.header.ecn().is_ect(), packet.endpoint);
        if queue.sees_every_arrival && self.queues[index as usize].admit_at_once(ctx.now, bytes, is_ect, flow)? {
            self.mark(id, index);
        }
        self.queues[index as usize].departs_at_once(ctx.now, bytes, is_ect);
        self.transmit(ctx, link, id);
        Ok(())
    }

    /// Puts the packet into a queue whose discipline stores the packets, and loses some if it is full now.
    fn keep<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, index: u32, id: PacketId) {
        let packet = self.slab.get(id);
        let is_ect = packet.header.ecn().is_ect();
        let queue = &mut self.queues[index as usize];
        queue.keep(ctx.now, id, packet.bytes, is_ect, packet.endpoint);
        self.evict(ctx, index, u32::MAX, DropReason::QueueFull);
        let occupancy = self.queues[index as usize].occupancy();
        ctx.monitor.queue_changed(ctx.now, index, occupancy.packets, occupancy.bytes);
    }

    /// Loses packets of a queue whose discipline stores them, at most `most` at a time, until the rest fits. True if
    /// any were lost.
    pub(crate) fn evict<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        index: u32,
        most: u32,
        reason: DropReason,
    ) -> bool {
        let mut has_lost = false;
        loop {
            let lost = self.queues[index as usize].evict(most);
            if lost.is_empty() {
                break;
            }
            has_lost = true;
            for id in lost {
                self.lose(ctx, id, reason, index);
            }
        }
        if has_lost {
            let queue = &self.queues[index as usize];
            let gates = &mut self.gates[queue.gates_start as usize..queue.gates_end as usize];
            gates.iter_mut().for_each(|gate| gate.recount(|number| queue.kept_before(number)));
        }
        has_lost
    }

    /// The packet, which left this queue before, is back and waits among the returned ones, to which neither the
    /// queue's limit nor its discipline applies.
    #[inline(never)]
    pub(crate) fn come_back<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        index: u32,
        id: PacketId,
    ) {
        self.totals[index as usize].returned += 1;
        if self.queues[index as usize].drops_arrivals {
            return self.lose(ctx, id, DropReason::GateClosed, index);
        }
        if let Some(link) = self.idle_link(ctx, index) {
            return self.transmit(ctx, link, id);
        }
        let queue = &mut self.queues[index as usize];
        if !queue.push_returned(id, self.slab.get(id).bytes) {
            return self.lose(ctx, id, DropReason::ReturnFull, index);
        }
        let occupancy = queue.occupancy();
        ctx.monitor.queue_changed(ctx.now, index, occupancy.packets, occupancy.bytes);
        self.now_waits(ctx, index);
    }

    /// The first link that could immediately take a packet from the queue, in which nothing waits.
    fn idle_link<S, M>(&self, ctx: &Context<'_, S, M>, index: u32) -> Option<u32> {
        let queue = &self.queues[index as usize];
        let is_idle = |gate: &&Gate| gate.takes_arrivals() && self.links[gate.link as usize].is_idle(ctx.now);
        let gates = &self.gates[queue.gates_start as usize..queue.gates_end as usize];
        gates.iter().find(is_idle).map(|gate| gate.link).filter(|_| queue.is_empty())
    }

    /// A packet has begun to wait: its links will check the queue when they are free.
    fn now_waits<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, index: u32) {
        self.update_ready(index);
        let queue = &self.queues[index as usize];
        for gate in queue.gates_start as usize..queue.gates_end as usize {
            if self.gates[gate].takes_arrivals() {
                self.await_link(ctx, self.gates[gate].link);
            }
        }
    }

    /// Notes, at links that serve other queues as well, whether this one has a packet for them.
    pub(crate) fn update_ready(&mut self, index: u32) {
        let queue = &self.queues[index as usize];
        for gate in &self.gates[queue.gates_start as usize..queue.gates_end as usize] {
            if let Some(place) = gate.place {
                self.schedulers[gate.link as usize].set_ready(place, !queue.is_empty() && gate.is_open());
            }
        }
    }

    /// A free link takes the next packet from the queues whose gates to it are open. Packets that the discipline drops
    /// then cost the link no time: it takes the next one.
    #[inline(never)]
    pub(crate) fn pull_in_general<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, link: u32) {
        let sole = self.links[link as usize].queue;
        loop {
            let next = if sole == SEVERAL {
                self.schedulers[link as usize].take()
            } else {
                Some(sole).filter(|&queue| self.may_serve(link, queue))
            };
            let Some(index) = next else { return };
            let (id, verdict) = self.take_out(ctx, link, index);
            match verdict {
                Verdict::Drop => {
                    self.lose(ctx, id, DropReason::EarlyDrop, index);
                    continue;
                }
                Verdict::Mark => self.mark(id, index),
                Verdict::Accept => {}
            }
            self.transmit(ctx, link, id);
            break;
        }
        let is_any_ready = match sole {
            SEVERAL => self.schedulers[link as usize].is_any_ready(),
            queue => self.may_serve(link, queue),
        };
        if is_any_ready {
            self.await_link(ctx, link);
        }
    }

    /// Removes the next packet for the link from a queue that is ready, and applies the discipline to it.
    fn take_out<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        link: u32,
        index: u32,
    ) -> (PacketId, Verdict) {
        let queue = &mut self.queues[index as usize];
        let gates = &mut self.gates[queue.gates_start as usize..queue.gates_end as usize];
        let Some(gate) = gates.iter().find(|gate| gate.link == link) else { unreachable!("link {link} has no gate") };
        let lane = gate.serves(queue.lanes());
        let slab = &self.slab;
        let is_kept = queue.keeps_packets && lane == Lane::Others;
        let taken = if is_kept {
            queue.next(ctx.now, gate.passes_before())
        } else {
            queue.pop(lane, |id| slab.get(id).bytes).map(|(id, came)| {
                let packet = slab.get(id);
                (id, queue.departure(ctx.now, came, packet.bytes, packet.header.ecn().is_ect()))
            })
        };
        let Some((id, verdict)) = taken else { unreachable!("queue {index} is ready and empty") };
        for gate in gates {
            if is_kept {
                gate.recount(|number| queue.kept_before(number));
            } else {
                gate.has_left(lane);
            }
        }
        self.on_shrunk(ctx, index);
        (id, verdict)
    }

    /// Updates the monitor, the discipline and the scheduler after packets have left the queue.
    pub(crate) fn on_shrunk<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, index: u32) {
        let queue = &mut self.queues[index as usize];
        let occupancy = queue.occupancy();
        ctx.monitor.queue_changed(ctx.now, index, occupancy.packets, occupancy.bytes);
        if queue.is_empty() && queue.sees_every_arrival {
            queue.discipline().emptied(ctx.now);
        }
        self.update_ready(index);
    }

    /// Whether the queue has a packet and an open gate to the link.
    fn may_serve(&self, link: u32, queue: u32) -> bool {
        let queue = &self.queues[queue as usize];
        let gates = &self.gates[queue.gates_start as usize..queue.gates_end as usize];
        !queue.is_empty() && gates.iter().any(|gate| gate.link == link && gate.is_open())
    }
}
