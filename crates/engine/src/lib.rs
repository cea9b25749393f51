//! Runs a [`Plan`](daybreak_plan::Plan): the event queue, the wiring of the hosts' ends of flows to the fabric.
//!
//! [`run`] runs a plan to its end. [`Simulation`] does the same in steps, so that a caller can show
//! progress or give up, and can capture packets. The same plan gives byte-identical records on every
//! machine and from any number of threads, one run per thread. [`replay`] feeds the segments that one end of a captured
//! conversation received to ours.

mod alarm;
mod capture;
mod error;
mod flow_packets;
mod lookahead;
mod metrics_cache;
mod nic_clock;
pub mod recorder;
pub mod replay;
mod schedule;
mod simulation;
mod transport;
mod wire;
pub mod wiring;

pub use capture::PcapngWriter;
pub use error::EngineError;
pub use flow_packets::PacketKey;
pub use nic_clock::NicClock;
pub use recorder::Recorder;
pub use simulation::{Progress, Records, Simulation, run};
pub use wire::{PacketNumbers, Shown};
