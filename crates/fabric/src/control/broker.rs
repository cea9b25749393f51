//! Brokers: flows request a path that they share with others, and get it one at a time.
//!
//! **Models** the agent between applications and the network's controller in on-demand light-path services: a flow
//! requests a path when it starts, uses its first path while it waits and while the other path is set up, and gives the
//! path back when it is complete. The policies differ in which flow is next; a higher priority always goes first.
//! Except under `fair_share` no flow has to give back a path. **Does not model** the time that requests and answers
//! take: add it to the set-up time.

use std::cmp::Reverse;

use daybreak_units::parameters::{Kind, Parameter, Settings};
use daybreak_units::{Duration, Instant};

use super::entry::{Controls, Entry};
use super::grants::{Flows, Grants, State};
use super::{Controller, Counters, Orders};

pub(super) const FIRST_COME: Entry = Entry {
    name: "first_come",
    summary: "grants a shared path to the flow that asked first, until the flow is complete",
    ..entry(|_, flows| Box::new(Broker::new(Order::FirstCome, flows)))
};
pub(super) const LARGEST_FIRST: Entry = Entry {
    name: "largest_first",
    summary: "grants a shared path to the waiting flow with the most to send, until the flow is complete",
    ..entry(|_, flows| Box::new(Broker::new(Order::LargestFirst, flows)))
};
pub(super) const EARLIEST_DEADLINE: Entry = Entry {
    name: "earliest_deadline",
    summary: "grants a shared path to the waiting flow with the earliest deadline, until the flow is complete",
    ..entry(|_, flows| Box::new(Broker::new(Order::EarliestDeadline, flows)))
};
pub(super) const FAIR_SHARE: Entry = Entry {
    name: "fair_share",
    summary: "grants a shared path to the waiting flows in turn; a flow gives it back after its turn if others wait",
    parameters: &[Parameter {
        name: "turn",
        kind: Kind::Time { least: 1_000_000, most: 1_000_000_000_000_000_000 },
        default: None,
        summary: "time for which a flow has the path, set-up not included, before it is the next one's turn",
    }],
    ..entry(|settings, flows| Box::new(Broker::new(Order::FairShare { turn: settings.time("turn") }, flows)))
};

const fn entry(new: fn(&Settings, Flows) -> Box<dyn Controller>) -> Entry {
    Entry { name: "", summary: "", parameters: &[], check: |_| Ok(()), controls: Controls::Flows(new) }
}

/// The order in which flows get a path.
#[derive(Clone, Copy, Debug)]
enum Order {
    FirstCome,
    LargestFirst,
    EarliestDeadline,
    FairShare { turn: Duration },
}

#[derive(Debug)]
struct Broker {
    order: Order,
    grants: Grants,
    waiting: Vec<Waiting>,
    /// Requests so far, including turns that ended.
    requests: u64,
}

/// A flow that waits for a path.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    flow: u32,
    /// Its position in the order of requests.
    number: u64,
    /// When it should be complete.
    deadline: Instant,
}

impl Broker {
    fn new(order: Order, flows: Flows) -> Self {
        Self { order, grants: Grants::new(flows), waiting: Vec::new(), requests: 0 }
    }

    fn join(&mut self, flow: u32, deadline: Instant) {
        self.requests += 1;
        self.waiting.push(Waiting { flow, number: self.requests, deadline });
    }

    /// Removes the flow that is next.
    fn take_next(&mut self) -> Option<Waiting> {
        let key = |waiting: &Waiting| {
            let flow = &self.grants.flows[waiting.flow as usize];
            let by_order = match self.order {
                Order::FirstCome | Order::FairShare { .. } => 0,
                Order::LargestFirst => u64::MAX - flow.bytes.unwrap_or(u64::MAX),
                Order::EarliestDeadline => waiting.deadline.as_ps(),
            };
            (Reverse(flow.priority), by_order, waiting.number)
        };
        let (place, _) = self.waiting.iter().enumerate().min_by_key(|(_, waiting)| key(waiting))?;
        Some(self.waiting.swap_remove(place))
    }

    /// When the turn of a path's flow is over.
    fn turn_ends(&self, state: State) -> Instant {
        match (self.order, state) {
            (Order::FairShare { turn }, State::InForce { since, .. }) => since.saturating_add(turn),
            (Order::FairShare { .. }, State::SettingUp { .. } | State::Free)
            | (Order::FirstCome | Order::LargestFirst | Order::EarliestDeadline, _) => Instant::NEVER,
        }
    }

