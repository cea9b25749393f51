//! TCP as Linux 6.1 does it, without any input or output: segments, times and application requests
//! go in, segments and deadlines come out.

pub mod config;
pub mod congestion;
mod jiffies;
pub mod receiver;
mod segment;
pub mod slow_start;

pub use segment::{Ecn, Flags, SackBlock, Segment, SynOptions};
