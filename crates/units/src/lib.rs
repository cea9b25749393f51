//! The dimensions of Daybreak: time in integer picoseconds, link rates, seeded random streams, and
//! parameters with units.
//!
//! One type a dimension; arithmetic that makes no physical sense (adding two instants) does not compile.
//! Text such as "10 Gbit/s" is known only to the scenario parser, never here.

pub mod parameters;
mod random;
mod rate;
mod time;

pub use random::{Stream, splitmix};
pub use rate::{ByteTime, Rate};
pub use time::{Duration, Instant};
