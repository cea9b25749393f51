//! The network of a plan, and what changes it.

use std::collections::BTreeMap;

use daybreak_fabric::control::Action;
use daybreak_units::parameters::Value;
use serde::{Deserialize, Serialize};

/// A host or a switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Unique name.
    pub name: String,
    /// Host or switch. Flows start and end at hosts.
    pub kind: NodeKind,
}

/// Kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// Runs TCP.
    Host,
    /// Forwards.
    Switch,
}

/// A unidirectional link: a serialiser, then a pipe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Unique name.
    pub name: String,
    /// Node at its start.
    pub from: u32,
    /// Node at its end.
    pub to: u32,
    /// Rate, at least 1 Mbit/s.
    pub rate_bps: u64,
    /// Propagation delay.
    pub delay_ps: u64,
    /// Bytes on the wire of every packet beyond its IP length (preamble, header, FCS, gap).
    pub framing_bytes: u32,
    /// Probability that a packet is lost on the link, in parts per 10^9.
    pub loss_ppb: u32,
    /// Largest delay beyond `delay_ps`, drawn uniformly from zero to this; packets keep their order.
    pub jitter_ps: u64,
    /// How it chooses among several queues.
    pub scheduler: Scheduler,
}

/// How a link chooses among queues that have a packet for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Scheduler {
    /// One packet of each in turn.
    RoundRobin,
    /// The queue of the highest priority; one packet of each in turn if several have it.
    StrictPriority,
}

/// An entry of a registry, with its non-default parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Name in the registry.
    pub name: String,
    /// Parameters by name.
    pub parameters: BTreeMap<String, Value>,
}

impl Choice {
    /// The entry of this name with its defaults.
    pub fn plain(name: &str) -> Self {
        Self { name: name.to_owned(), parameters: BTreeMap::new() }
    }

    /// The parameters in the form that registries take.
    pub fn given(&self) -> impl Iterator<Item = (&str, Value)> {
        self.parameters.iter().map(|(name, &value)| (name.as_str(), value))
    }
}

/// A queue. A packet that a link is sending has left it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// Unique name.
    pub name: String,
    /// Its node.
    pub node: u32,
    /// Queue discipline.
    pub discipline: Choice,
    /// Limit in packets; null for no limit.
    pub limit_packets: Option<u64>,
    /// Limit in bytes (IP length); null for no limit.
    pub limit_bytes: Option<u64>,
    /// Links that may serve it, in the order in which they are tried; all start at `node`.
    pub served_by: Vec<u32>,
    /// A link with strict priority serves the queue with the greatest value first; 0 elsewhere.
    pub priority: u8,
    /// Capacity for packets that come back from a full queue further on. They do not count against the limits and are
    /// served before the others. Null if none can come back.
    pub returned_limit_packets: Option<u64>,
}

/// A switch rule that a timeline changes: packets that arrive take the path in force now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RouteSwitch {
    /// Unique name.
    pub name: String,
    /// Node that decides.
    pub node: u32,
    /// Paths from here to the destination.
    pub alternatives: Vec<u32>,
    /// Alternative in force at the start.
    pub initial: u32,
    /// Limit on packets held while dark; null for no limit.
    pub hold_limit_packets: Option<u64>,
}

/// A queue after which paths differ, depending on the link that serves a packet, or on overflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fork {
    /// The queue.
    pub queue: u32,
    /// The rest of the path for each link that may serve the queue.
    pub tails: Vec<Tail>,
    /// Path of a packet that finds the queue full, taken at once; null if it is lost.
    pub overflow: Option<u32>,
}

/// The rest of the path after one link of a fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Tail {
    /// The link.
    pub link: u32,
    /// Path from the end of the link to the destination; an empty one if the link ends there.
    pub path: u32,
}

/// A mark that can be written on packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// Unique name.
    pub name: String,
    /// How the receiving host perceives it.
    pub shown_as: ShownAs,
}

/// How a mark is shown to the host that receives the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ShownAs {
    /// The ECE flag of the TCP header is set.
    Ece,
}

/// A place that marks the packets that pass while it is on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Marker {
    /// Unique name.
    pub name: String,
    /// Its node.
    pub node: u32,
    /// The mark.
    pub mark: u32,
    /// Whether it is on at the start.
    pub on: bool,
}

/// A periodic program: at `start_ps + offset` of each step, and again every `period_ps`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Timeline {
    /// Unique name.
    pub name: String,
    /// Start of the first period.
    pub start_ps: u64,
    /// Length of a period; longer than every offset.
    pub period_ps: u64,
    /// Steps in the order of their offsets.
    pub steps: Vec<TimelineStep>,
}

/// One step of a timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TimelineStep {
    /// Time after the start of the period.
    pub offset_ps: u64,
    /// Actions, in order.
    pub actions: Vec<Action>,
}
