//! A rule's entry in the registry.

use daybreak_units::parameters::{Parameter, ParameterError, Settings, Value};

use super::Congestion;

/// What a rule is to the sender, whatever its parameters and its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The rule needs ECN (DCTCP): the handshake requests it whatever the settings are, every segment is ECN-capable, and
    /// the receiving half echoes each mark (RFC 8257, section 3.2).
    pub needs_ecn: bool,
    /// The rule needs the sender to pace (BBR).
    pub needs_pacing: bool,
    /// The rule sets the window and the pacing rate itself on every ACK, in every state, by [`Congestion::control`] (BBR);
    /// PRR and [`Congestion::on_ack`] are then bypassed.
    pub controls_window: bool,
    /// [`Congestion::on_arrival`] is called as well for ACKs that arrive while nothing is outstanding.
    pub wants_idle_acks: bool,
    /// How many windows the send buffer should hold.
    pub send_buffer_windows: u8,
}

impl Capabilities {
    /// A window that grows by ACKs and shrinks by losses, and nothing else.
    pub const NONE: Self = Self {
        needs_ecn: false,
        needs_pacing: false,
        controls_window: false,
        wants_idle_acks: false,
        send_buffer_windows: 2,
    };
}

/// The congestion control of one path of a connection.
#[derive(Debug)]
pub struct Rule {
    /// Decides about the window.
    pub control: Box<dyn Congestion>,
    /// What the sender does for it, or leaves to it.
    pub capabilities: Capabilities,
}

/// One registered rule.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Name as Linux spells it in `tcp_congestion_control`.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// What can be set about it.
    pub parameters: &'static [Parameter],
    /// What it is to the sender.
    pub capabilities: Capabilities,
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

    /// The rule of one connection; `seed` feeds its random stream.
    pub fn make(&self, settings: &Settings, seed: u64) -> Rule {
        Rule { control: (self.new)(settings, seed), capabilities: self.capabilities }
    }

    /// A rule with the default settings.
    pub fn rule(&self, seed: u64) -> Rule {
        let settings = self.settings([]).expect("every parameter of a rule has a default");
        self.make(&settings, seed)
    }
}
