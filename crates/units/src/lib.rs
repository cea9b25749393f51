//! The basic types of Daybreak: time in integer picoseconds, link rates, seeded random streams, parameters with units,
//! and what both TCP and the fabric use: the ECN field, and the storage of their queues.
//!
//! One type per dimension; arithmetic that makes no physical sense (adding two instants) does not compile.
//! Only the scenario parser reads text such as "10 Gbit/s".

mod ecn;
pub mod parameters;
mod random;
mod rate;
mod ring_buffer;
mod time;

pub use ecn::Ecn;
pub use random::{Stream, splitmix};
pub use rate::{ByteTime, Rate};
pub use ring_buffer::RingBuffer;
pub use time::{Duration, Instant};
