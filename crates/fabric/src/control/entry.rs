//! The registry entry of a policy.

use std::fmt;

use daybreak_units::Duration;
use daybreak_units::parameters::{Parameter, Settings, Value};

use super::{Action, Controller, Flows};
use crate::queue::SettingsError;

/// A policy in the [`REGISTRY`].
#[derive(Clone, Copy)]
pub struct Entry {
    /// Its name in scenarios.
    pub name: &'static str,
    /// A one-line description.
    pub summary: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Checks settings that are individually in range for contradictions.
    pub(super) check: fn(&Settings) -> Result<(), String>,
    /// What it controls, with the constructor of such a controller.
    pub controls: Controls,
}

/// A circuit under a controller.
#[derive(Clone, Debug)]
pub struct Circuit {
    /// Queues that indicate the demand; they have to be observed.
    pub queues: Vec<u32>,
    /// Actions that open it.
    pub open: Vec<Action>,
    /// Actions that close it, also at the start of a run.
    pub close: Vec<Action>,
    /// Time from the decision to open it until it is open.
    pub setup: Duration,
}

/// The kinds of things that a policy controls.
#[derive(Clone, Copy)]
pub enum Controls {
    /// A circuit, which is open or closed.
    Circuit(fn(&Settings, Circuit) -> Box<dyn Controller>),
    /// The paths of flows.
    Flows(fn(&Settings, Flows) -> Box<dyn Controller>),
}

impl Entry {
    /// The settings of a controller that gives some of the parameters.
    ///
    /// # Errors
    /// If a name is unknown, a value does not fit or is missing, or values contradict each other.
    pub fn settings<'a>(&self, given: impl IntoIterator<Item = (&'a str, Value)>) -> Result<Settings, SettingsError> {
        let settings = Settings::new(self.parameters, given)?;
        (self.check)(&settings).map_err(SettingsError::Together)?;
        Ok(settings)
    }
}

impl Controls {
    /// "a circuit" or "flows".
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Circuit(_) => "a circuit",
            Self::Flows(_) => "flows",
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
