//! The network between the hosts: packets, queues, links, routes, gates and the timelines that
//! change them. Sans-IO: it is given the time, and requests its next call through [`Schedule`].
//!
//! **Models** unidirectional links (a serialiser of a fixed rate, then a pipe of a fixed delay, with
//! optional independent random loss), FIFO queues that one or more links pull from through gates,
//! static paths with branches that a timeline switches, and what becomes of packets in the night.
//! **Does not model** switch-internal delay, shared buffers, or bit errors that a link would detect.
//! The packet in service has left its queue and no longer counts against the queue's limit.
//!
//! The packet body is a type parameter: the simulator puts a TCP segment there, an engine that
//! carries real frames a reference to one. Nothing in here looks into it.

mod analytic;
mod analytic_link;
pub mod circuit;
mod config;
pub mod control;
mod impairment;
mod link;
mod monitor;
mod network;
mod packet;
mod path;
mod prefetch;
pub mod queue;
mod repeats;
mod ring;
mod schedule;
mod scheduler;
mod totals;

pub use config::{Config, QueueConfig};
pub use daybreak_units::Ecn;
pub use impairment::Impairment;
pub use link::LinkConfig;
pub use monitor::{DropReason, Monitor, Place, Unobserved};
pub use network::{Context, Control, Departure, Fabric};
pub use packet::{Content, Header, NewPacket, Packet, PacketId, Slab};
pub use path::{ForkConfig, MarkerConfig, RouteSwitchConfig, Step};
pub use repeats::Identity;
pub use schedule::{Schedule, Wake, tie_break};
pub use totals::{Census, LinkTotals, QueueTotals};
