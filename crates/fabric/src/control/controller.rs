//! The interface of controllers: they read the switches' counters, are notified of their flows, and give orders.

use std::fmt;

use daybreak_trace::ControlEvent;
use daybreak_units::Instant;

use super::Action;
use crate::queue::Occupancy;
use crate::totals::LinkTotals;

/// Changes the fabric while it runs: a timeline by the clock alone, others by what they see. A state machine: it is
/// given the time, and states when it wants to be called again.
pub trait Controller: fmt::Debug + Send {
    /// When [`Controller::advance`] is to be called; [`Instant::NEVER`] if nothing is planned. It may change with every
    /// call of any method.
    fn next_at(&self) -> Instant;
    /// Does what is due now. What is due next lies behind `now`.
    fn advance(&mut self, now: Instant, counters: &dyn Counters, orders: &mut Orders);
    /// One of the flows that it controls starts: its application asks for the network. Flows are named by their place
    /// among those that the controller was given.
    fn flow_started(&mut self, _now: Instant, _flow: u32, _orders: &mut Orders) {}
    /// One of the flows that it controls is complete: everything is acknowledged.
    fn flow_ended(&mut self, _now: Instant, _flow: u32, _orders: &mut Orders) {}
}

/// What the switches of a network count, as far as controllers may see it.
pub trait Counters {
    /// What waits in a queue. Somebody has to observe the queue ([`crate::QueueConfig::observed`]).
    fn queue(&self, queue: u32) -> Occupancy;
    /// What a link has done by `now`.
    fn link(&self, link: u32, now: Instant) -> LinkTotals;
    /// What has passed a route switch, so what its rule in a switch has matched.
    fn route_switch(&self, route_switch: u32) -> Passed;
}

/// Packets that have passed somewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// How many.
    pub packets: u64,
    /// Their IP bytes.
    pub bytes: u64,
}

impl Passed {
    #[inline]
    pub(crate) fn count(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

/// What a controller wants to be done, and what it has to report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Orders {
    /// Done in this order.
    pub actions: Vec<Action>,
    /// For the records.
    pub reports: Vec<Report>,
}

/// What a controller did, for the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// A timeline took this step of its program.
    Step(u32),
    /// A controller decided something.
    Decision(Decision),
}

/// What a controller decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What it was.
    pub event: ControlEvent,
    /// The flow of the plan that it is about; `None` if it is about a circuit.
    pub flow: Option<u32>,
    /// The path of the flow's that it is about, from 0; 0 for a circuit.
    pub path: u32,
}
