//! The basic types of Daybreak: time in integer picoseconds, link rates, seeded random streams, parameters with units,
//! and the ECN field, which both TCP and the fabric use.
//!
//! One type per dimension; arithmetic that makes no physical sense (adding two instants) does not compile.
//! Only the scenario parser reads text such as "10 Gbit/s".

mod ecn;
pub mod parameters;
mod random;
mod rate;
mod time;

pub use ecn::Ecn;
pub use random::{Stream, splitmix};
pub use rate::{ByteTime, Rate};
pub use time::{Duration, Instant};
