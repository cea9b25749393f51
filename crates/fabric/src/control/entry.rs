//! What a policy says of itself in the list of all.

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
    /// One line for people.
    pub summary: &'static str,
    /// What can be set about it.
    pub parameters: &'static [Parameter],
    /// What is wrong with settings each of which is in its range.
    pub(super) check: fn(&Settings) -> Result<(), String>,
    /// What it controls, and how such a controller is made.
    pub controls: Controls,
}

/// A circuit as a controller has it.
#[derive(Clone, Debug)]
pub struct Circuit {
    /// Queues that show the demand; somebody has to observe them.
    pub queues: Vec<u32>,
    /// What opens it.
    pub open: Vec<Action>,
    /// What closes it, also at the start of a run.
    pub close: Vec<Action>,
    /// Time from the decision to open it to its being open.
    pub setup: Duration,
}

/// What a policy is for.
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
    /// When a name is unknown, a value does not fit or is missing, or values do not go together.
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
