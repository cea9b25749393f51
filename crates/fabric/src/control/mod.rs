//! The only things that change a fabric while it runs: timelines and controllers. Every engine has a
//! [`Control`](crate::Control), calls it when it is due, and notifies it of flows that start and end.

mod action;
mod broker;
mod controller;
mod elephants;
mod entry;
mod grants;
mod queue_threshold;
mod registry;
#[cfg(test)]
mod testing;
mod timeline;

pub use action::{Action, Change};
pub use controller::{Controller, Counters, Decision, Orders, Passed, Report};
pub use entry::{Circuit, Controls, Entry};
pub use grants::{ControlledFlow, Flows};
pub use registry::{REGISTRY, find};
pub use timeline::{Timeline, TimelineStep};
