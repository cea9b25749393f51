//! Downtime policies. What a policy does to packets is its row in [`Downtime::effect`]: the fabric and Python ask for that,
//! and not for its name.

/// What happens to packets while a route or a gate is dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Downtime {
    /// Packets that arrive in the night are lost; a queue that no gate serves any more is emptied.
    Drop,
    /// Packets wait: arrivals are held, a queue whose gate closes keeps its packets.
    Hold,
    /// Arrivals wait, but what was queued before the night is still sent.
    Drain,
    /// The old path continues to serve through the night; nothing waits. A gate closes only when
    /// another gate of the same queue opens.
    MakeBeforeBreak,
}

/// What a policy does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The policy's name in plans and scenarios.
    pub name: &'static str,
    /// What happens to packets that arrive at a dark route.
    pub at_route: AtRoute,
    /// What happens to a queue when one of its gates closes.
    pub at_gate: AtGate,
}

/// What happens to packets that arrive at a dark route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtRoute {
    /// They are lost.
    Lose,
    /// They wait until the route is set.
    Hold,
    /// They take the path that was in force before.
    OldPath,
}

/// What happens to a queue when one of its gates closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtGate {
    /// The link takes no more packets. If none serves the queue now, it is emptied, and arrivals are lost until a gate
    /// opens.
    Empty,
    /// The link takes no more packets.
    Keep,
    /// The link takes the packets that wait now, and no others.
    Drain,
    /// The link goes on until another gate of the queue opens.
    Part,
}

impl Downtime {
    /// Every policy.
    pub const ALL: [Self; 4] = [Self::Drop, Self::Hold, Self::Drain, Self::MakeBeforeBreak];

    /// What it does.
    pub const fn effect(self) -> Effect {
        let (name, at_route, at_gate) = match self {
            Self::Drop => ("drop", AtRoute::Lose, AtGate::Empty),
            Self::Hold => ("hold", AtRoute::Hold, AtGate::Keep),
            Self::Drain => ("drain", AtRoute::Hold, AtGate::Drain),
            Self::MakeBeforeBreak => ("make_before_break", AtRoute::OldPath, AtGate::Part),
        };
        Effect { name, at_route, at_gate }
    }
}

impl AtRoute {
    /// Its name in Python.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lose => "lose",
            Self::Hold => "hold",
            Self::OldPath => "old_path",
        }
    }
}

impl AtGate {
    /// Its name in Python.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Keep => "keep",
            Self::Drain => "drain",
            Self::Part => "part",
        }
    }
}
