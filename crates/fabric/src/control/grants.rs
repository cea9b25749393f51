//! Tracks flows, the paths that they share besides the first one of each, and which flow has which.

use daybreak_trace::ControlEvent;
use daybreak_units::{Duration, Instant};

use super::{Action, Decision, Orders, Report};
use crate::circuit::Downtime;

/// Flows under a controller. Every flow starts on its path 0, the normal one. Each of the others serves one flow at a
/// time.
#[derive(Clone, Debug)]
pub struct Flows {
    /// The flows.
    pub flows: Vec<ControlledFlow>,
    /// Number of paths of each flow, including the first.
    pub paths: u32,
    /// Time from the decision to move a flow to a path until the path is in force.
    pub setup: Duration,
    /// What happens to the flow's packets meanwhile.
    pub downtime: Downtime,
}

/// A flow whose path a controller chooses.
#[derive(Clone, Debug)]
pub struct ControlledFlow {
    /// Its index in the plan.
    pub flow: u32,
    /// Its own route switches; that of the data first. Their alternatives are its paths.
    pub route_switches: Vec<u32>,
    /// The bytes it will send; `None` if unlimited.
    pub bytes: Option<u64>,
    /// Flows of a higher priority go first.
    pub priority: u32,
    /// Its deadline, relative to its start.
    pub deadline: Option<Duration>,
}

/// Which flow has which path.
#[derive(Debug)]
pub(super) struct Grants {
    pub(super) flows: Vec<ControlledFlow>,
    setup: Duration,
    downtime: Downtime,
    /// By path, without the first.
    states: Vec<State>,
}

/// The state of a path. Flows are named by their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Free,
    SettingUp { flow: u32, until: Instant },
    InForce { flow: u32, since: Instant },
}

impl Grants {
    pub(super) fn new(flows: Flows) -> Self {
        let Flows { flows, paths, setup, downtime } = flows;
        Self { flows, setup, downtime, states: vec![State::Free; paths as usize - 1] }
    }

    /// The states of all paths but the first.
    pub(super) fn states(&self) -> impl Iterator<Item = State> {
        self.states.iter().copied()
    }

    pub(super) fn has_free_path(&self) -> bool {
        self.states.contains(&State::Free)
    }

    /// The state of the path that the flow has, if any.
    pub(super) fn of_flow(&self, flow: u32) -> Option<State> {
        self.states().find(|&state| holder(state) == Some(flow))
    }

    /// When the next path is in force.
    pub(super) fn next_at(&self) -> Instant {
        let ends = self.states.iter().map(|&state| match state {
            State::SettingUp { until, .. } => until,
            State::Free | State::InForce { .. } => Instant::NEVER,
        });
        ends.min().unwrap_or(Instant::NEVER)
    }

    /// Puts paths into force when their set-up is over.
    pub(super) fn advance(&mut self, now: Instant, orders: &mut Orders) {
        for (path, state) in (1..).zip(&mut self.states) {
            if let State::SettingUp { flow, until } = *state
                && until <= now
            {
                *state = State::InForce { flow, since: now };
                self.flows[flow as usize].set_route(path, orders);
                self.flows[flow as usize].report(ControlEvent::InForce, path, orders);
            }
        }
    }

    /// The flow requests a path.
    pub(super) fn request(&self, flow: u32, orders: &mut Orders) {
        self.flows[flow as usize].report(ControlEvent::Requested, 0, orders);
    }

    /// Gives the first free path, which must exist, to the flow, which must have none.
    pub(super) fn grant(&mut self, now: Instant, flow: u32, orders: &mut Orders) {
        let Some(place) = self.states.iter().position(|&state| state == State::Free) else {
            unreachable!("a path is granted to flow {flow}, but none is free")
        };
        let path = place as u32 + 1;
        self.states[place] = State::SettingUp { flow, until: now + self.setup };
        if self.setup.is_zero() {
            return self.advance(now, orders);
        }
        let of_flow = &self.flows[flow as usize];
        of_flow.report(ControlEvent::SettingUp, path, orders);
        let downtime = self.downtime;
        let dark = of_flow.route_switches.iter().map(|&route_switch| Action::Darken { route_switch, downtime });
        orders.actions.extend(dark);
    }

    /// Starts a new turn of the flow on its path, which is in force.
    pub(super) fn begin_turn(&mut self, now: Instant, flow: u32) {
        for state in &mut self.states {
            if let State::InForce { flow: other, since } = state
                && *other == flow
            {
                *since = now;
            }
        }
    }

    /// Puts the flow back on its first path, if it has another.
    pub(super) fn release(&mut self, flow: u32, orders: &mut Orders) {
        let Some(place) = self.states.iter().position(|&state| holder(state) == Some(flow)) else { return };
        self.states[place] = State::Free;
        self.flows[flow as usize].set_route(0, orders);
        self.flows[flow as usize].report(ControlEvent::Released, place as u32 + 1, orders);
    }
}

pub(super) fn holder(state: State) -> Option<u32> {
    match state {
        State::Free => None,
        State::SettingUp { flow, .. } | State::InForce { flow, .. } => Some(flow),
    }
}

impl ControlledFlow {
    fn set_route(&self, alternative: u32, orders: &mut Orders) {
        let routes = self.route_switches.iter().map(|&route_switch| Action::SetRoute { route_switch, alternative });
        orders.actions.extend(routes);
    }

    fn report(&self, event: ControlEvent, path: u32, orders: &mut Orders) {
        orders.reports.push(Report::Decision(Decision { event, flow: Some(self.flow), path }));
    }
}
