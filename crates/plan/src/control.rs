//! Controllers of a plan, which change the network in response to its state.

use daybreak_fabric::circuit::Downtime;
use daybreak_fabric::control::{Action, Change};
use serde::{Deserialize, Serialize};

use crate::Choice;

/// A controller: a policy, and what it controls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Controller {
    /// Unique name.
    pub name: String,
    /// The policy.
    pub policy: Choice,
    /// Time from a decision until it is in force.
    pub setup_ps: u64,
    /// What it controls.
    pub controls: Controls,
}

/// What a controller controls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Controls {
    /// Whether a circuit is open.
    ControlledCircuit {
        /// Queues whose length indicates the demand.
        queues: Vec<u32>,
        /// Actions that open it, in order.
        open: Vec<Action>,
        /// Actions that close it; also applied at the start of the run.
        close: Vec<Action>,
    },
    /// Which flows take which of their paths. Each path except the first serves one flow at a time.
    ControlledFlows {
        /// The flows.
        flows: Vec<ControlledFlow>,
        /// Paths of each flow: alternatives of its route switches.
        paths: u32,
        /// What happens to a flow's packets while another path is set up for it.
        downtime: Downtime,
    },
}

/// A flow whose path a controller chooses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ControlledFlow {
    /// The flow.
    pub flow: u32,
    /// Its route switches, which no other flow has; the first one counts its data.
    pub route_switches: Vec<u32>,
    /// Flows of a higher priority go first.
    pub priority: u32,
    /// Deadline for its completion, relative to its start; null for none.
    pub deadline_ps: Option<u64>,
}

impl Controller {
    /// Everything that it may ever change.
    pub fn changes(&self) -> Vec<Change> {
        match &self.controls {
            Controls::ControlledCircuit { open, close, .. } => open.iter().chain(close).map(Action::change).collect(),
            Controls::ControlledFlows { flows, .. } => {
                flows.iter().flat_map(|flow| &flow.route_switches).map(|&switch| Change::Route(switch)).collect()
            }
        }
    }

    /// The actions that the plan gives it. Actions that it creates itself only set routes.
    pub fn actions(&self) -> impl Iterator<Item = &Action> {
        let (open, close) = match &self.controls {
            Controls::ControlledCircuit { open, close, .. } => (open.as_slice(), close.as_slice()),
            Controls::ControlledFlows { .. } => Default::default(),
        };
        open.iter().chain(close)
    }

    /// Queues that it watches.
    pub fn queues(&self) -> &[u32] {
        match &self.controls {
            Controls::ControlledCircuit { queues, .. } => queues,
            Controls::ControlledFlows { .. } => &[],
        }
    }
}
