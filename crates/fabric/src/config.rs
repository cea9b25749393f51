//! The configuration of a fabric.

use daybreak_units::parameters::Settings;

use crate::control::Change;
use crate::link::LinkConfig;
use crate::path::{ForkConfig, MarkerConfig, RouteSwitchConfig, Step};
use crate::queue::{Entry, Limits};

/// The complete configuration. Things refer to each other by their index in these lists.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Links.
    pub links: Vec<LinkConfig>,
    /// Queues.
    pub queues: Vec<QueueConfig>,
    /// Places where the path can be switched.
    pub route_switches: Vec<RouteSwitchConfig>,
    /// Queues after which the path depends on the link.
    pub forks: Vec<ForkConfig>,
    /// Places where packets are marked.
    pub markers: Vec<MarkerConfig>,
    /// Paths and parts of paths. A packet that has completed the last step is delivered.
    pub paths: Vec<Vec<Step>>,
    /// Everything that may ever change; no other action can be applied.
    pub changes: Vec<Change>,
    /// Seed of the run, for the draws of links and disciplines.
    pub seed: u64,
    /// No packet has more bytes than this (IP length).
    pub largest_packet: u32,
    /// Initial capacity of the packet slab.
    pub packets: usize,
}

/// A queue at the start of a run. All its gates are open.
#[derive(Clone, Debug)]
pub struct QueueConfig {
    /// Its discipline.
    pub discipline: &'static Entry,
    /// The settings of the discipline.
    pub settings: Settings,
    /// Its limits.
    pub limits: Limits,
    /// Links that may serve it, in the order in which they are tried.
    pub served_by: Vec<u32>,
    /// A link serves its queues with the highest priority first, in turn.
    pub priority: u8,
    /// Capacity for packets returned by a queue further on; `None` if none can return.
    pub returned_limit: Option<u64>,
    /// Each packet is observed: the monitor is notified of every packet that enters, leaves or crosses the link, at
    /// that time.
    pub observed: bool,
    /// The monitor is notified of each packet that its link sends, possibly in advance ([`crate::Monitor::link_sent`]).
    pub metered: bool,
    /// Announced packets enter the fabric here ([`crate::Fabric::send_announced`]).
    pub announced: bool,
    /// Name of the queue, after which its random stream is named.
    pub stream: String,
}
