//! The actions that change a fabric while it runs.

use daybreak_units::parameters::Value;

use crate::circuit::Downtime;

/// A change of the fabric. Things are named by their index in the list of their kind.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Action {
    /// Let a route switch use an alternative; held packets follow at once.
    SetRoute {
        /// Index of the route switch.
        route_switch: u32,
        /// Index in its alternatives.
        alternative: u32,
    },
    /// Make a route switch dark until the next [`Action::SetRoute`].
    Darken {
        /// Index of the route switch.
        route_switch: u32,
        /// What happens to packets that arrive meanwhile.
        downtime: Downtime,
    },
    /// Let a link serve a queue.
    OpenGate {
        /// Index of the queue.
        queue: u32,
        /// One of the links that may serve it.
        link: u32,
    },
    /// Stop a link from serving a queue; a packet on the wire still arrives.
    CloseGate {
        /// Index of the queue.
        queue: u32,
        /// One of the links that may serve it.
        link: u32,
        /// What happens to the queue's packets.
        downtime: Downtime,
    },
    /// Change a queue's limits. The first waiting packets that fit are kept; the others are lost at once, the last one
    /// first.
    SetLimit {
        /// Index of the queue.
        queue: u32,
        /// Limit in packets; `None` for no limit.
        packets: Option<u64>,
        /// Limit in bytes; `None` for no limit.
        bytes: Option<u64>,
    },
    /// Change a link's rate. A packet that is being sent finishes at the old rate.
    SetRate {
        /// Index of the link.
        link: u32,
        /// The rate, at least 1 Mbit/s.
        rate_bps: u64,
    },
    /// Change a link's propagation delay, for packets whose last bit leaves from now on; those already under way are
    /// not affected. No packet overtakes another: if the delay falls, a packet that would arrive too early arrives a
    /// picosecond behind the one before it.
    SetDelay {
        /// Index of the link.
        link: u32,
        /// Time from the last bit sent to the arrival of the packet.
        delay_ps: u64,
    },
    /// Change a link's probability of random loss, for packets whose first bit leaves from now on.
    SetLoss {
        /// Index of the link.
        link: u32,
        /// Probability of losing a packet, in parts per 10^9.
        loss_ppb: u32,
    },
    /// Set a parameter of a queue's discipline.
    SetParameter {
        /// Index of the queue.
        queue: u32,
        /// Name of the parameter.
        parameter: String,
        /// Its value from now on.
        value: Value,
    },
    /// Switch a marker on or off.
    SetMark {
        /// Index of the marker.
        marker: u32,
        /// Whether packets that pass get its mark.
        on: bool,
    },
}

/// What an action changes. Everything that may ever be changed is declared when the fabric is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// The route of a route switch.
    Route(u32),
    /// A gate between a queue and a link.
    Gate {
        /// Index of the queue.
        queue: u32,
        /// Index of the link.
        link: u32,
    },
    /// The limits of a queue.
    Limit(u32),
    /// The rate of a link.
    Rate(u32),
    /// The delay of a link.
    Delay(u32),
    /// The random loss of a link.
    Loss(u32),
    /// The parameters of a queue's discipline.
    Parameters(u32),
    /// Whether a marker is on.
    Mark(u32),
}

impl Action {
    /// What the action changes.
    pub fn change(&self) -> Change {
        match *self {
            Self::SetRoute { route_switch, .. } | Self::Darken { route_switch, .. } => Change::Route(route_switch),
            Self::OpenGate { queue, link } | Self::CloseGate { queue, link, .. } => Change::Gate { queue, link },
            Self::SetLimit { queue, .. } => Change::Limit(queue),
            Self::SetRate { link, .. } => Change::Rate(link),
            Self::SetDelay { link, .. } => Change::Delay(link),
            Self::SetLoss { link, .. } => Change::Loss(link),
            Self::SetParameter { queue, .. } => Change::Parameters(queue),
            Self::SetMark { marker, .. } => Change::Mark(marker),
        }
    }
}
