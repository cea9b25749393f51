//! Reconfiguration: gates between queues and links, and the policies for the time in which a route or a gate is dark.

mod downtime;
mod gate;

pub use downtime::{AtGate, AtRoute, Downtime, Effect};
pub(crate) use gate::{Gate, GateState};