    /// Does everything that is due.
    fn settle(&mut self, now: Instant, orders: &mut Orders) {
        self.grants.advance(now, orders);
        while self.grants.has_free_path()
            && let Some(next) = self.take_next()
        {
            self.grants.grant(now, next.flow, orders);
        }
        let over: Vec<State> = self.grants.states().filter(|&state| self.turn_ends(state) <= now).collect();
        for state in over {
            let State::InForce { flow, .. } = state else { unreachable!("only who has the path has a turn") };
            if self.waiting.is_empty() {
                break;
            }
            self.join(flow, Instant::NEVER);
            match self.take_next() {
                Some(next) if next.flow != flow => {
                    self.grants.release(flow, orders);
                    self.grants.grant(now, next.flow, orders);
                }
                // All others have a lower priority.
                _ => self.grants.begin_turn(now, flow),
            }
        }
    }
}

impl Controller for Broker {
    fn next_at(&self) -> Instant {
        let turns = self.grants.states().map(|state| self.turn_ends(state)).min();
        let turn = turns.filter(|_| !self.waiting.is_empty()).unwrap_or(Instant::NEVER);
        self.grants.next_at().min(turn)
    }

    fn advance(&mut self, now: Instant, _counters: &dyn Counters, orders: &mut Orders) {
        self.settle(now, orders);
    }

    fn flow_started(&mut self, now: Instant, flow: u32, orders: &mut Orders) {
        let deadline = self.grants.flows[flow as usize].deadline;
        self.join(flow, deadline.map_or(Instant::NEVER, |deadline| now.saturating_add(deadline)));
        self.grants.request(flow, orders);
        self.settle(now, orders);
    }

    fn flow_ended(&mut self, now: Instant, flow: u32, orders: &mut Orders) {
        self.waiting.retain(|waiting| waiting.flow != flow);
        self.grants.release(flow, orders);
        self.settle(now, orders);
    }
}

#[cfg(test)]
mod tests {
    use daybreak_trace::ControlEvent::{self, InForce, Released, Requested, SettingUp};
    use daybreak_units::parameters::Value;

    use super::*;
    use crate::circuit::Downtime;
    use crate::control::testing::{NoCounters, decisions};
    use crate::control::{ControlledFlow, find};

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    /// Flows of 1, 2, 3 ... bytes with deadlines of 30, 29, 28 ... ms.
    fn flows(count: u32, paths: u32, setup_ms: u64) -> Flows {
        let flow = |place: u32| ControlledFlow {
            flow: 10 + place,
            route_switches: vec![place],
            bytes: Some(1 + u64::from(place)),
            priority: 0,
            deadline: Some(Duration::from_ms(30 - u64::from(place))),
        };
        let (setup, downtime) = (Duration::from_ms(setup_ms), Downtime::MakeBeforeBreak);
        Flows { flows: (0..count).map(flow).collect(), paths, setup, downtime }
    }

    fn broker(name: &str, given: &[(&str, Value)], flows: Flows) -> Box<dyn Controller> {
        let entry = find(name).unwrap();
        let Controls::Flows(new) = entry.controls else { panic!("{name} is not for flows") };
        new(&entry.settings(given.iter().copied()).unwrap(), flows)
    }

    /// All flows request it at once while the first one has the path; then each is complete 1 ms after it got it. The order in
    /// which they get it.
    fn order(name: &str, flows: Flows) -> Vec<u32> {
        let count = flows.flows.len() as u32;
        let mut broker = broker(name, &[], flows);
        let mut orders = Orders::default();
        (0..count).for_each(|flow| broker.flow_started(at(0), flow, &mut orders));
        let mut got = Vec::new();
        for ms in 1..=u64::from(count) {
            let holders = decisions(&mut orders).into_iter().filter(|(event, ..)| *event == InForce);
            got.extend(holders.map(|(_, flow, _)| flow.unwrap()));
            broker.flow_ended(at(ms), got.last().unwrap() - 10, &mut orders);
        }
        got
    }

    #[test]
    fn the_policies_differ_in_who_is_next() {
        assert_eq!(order("first_come", flows(4, 2, 0)), [10, 11, 12, 13]);
        assert_eq!(order("largest_first", flows(4, 2, 0)), [10, 13, 12, 11]);
        assert_eq!(order("earliest_deadline", flows(4, 2, 0)), [10, 13, 12, 11]);
        let mut prior = flows(4, 2, 0);
        prior.flows[2].priority = 1;
        prior.flows[1].bytes = None;
        assert_eq!(order("first_come", prior.clone()), [10, 12, 11, 13]);
        assert_eq!(order("largest_first", prior), [10, 12, 11, 13], "a flow without end is the largest");
    }

