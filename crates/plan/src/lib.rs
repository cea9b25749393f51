//! The Plan: a scenario in its resolved form, which any engine can run.
//!
//! It has only integers (picoseconds, bytes, bit/s), except for parameters without a unit; things refer to each other
//! by their index in the Plan's lists. The scenario layer makes it. Unknown fields are errors. Steps, actions and
//! downtime policies are the fabric's own types.

pub mod benchmarks;
mod control;
mod network;
mod records;
mod stack;
mod traffic;
mod validate;

use serde::{Deserialize, Serialize};

pub use control::{ControlledFlow, Controller, Controls};
pub use daybreak_fabric::Step;
pub use daybreak_fabric::circuit::Downtime;
pub use daybreak_fabric::control::Action;
pub use daybreak_fabric::control::Change;
pub use daybreak_units::parameters::Value;
pub use network::{
    Choice, Fork, Link, Mark, Marker, Node, NodeKind, Queue, RouteSwitch, Scheduler, ShownAs, Tail, Timeline,
    TimelineStep,
};
pub use records::Records;
pub use stack::{Legacy, Linux, ReceiveBuffers, Stack};
pub use traffic::{Application, Command, ExchangeRun, Flow};
pub use validate::{MOST_COMPONENTS, PlanError};

/// Version of the format; a Plan of another version is refused.
pub const PLAN_VERSION: u32 = 2;

/// Everything that one run needs, independent of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of the format: 2.
    pub version: u32,
    /// Seed of every random stream that the engine draws from (random loss, rules, queues).
    pub seed: u64,
    /// Latest end of the run.
    pub end_ps: u64,
    /// Stop as soon as every flow of limited size is complete.
    pub stop_when_flows_complete: bool,
    /// Hosts and switches.
    pub nodes: Vec<Node>,
    /// Unidirectional links.
    pub links: Vec<Link>,
    /// Queues, each served by one or more links that start at its node.
    pub queues: Vec<Queue>,
    /// Paths and parts of paths, each stored once, however many flows take it.
    pub paths: Vec<Vec<Step>>,
    /// Places where a timeline chooses the path.
    pub route_switches: Vec<RouteSwitch>,
    /// Queues behind which the path depends on the link that serves a packet.
    pub forks: Vec<Fork>,
    /// Marks that packets can get, at most eight.
    pub marks: Vec<Mark>,
    /// Places where packets are marked.
    pub markers: Vec<Marker>,
    /// Periodic programs that change the fabric.
    pub timelines: Vec<Timeline>,
    /// Controllers, which change the fabric in response to its state.
    pub controllers: Vec<Controller>,
    /// TCP stacks.
    pub stacks: Vec<Stack>,
    /// Congestion controls with their parameters.
    pub rules: Vec<Choice>,
    /// Names of the groups that figures and metrics aggregate.
    pub groups: Vec<String>,
    /// Flows.
    pub flows: Vec<Flow>,
    /// What is recorded.
    pub records: Records,
}

impl Plan {
    /// Checks the whole plan.
    ///
    /// # Errors
    /// If it cannot be simulated; the error names the field and the value.
    pub fn validate(&self) -> Result<(), PlanError> {
        self.validate_for_other_rules()?;
        validate::check_simulated(self)?;
        validate::check_rules(self)
    }

    /// Checks everything except what only a kernel may have: congestion controls that are not modelled, and programs.
    ///
    /// # Errors
    /// As [`Plan::validate`].
    pub fn validate_for_other_rules(&self) -> Result<(), PlanError> {
        validate::validate(self)
    }

    /// Every action of every timeline, and those given to controllers.
    pub fn actions(&self) -> impl Iterator<Item = &Action> {
        let of_timelines = self.timelines.iter().flat_map(|timeline| &timeline.steps).flat_map(|step| &step.actions);
        of_timelines.chain(self.controllers.iter().flat_map(Controller::actions))
    }

    /// Everything that timelines and controllers may ever change.
    pub fn changes(&self) -> impl Iterator<Item = Change> {
        let of_timelines = self.timelines.iter().flat_map(|timeline| &timeline.steps).flat_map(|step| &step.actions);
        of_timelines.map(Action::change).chain(self.controllers.iter().flat_map(Controller::changes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Action, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// Unknown fields are errors in tagged parts of a plan as well.
    #[test]
    fn unknown_fields_are_errors_everywhere() {
        assert_eq!(
            parse(r#"{"kind":"set_limit","queue":1,"packets":50,"bytes":null}"#),
            Ok(Action::SetLimit { queue: 1, packets: Some(50), bytes: None })
        );
        assert!(parse(r#"{"kind":"open_gate","queue":1,"link":2,"links":3}"#).unwrap_err().contains("unknown field"));
        assert!(parse(r#"{"kind":"open_gates","queue":1,"link":2}"#).unwrap_err().contains("unknown variant"));
        let application: Result<Application, _> = serde_json::from_str(r#"{"kind":"bulk","bytes":1,"size":1}"#);
        assert!(application.unwrap_err().to_string().contains("unknown field"));
        let step: Result<Step, _> = serde_json::from_str(r#"{"kind":"queue","index":1,"link":1}"#);
        assert!(step.is_err());
    }

    #[test]
    fn a_plan_is_the_same_after_a_round_trip() {
        let plan = benchmarks::find("S1-50ms").unwrap().plan();
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
        assert!(text.contains(r#""application":{"kind":"bulk","bytes":null}"#));
        assert!(text.contains(r#"[{"kind":"queue","index":"#));
    }
}
