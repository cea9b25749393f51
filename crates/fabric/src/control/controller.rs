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
    /// Does everything that is due now. The next deadline is after `now`.
    fn advance(&mut self, now: Instant, counters: &dyn Counters, orders: &mut Orders);
    /// One of the flows that it controls starts: its application starts to use the network. Flows are numbered in the
    /// order in which the controller was given them.
    fn flow_started(&mut self, _now: Instant, _flow: u32, _orders: &mut Orders) {}
    /// One of the flows that it controls is complete: everything is acknowledged.
    fn flow_ended(&mut self, _now: Instant, _flow: u32, _orders: &mut Orders) {}
}

/// The counters of a network's switches that controllers may read.
pub trait Counters {
    /// The occupancy of a queue, which has to be observed ([`crate::QueueConfig::observed`]).
    fn queue(&self, queue: u32) -> Occupancy;
    /// Totals of a link by `now`.
    fn link(&self, link: u32, now: Instant) -> LinkTotals;
    /// Packets that have passed a route switch, which are those that its rule has matched.
    fn route_switch(&self, route_switch: u32) -> Passed;
}

/// A count of passed packets.
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

/// A controller's actions and reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Orders {
    /// Actions, in order.
    pub actions: Vec<Action>,
    /// Reports, for the records.
    pub reports: Vec<Report>,
}

/// A report of a controller, for the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// A timeline took this step of its program.
    Step(u32),
    /// A controller made a decision.
    Decision(Decision),
}

/// A decision of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Its kind.
    pub event: ControlEvent,
    /// The flow of the plan that it concerns; `None` for a circuit.
    pub flow: Option<u32>,
    /// The path of the flow that it concerns, from 0; 0 for a circuit.
    pub path: u32,
}
