//! The only things that change a fabric while it runs: timelines and controllers. Every engine has a [`Control`], calls
//! it when it is due, and tells it which flows start and end.

mod action;
mod apply;
mod broker;
mod controller;
mod elephants;
mod entry;
mod grants;
mod queue_threshold;
mod registry;
mod room;
#[cfg(test)]
mod testing;
mod timeline;

pub use action::{Action, Change};
pub use controller::{Controller, Counters, Decision, Orders, Passed, Report};
pub use entry::{Circuit, Controls, Entry};
pub use grants::{ControlledFlow, Flows};
pub use registry::{REGISTRY, find};
pub use room::Control;
pub use timeline::{Timeline, TimelineStep};
