//! Applies the actions of timelines and controllers to the fabric.

use super::{Downtime, Gate, GateState};
use crate::control::Action;
use crate::queue::NOT_PLAIN;
use crate::{Context, DropReason, Fabric, Monitor, Schedule};

impl<B: Copy> Fabric<B> {
    /// Changes the fabric now.
    ///
    /// # Panics
    /// If a gate is to change at a queue that is a lane: it would change nothing.
    pub fn apply<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, action: &Action) {
        match *action {
            Action::SetRoute { branch, alternative } => self.set_route(ctx, branch, alternative),
            Action::Darken { branch, downtime } => self.branches[branch as usize].dark = Some(downtime),
            Action::OpenGate { queue, link } => self.open_gate(ctx, queue, link),
            Action::CloseGate { queue, link, downtime } => self.close_gate(ctx, queue, link, downtime),
        }
    }

    fn set_route<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, index: u32, alternative: u32) {
        let branch = &mut self.branches[index as usize];
        branch.current = branch.alternatives[alternative as usize];
        branch.dark = None;
        let (current, held) = (branch.current, std::mem::take(&mut branch.held));
        for &id in &held {
            self.slab.get_mut(id).cursor = current;
            self.forward(ctx, id);
        }
        // Keeps the buffer for the next night.
        let mut held = held;
        held.clear();
        self.branches[index as usize].held = held;
    }

    fn open_gate<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, index: u32, link: u32) {
        self.must_have_gates(index);
        for gate in self.gates_of(index) {
            if gate.link == link {
                gate.state = GateState::Open;
            } else if gate.state == GateState::Parting {
                gate.state = GateState::Closed;
            }
        }
        self.queues[index as usize].drops_arrivals = false;
        self.update_sole_link(index);
        if self.queues[index as usize].is_empty() {
            return;
        }
        if self.links[link as usize].is_idle(ctx.now) {
            self.pull_through_gates(ctx, link);
        } else {
            self.await_link(ctx, link);
        }
    }

    fn close_gate<S: Schedule, M: Monitor<B>>(
        &mut self,
        ctx: &mut Context<'_, S, M>,
        index: u32,
        link: u32,
        downtime: Downtime,
    ) {
        self.must_have_gates(index);
        let waiting = self.queues[index as usize].occupancy().packets;
        let state = match downtime {
            Downtime::Drop | Downtime::Hold => GateState::Closed,
            Downtime::Drain if waiting > 0 => GateState::Draining(waiting),
            Downtime::Drain => GateState::Closed,
            Downtime::MakeBeforeBreak => GateState::Parting,
        };
        for gate in self.gates_of(index) {
            if gate.link == link && gate.is_open() {
                gate.state = state;
            }
        }
        self.update_sole_link(index);
        if downtime == Downtime::Drop && !self.gates_of(index).iter().any(|gate| gate.is_open()) {
            self.empty_queue(ctx, index);
        }
    }

    fn empty_queue<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, index: u32) {
        self.queues[index as usize].drops_arrivals = true;
        let had_packets = !self.queues[index as usize].is_empty();
        while let Some(id) = self.queues[index as usize].front() {
            self.queues[index as usize].pop(self.slab.get(id).bytes);
            self.lose(ctx, id, DropReason::GateClosed, index);
        }
        if had_packets {
            ctx.monitor.queue_changed(ctx.now, index, 0, 0);
        }
    }

    /// The times of a lane's packets are settled when they arrive; no gate can stop them afterwards.
    fn must_have_gates(&self, queue: u32) {
        assert!(!self.is_lane(queue), "a gate changes at queue {queue}, which nobody watches");
    }

    fn gates_of(&mut self, queue: u32) -> &mut [Gate] {
        let queue = &self.queues[queue as usize];
        &mut self.gates[queue.gates_start as usize..queue.gates_end as usize]
    }

    /// Finds out whether the queue has exactly one gate that is open, and none with a history.
    pub(crate) fn update_sole_link(&mut self, index: u32) {
        let mut open = self.gates_of(index).iter().filter(|gate| gate.state != GateState::Closed);
        let sole = match (open.next(), open.next()) {
            (Some(gate), None) if gate.state == GateState::Open => gate.link,
            _ => NOT_PLAIN,
        };
        self.queues[index as usize].sole_link = sole;
    }
}
