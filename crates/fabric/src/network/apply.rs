//! Applies the actions of timelines and controllers to the fabric.

use daybreak_units::{ByteTime, Duration, Rate};

use super::{Context, Fabric};
use crate::control::Action;
use crate::impairment::Impairment;
use crate::link::SEVERAL;
use crate::queue::Limits;
use crate::{DropReason, Monitor, Schedule};

impl<B: Copy> Fabric<B> {
    /// Changes the fabric now.
    ///
    /// # Panics
    /// If what the action changes is not among the changes declared when the fabric was made, which may therefore have
    /// treated it as constant.
    pub fn apply<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, action: &Action) {
        assert!(
            self.changes.contains(&action.change()),
            "{action:?} is applied, but the fabric was not told of such a change when it was made"
        );
        match *action {
            Action::SetRoute { route_switch, alternative } => self.set_route(ctx, route_switch, alternative),
            Action::Darken { route_switch, downtime } => self.darken(route_switch, downtime.effect().at_route),
            Action::OpenGate { queue, link } => self.open_gate(ctx, queue, link),
            Action::CloseGate { queue, link, downtime } => self.close_gate(ctx, queue, link, downtime.effect().at_gate),
            Action::SetLimit { queue, packets, bytes } => self.set_limit(ctx, queue, Limits { packets, bytes }),
            Action::SetRate { link, rate_bps } => self.set_rate(link, Rate::from_bps(rate_bps)),
            Action::SetDelay { link, delay_ps } => self.impairment_of(link).set_delay(Duration::from_ps(delay_ps)),
            Action::SetLoss { link, loss_ppb } => self.impairment_of(link).set_loss(loss_ppb),
            Action::SetParameter { queue, ref parameter, value } => {
                self.queues[queue as usize].set_parameter(parameter, value);
            }
            Action::SetMark { marker, on } => {
                let marker = &mut self.markers[marker as usize];
                marker.sets = if on { marker.bit } else { 0 };
            }
        }
    }

    fn set_limit<S: Schedule, M: Monitor<B>>(&mut self, ctx: &mut Context<'_, S, M>, index: u32, limits: Limits) {
        self.queues[index as usize].set_limits(limits);
        let mut is_cut = self.evict(ctx, index, 1, DropReason::LimitLowered);
        loop {
            let slab = &self.slab;
            let Some(id) = self.queues[index as usize].pop_excess(|id| slab.get(id).bytes) else { break };
            self.lose(ctx, id, DropReason::LimitLowered, index);
            is_cut = true;
        }
        if is_cut {
            let waiting = self.queues[index as usize].lanes();
            self.gates_of(index).iter_mut().for_each(|gate| gate.is_cut(waiting));
            self.on_shrunk(ctx, index);
        }
    }

    fn set_rate(&mut self, index: u32, rate: Rate) {
        let link = &mut self.links[index as usize];
        link.byte_time = ByteTime::new(rate);
        let served = match link.queue {
            SEVERAL => self.schedulers[index as usize].queues().collect(),
            queue => vec![queue],
        };
        for queue in served {
            let queue = &mut self.queues[queue as usize];
            if self.gates[queue.gates_start as usize].link == index {
                queue.discipline().rate_changed(rate);
            }
        }
    }

    /// The impairment of a link whose delay or loss may change: such a link has one from the start.
    fn impairment_of(&mut self, link: u32) -> &mut Impairment {
        &mut self.impairments[self.links[link as usize].impairment as usize]
    }
}
