//! TCP as Linux 6.1 does it, without any input or output: segments, times and application requests
//! go in, segments and deadlines come out.

pub mod config;
pub mod congestion;
pub mod connection;
mod counters;
mod fast_path;
mod jiffies;
pub mod profile;
pub mod receiver;
mod segment;
mod sender;

pub use connection::Connection;
pub use counters::Counters;
pub use daybreak_units::Ecn;
pub use segment::{Flags, Header, SackBlock, Segment, SynOptions};
pub use sender::{EchoMarks, Metrics, PathChoice};
