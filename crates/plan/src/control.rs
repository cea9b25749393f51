//! Controllers of a plan: what changes the network by what it sees.

use daybreak_fabric::circuit::Downtime;
use daybreak_fabric::control::{Action, Change};
use serde::{Deserialize, Serialize};

use crate::Choice;

/// A controller: a policy, and what it decides about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Controller {
    /// Unique name.
    pub name: String,
    /// What decides.
    pub policy: Choice,
    /// Time from a decision to its being in force.
    pub setup_ps: u64,
    /// What it decides about.
    pub controls: Controls,
}

/// What a controller decides about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Controls {
    /// Whether a circuit is open.
    ControlledCircuit {
        /// Queues whose length shows the demand.
        queues: Vec<u32>,
        /// What opens it, in this order.
        open: Vec<Action>,
        /// What closes it; done at the start of the run as well.
        close: Vec<Action>,
    },
    /// Which flows take which of their paths. Each path but the first is for one flow at a time.
    ControlledFlows {
        /// The flows.
        flows: Vec<ControlledFlow>,
        /// Paths of each flow: alternatives of its route switches.
        paths: u32,
        /// What becomes of a flow's packets while another path is set up for it.
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
    /// By when it should be complete, counted from its start; null for any time.
    pub deadline_ps: Option<u64>,
}

impl Controller {
    /// All that it may ever change.
    pub fn changes(&self) -> Vec<Change> {
        match &self.controls {
            Controls::ControlledCircuit { open, close, .. } => open.iter().chain(close).map(Action::change).collect(),
            Controls::ControlledFlows { flows, .. } => {
                flows.iter().flat_map(|flow| &flow.route_switches).map(|&switch| Change::Route(switch)).collect()
            }
        }
    }

    /// The actions that the plan gives it. It makes others itself, which only set routes.
    pub fn actions(&self) -> impl Iterator<Item = &Action> {
        let (open, close) = match &self.controls {
            Controls::ControlledCircuit { open, close, .. } => (open.as_slice(), close.as_slice()),
            Controls::ControlledFlows { .. } => Default::default(),
        };
        open.iter().chain(close)
    }

    /// Queues that it looks at.
    pub fn queues(&self) -> &[u32] {
        match &self.controls {
            Controls::ControlledCircuit { queues, .. } => queues,
            Controls::ControlledFlows { .. } => &[],
        }
    }
}
