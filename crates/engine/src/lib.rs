//! Runs a Plan: the event queue, the wiring of TCP endpoints to the fabric, the applications.

pub mod plan;

pub use plan::Plan;