    #[test]
    fn a_path_is_in_force_after_its_set_up_and_given_back_at_the_end() {
        let mut broker = broker("first_come", &[], flows(2, 2, 5));
        let mut orders = Orders::default();
        broker.flow_started(at(1), 0, &mut orders);
        assert_eq!(decisions(&mut orders), [(Requested, Some(10), 0), (SettingUp, Some(10), 1)]);
        let downtime = Downtime::MakeBeforeBreak;
        assert_eq!(std::mem::take(&mut orders.actions), [crate::control::Action::Darken { route_switch: 0, downtime }]);
        broker.flow_started(at(2), 1, &mut orders);
        assert_eq!(broker.next_at(), at(6));
        broker.advance(at(6), &NoCounters, &mut orders);
        assert_eq!(decisions(&mut orders), [(Requested, Some(11), 0), (InForce, Some(10), 1)]);
        let route = |route_switch, alternative| crate::control::Action::SetRoute { route_switch, alternative };
        assert_eq!(std::mem::take(&mut orders.actions), [route(0, 1)]);
        assert_eq!(broker.next_at(), Instant::NEVER);
        broker.flow_ended(at(9), 0, &mut orders);
        assert_eq!(decisions(&mut orders), [(Released, Some(10), 1), (SettingUp, Some(11), 1)]);
        assert_eq!(orders.actions[0], route(0, 0));
        // It ends before its path is there.
        broker.flow_ended(at(11), 1, &mut orders);
        assert_eq!(decisions(&mut orders), [(Released, Some(11), 1)]);
        assert_eq!(broker.next_at(), Instant::NEVER);
    }

    #[test]
    fn several_paths_are_granted_to_several_flows() {
        let mut broker = broker("first_come", &[], flows(4, 3, 0));
        let mut orders = Orders::default();
        (0..4).for_each(|flow| broker.flow_started(at(0), flow, &mut orders));
        let in_force = |found: Vec<(ControlEvent, Option<u32>, u32)>| -> Vec<(u32, u32)> {
            found.into_iter().filter(|one| one.0 == InForce).map(|(_, flow, path)| (flow.unwrap(), path)).collect()
        };
        assert_eq!(in_force(decisions(&mut orders)), [(10, 1), (11, 2)]);
        // One that waits gives up: no flow gets anything.
        broker.flow_ended(at(1), 2, &mut orders);
        assert_eq!(in_force(decisions(&mut orders)), []);
        broker.flow_ended(at(2), 1, &mut orders);
        assert_eq!(in_force(decisions(&mut orders)), [(13, 2)]);
    }

    #[test]
    fn turns_go_round_and_last_as_long_as_nobody_waits() {
        let turn = Value::Ps(10_000_000_000);
        let mut broker = broker("fair_share", &[("turn", turn)], flows(3, 2, 2));
        let mut orders = Orders::default();
        broker.flow_started(at(0), 0, &mut orders);
        broker.advance(at(2), &NoCounters, &mut orders);
        assert_eq!(broker.next_at(), Instant::NEVER, "it is alone");
        decisions(&mut orders);
        // Its turn is over for long when others come.
        broker.flow_started(at(50), 1, &mut orders);
        broker.flow_started(at(51), 2, &mut orders);
        let mut got = Vec::new();
        while broker.next_at() < at(90) {
            let now = broker.next_at();
            broker.advance(now, &NoCounters, &mut orders);
            let in_force = decisions(&mut orders).into_iter().filter(|one| one.0 == InForce);
            got.extend(in_force.map(|(_, flow, _)| (now.as_us() / 1_000, flow.unwrap())));
        }
        // The first waits behind the second and, since it gave the path back before the third's request, before the third.
        assert_eq!(got, [(52, 11), (64, 10), (76, 12), (88, 11)]);
    }

    #[test]
    fn a_flow_of_higher_priority_has_one_turn_after_the_other() {
        let mut of_two = flows(2, 2, 0);
        of_two.flows[0].priority = 1;
        let mut broker = broker("fair_share", &[("turn", Value::Ps(10_000_000_000))], of_two);
        let mut orders = Orders::default();
        (0..2).for_each(|flow| broker.flow_started(at(0), flow, &mut orders));
        decisions(&mut orders);
        for turn in 1..4 {
            assert_eq!(broker.next_at(), at(10 * turn));
            broker.advance(at(10 * turn), &NoCounters, &mut orders);
        }
        assert_eq!(decisions(&mut orders), []);
        broker.flow_ended(at(35), 0, &mut orders);
        assert_eq!(decisions(&mut orders), [(Released, Some(10), 1), (InForce, Some(11), 1)]);
    }

    #[test]
    fn a_new_turn_is_that_of_its_flow_alone() {
        let mut of_three = flows(3, 3, 0);
        (of_three.flows[0].priority, of_three.flows[1].priority) = (1, 1);
        let mut broker = broker("fair_share", &[("turn", Value::Ps(10_000_000_000))], of_three);
        let mut orders = Orders::default();
        (0..3).for_each(|flow| broker.flow_started(at([0, 5, 6][flow as usize]), flow, &mut orders));
        // The third waits forever. The first, whose turn began at 0, has the next at 10; the second's of 5 goes on to
        // 15.
        for turn in [10, 15, 20, 25, 30] {
            assert_eq!(broker.next_at(), at(turn));
            broker.advance(at(turn), &NoCounters, &mut orders);
        }
    }
}
