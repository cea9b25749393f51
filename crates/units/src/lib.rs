//! The dimensions of Daybreak: time in integer picoseconds, link rates, seeded random streams, parameters with units, and
//! the ECN field, which TCP and the fabric both speak of.
//!
//! One type a dimension; arithmetic that makes no physical sense (adding two instants) does not compile.
//! Text such as "10 Gbit/s" is known only to the scenario parser, never here.

mod ecn;
pub mod parameters;
mod random;
mod rate;
mod time;

pub use ecn::Ecn;
pub use random::{Stream, splitmix};
pub use rate::{ByteTime, Rate};
pub use time::{Duration, Instant};
