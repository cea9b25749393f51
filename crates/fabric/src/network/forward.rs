//! Forwards packets from one step of their path to the next.

use super::{Context, Fabric};
use crate::circuit::AtRoute;
use crate::link::UNIMPAIRED;
use crate::path::{Decoded, NO_STEP};
use crate::{DropReason, Monitor, PacketId, Schedule, Wake};

impl<B: Copy> Fabric<B> {
    /// Forwards the packet, which may have come over a link, to where it waits next. True if it is at its endpoint.
    #[inline]
    pub(crate) fn forward<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        id: PacketId,
        came_by: u32,
    ) -> bool {
        loop {
            let packet = self.slab.get_mut(id);
            match self.steps[packet.cursor as usize].decode() {
                Decoded::Analytic(link) => {
                    let (cursor, bytes) = (packet.cursor, packet.bytes);
                    self.enter_analytic_link(ctx, link, id, cursor, bytes);
                    return false;
                }
                Decoded::Queue(queue) => {
                    packet.cursor += 1;
                    self.enqueue(ctx, queue, id);
                    return false;
                }
                Decoded::RouteSwitch(index) => {
                    if !self.pass_route_switch(ctx, index, id) {
                        return false;
                    }
                }
                Decoded::Fork(index) => {
                    if !self.enter_fork(ctx, index, id) {
                        return false;
                    }
                }
                Decoded::Tails(index) => packet.cursor = self.forks[index as usize].tail(came_by),
                Decoded::Return(index) => {
                    packet.cursor += 1;
                    let queue = self.forks[index as usize].queue;
                    self.come_back(ctx, queue, id);
                    return false;
                }
                Decoded::Marker(index) => {
                    packet.header.add_marks(self.markers[index as usize].sets);
                    packet.cursor += 1;
                }
                Decoded::Pipe => {
                    packet.cursor += 1;
                    if self.enter_pipe(ctx, came_by, id) {
                        return false;
                    }
                }
                Decoded::Deliver => return true,
            }
        }
    }

    /// The last bit of the packet has left the link. False if its delay never changes: then the packet is at the end of
    /// the link now.
    #[inline(never)]
    fn enter_pipe<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, link: u32, id: PacketId) -> bool {
        let state = &mut self.links[link as usize];
        if state.impairment == UNIMPAIRED {
            return false;
        }
        let Some(arrival) = self.impairments[state.impairment as usize].enter_pipe(ctx.now) else { return false };
        // This was no arrival yet.
        state.arrived -= 1;
        ctx.schedule.at(arrival, Wake::Arrival { link, packet: id });
        true
    }

    /// Routes the packet to the alternative in force. False if it stays here.
    #[inline(never)]
    fn pass_route_switch<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        index: u32,
        id: PacketId,
    ) -> bool {
        let switch = &mut self.route_switches[index as usize];
        match switch.dark {
            None | Some(AtRoute::OldPath) => {
                let packet = self.slab.get_mut(id);
                packet.cursor = switch.current;
                switch.passed.count(packet.bytes);
                return true;
            }
            Some(AtRoute::Lose) => self.lose(ctx, id, DropReason::Night, index),
            Some(AtRoute::Hold) => {
                if (switch.held.len() as u64) < switch.hold_limit {
                    switch.held.push_back(id);
                } else {
                    self.lose(ctx, id, DropReason::HoldFull, index);
                }
            }
        }
        false
    }

    /// Puts the packet into the queue of a fork. True if that is full and the packet takes the overflow path.
    #[inline(never)]
    fn enter_fork<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        index: u32,
        id: PacketId,
    ) -> bool {
        let fork = &self.forks[index as usize];
        let (queue, overflow) = (fork.queue, fork.overflow);
        self.slab.get_mut(id).cursor += 1;
        if overflow == NO_STEP {
            self.enqueue(ctx, queue, id);
            return false;
        }
        if self.enqueue_if_it_fits(ctx, queue, id) {
            return false;
        }
        self.totals[queue as usize].overflowed += 1;
        self.slab.get_mut(id).cursor = overflow;
        true
    }
}
