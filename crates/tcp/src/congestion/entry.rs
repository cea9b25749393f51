//! What a rule says of itself in the list of all.

use daybreak_units::parameters::{Parameter, ParameterError, Settings, Value};

use super::Congestion;

/// One registered rule.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Name as Linux spells it in `tcp_congestion_control`.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// What can be set about it.
    pub parameters: &'static [Parameter],
    /// Makes a rule for one connection with settings of these parameters; `seed` feeds the rule's own random stream.
    pub new: fn(settings: &Settings, seed: u64) -> Box<dyn Congestion>,
}

impl Entry {
    /// The settings of a use that gives some of the parameters.
    ///
    /// # Errors
    /// When a name is unknown, a value does not fit, or one is missing.
    pub fn settings<'a>(&self, given: impl IntoIterator<Item = (&'a str, Value)>) -> Result<Settings, ParameterError> {
        Settings::new(self.parameters, given)
    }

    /// A rule with the default settings.
    pub fn rule(&self, seed: u64) -> Box<dyn Congestion> {
        let settings = self.settings([]).expect("every parameter of a rule has a default");
        (self.new)(&settings, seed)
    }
}
