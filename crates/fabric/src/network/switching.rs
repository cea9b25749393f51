//! Route switches that change their path, and gates that open and close.

use super::{Context, Fabric, NO_LINK};
use crate::circuit::{AtGate, AtRoute, Gate, GateState};
use crate::queue::NOT_PLAIN;
use crate::{DropReason, Monitor, Schedule};

impl<B: Copy> Fabric<B> {
    pub(crate) fn set_route<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        index: u32,
        alternative: u32,
    ) {
        let switch = &mut self.route_switches[index as usize];
        switch.current = switch.alternatives[alternative as usize];
        switch.dark = None;
        let (current, mut held) = (switch.current, std::mem::take(&mut switch.held));
        for &id in &held {
            let packet = self.slab.get_mut(id);
            packet.cursor = current;
            self.route_switches[index as usize].passed.count(packet.bytes);
            self.forward(ctx, id, NO_LINK);
        }
        // Keeps the buffer for the next night.
        held.clear();
        self.route_switches[index as usize].held = held;
    }

    pub(crate) fn darken(&mut self, index: u32, how: AtRoute) {
        self.route_switches[index as usize].dark = Some(how);
    }

    pub(crate) fn open_gate<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, index: u32, link: u32) {
        for gate in self.gates_of(index) {
            if gate.link == link {
                gate.state = GateState::Open;
            } else if gate.state == GateState::Parting {
                gate.state = GateState::Closed;
            }
        }
        self.queues[index as usize].drops_arrivals = false;
        self.update_sole_link(index);
        self.update_ready(index);
        if self.queues[index as usize].is_empty() {
            return;
        }
        if self.links[link as usize].is_idle(ctx.now) {
            self.pull_in_general(ctx, link);
        } else {
            self.await_link(ctx, link);
        }
    }

    pub(crate) fn close_gate<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        index: u32,
        link: u32,
        how: AtGate,
    ) {
        let queue = &self.queues[index as usize];
        let (waiting, next) = (queue.lanes(), queue.next_kept());
        for gate in self.gates_of(index).iter_mut().filter(|gate| gate.link == link) {
            gate.close(how, waiting, next);
        }
        self.update_sole_link(index);
        self.update_ready(index);
        if how == AtGate::Empty && !self.gates_of(index).iter().any(|gate| gate.is_open()) {
            self.empty_queue(ctx, index);
        }
    }

    fn empty_queue<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, index: u32) {
        self.queues[index as usize].drops_arrivals = true;
        let had_packets = !self.queues[index as usize].is_empty();
        for id in self.queues[index as usize].empty() {
            self.lose(ctx, id, DropReason::GateClosed, index);
        }
        loop {
            let (queue, slab) = (&mut self.queues[index as usize], &self.slab);
            let Some((id, _)) = queue.pop(queue.lanes().first(), |id| slab.get(id).bytes) else { break };
            self.lose(ctx, id, DropReason::GateClosed, index);
        }
        if had_packets {
            self.on_shrunk(ctx, index);
        }
    }

    pub(crate) fn gates_of(&mut self, queue: u32) -> &mut [Gate] {
        let queue = &self.queues[queue as usize];
        &mut self.gates[queue.gates_start as usize..queue.gates_end as usize]
    }

    /// Determines whether the queue is plain: exactly one gate is open, none has a history, and the link serves nothing
    /// else.
    pub(crate) fn update_sole_link(&mut self, index: u32) {
        let mut open = self.gates_of(index).iter().filter(|gate| gate.state != GateState::Closed);
        let sole = match (open.next(), open.next()) {
            (Some(gate), None) if gate.state == GateState::Open && gate.place.is_none() => gate.link,
            _ => NOT_PLAIN,
        };
        let queue = &mut self.queues[index as usize];
        queue.sole_link = if queue.may_be_plain() { sole } else { NOT_PLAIN };
    }
}
