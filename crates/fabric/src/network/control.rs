//! All timelines and controllers of a run, and when each is due.

use std::collections::BTreeMap;

use daybreak_units::Instant;

use super::{Context, Fabric};
use crate::control::{Controller, Orders, Report, Timeline};
use crate::{Monitor, Schedule, Wake};

/// Everything that changes a fabric while it runs.
#[derive(Debug, Default)]
pub struct Control {
    /// Timelines come first, then controllers.
    controllers: Vec<Box<dyn Controller>>,
    /// How many timelines there are.
    timelines: u32,
    /// The earliest wake that each one waits for.
    wakes: Vec<Instant>,
    /// The controller of a flow, and the flow's number there.
    flows: BTreeMap<u32, (u32, u32)>,
    /// Kept to reuse its memory.
    orders: Orders,
}

impl Control {
    /// Adds a timeline. Timelines, then controllers, are numbered in the order of adding.
    ///
    /// # Panics
    /// If there are controllers already.
    pub fn add_timeline(&mut self, timeline: Timeline) {
        assert_eq!(self.timelines as usize, self.controllers.len(), "timelines are added before controllers");
        self.timelines += 1;
        self.add(Box::new(timeline));
    }

    /// Adds a controller of these flows.
    ///
    /// # Panics
    /// If another one controls one of them.
    pub fn add_controller(&mut self, controller: Box<dyn Controller>, flows: impl IntoIterator<Item = u32>) {
        let index = self.controllers.len() as u32;
        for (place, flow) in (0..).zip(flows) {
            let other = self.flows.insert(flow, (index, place));
            assert!(other.is_none(), "flow {flow} has two controllers");
        }
        self.add(controller);
    }

    fn add(&mut self, controller: Box<dyn Controller>) {
        self.controllers.push(controller);
        self.wakes.push(Instant::NEVER);
    }

    /// Flows whose starts and ends have to be reported.
    pub fn flows(&self) -> impl Iterator<Item = u32> {
        self.flows.keys().copied()
    }

    /// Schedules the first wake of each; to be called once, at the start.
    pub fn start<S: Schedule>(&mut self, schedule: &mut S) {
        for index in 0..self.controllers.len() as u32 {
            self.plan_wake(schedule, index);
        }
    }

    /// Handles a [`Wake::Control`].
    pub fn wake<B: Copy, S: Schedule, M: Monitor<B>>(
        &mut self,
        fabric: &mut Fabric<B>,
        ctx: &mut Context<'_, S, M>,
        index: u32,
    ) {
        let wake = &mut self.wakes[index as usize];
        if *wake <= ctx.now {
            *wake = Instant::NEVER;
        }
        let controller = &mut self.controllers[index as usize];
        if controller.next_at() <= ctx.now {
            controller.advance(ctx.now, fabric, &mut self.orders);
            assert!(controller.next_at() > ctx.now, "{controller:?} is due again at {:?}", ctx.now);
        }
        self.carry_out(fabric, ctx, index);
    }

    /// The application of a flow starts.
    pub fn flow_started<B: Copy, S: Schedule, M: Monitor<B>>(
        &mut self,
        fabric: &mut Fabric<B>,
        ctx: &mut Context<'_, S, M>,
        flow: u32,
    ) {
        if let Some(&(index, place)) = self.flows.get(&flow) {
            self.controllers[index as usize].flow_started(ctx.now, place, &mut self.orders);
            self.carry_out(fabric, ctx, index);
        }
    }

    /// A flow is complete.
    pub fn flow_ended<B: Copy, S: Schedule, M: Monitor<B>>(
        &mut self,
        fabric: &mut Fabric<B>,
        ctx: &mut Context<'_, S, M>,
        flow: u32,
    ) {
        if let Some(&(index, place)) = self.flows.get(&flow) {
            self.controllers[index as usize].flow_ended(ctx.now, place, &mut self.orders);
            self.carry_out(fabric, ctx, index);
        }
    }

    fn carry_out<B: Copy, S: Schedule, M: Monitor<B>>(
        &mut self,
        fabric: &mut Fabric<B>,
        ctx: &mut Context<'_, S, M>,
        index: u32,
    ) {
        for report in self.orders.reports.drain(..) {
            match report {
                Report::Step(step) => ctx.monitor.timeline_stepped(ctx.now, index, step),
                Report::Decision(decision) => ctx.monitor.decided(ctx.now, index - self.timelines, decision),
            }
        }
        for action in self.orders.actions.drain(..) {
            fabric.apply(ctx, &action);
        }
        self.plan_wake(ctx.schedule, index);
    }

    /// Wakes cannot be cancelled: a needless one finds nothing due.
    fn plan_wake<S: Schedule>(&mut self, schedule: &mut S, index: u32) {
        let next = self.controllers[index as usize].next_at();
        let wake = &mut self.wakes[index as usize];
        if next < *wake {
            *wake = next;
            schedule.at(next, Wake::Control { controller: index });
        }
    }
}
