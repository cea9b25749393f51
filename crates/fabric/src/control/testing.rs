//! Counters for tests of controllers.

use daybreak_trace::ControlEvent;
use daybreak_units::Instant;

use super::{Counters, Decision, Orders, Passed, Report};
use crate::LinkTotals;
use crate::queue::Occupancy;

/// For controllers that look at nothing.
pub(crate) struct NoCounters;

impl Counters for NoCounters {
    fn queue(&self, queue: u32) -> Occupancy {
        panic!("nobody should look at queue {queue}")
    }
    fn link(&self, link: u32, _now: Instant) -> LinkTotals {
        panic!("nobody should look at link {link}")
    }
    fn route_switch(&self, route_switch: u32) -> Passed {
        panic!("nobody should look at route switch {route_switch}")
    }
}

/// Two queues that hold this number of packets of 1500 bytes together.
pub(crate) struct Waiting(pub u64);

impl Counters for Waiting {
    fn queue(&self, queue: u32) -> Occupancy {
        let packets = (self.0 + u64::from(queue)) / 2;
        Occupancy { packets: packets as u32, bytes: 1_500 * packets }
    }
    fn link(&self, link: u32, now: Instant) -> LinkTotals {
        NoCounters.link(link, now)
    }
    fn route_switch(&self, route_switch: u32) -> Passed {
        NoCounters.route_switch(route_switch)
    }
}

/// Bytes that have passed each route switch, by its index.
pub(crate) struct Bytes<'a>(pub &'a [u64]);

impl Counters for Bytes<'_> {
    fn queue(&self, queue: u32) -> Occupancy {
        NoCounters.queue(queue)
    }
    fn link(&self, link: u32, now: Instant) -> LinkTotals {
        NoCounters.link(link, now)
    }
    fn route_switch(&self, route_switch: u32) -> Passed {
        let bytes = self.0[route_switch as usize];
        Passed { packets: bytes / 1_000, bytes }
    }
}

/// Takes the decisions out: what, about which flow and path.
pub(crate) fn decisions(orders: &mut Orders) -> Vec<(ControlEvent, Option<u32>, u32)> {
    let decision = |report| match report {
        Report::Decision(Decision { event, flow, path }) => (event, flow, path),
        Report::Step(step) => panic!("step {step} is of a timeline"),
    };
    orders.reports.drain(..).map(decision).collect()
}
