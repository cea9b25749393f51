//! The applications of a plan's flows, independent of the transport.
//!
//! An application on a stream is a sequence of socket calls ([`Calls`]). The guest makes them in a thread with a real
//! socket; the simulator's [`Process`] makes those that need not block, and exposes what it waits for. [`Exchanges`]
//! derives the completion of requests from the delivered bytes, identically on both engines.
//!
//! An application of datagrams has sending times ([`ConstantRate`]), a head in each [`Datagram`], and counters at its
//! receiver ([`Received`]).
//!
//! Nothing here uses a clock, a socket or random numbers.

mod calls;
mod constant_rate;
mod exchanges;
mod process;

pub use calls::{Call, Calls};
pub use constant_rate::{ConstantRate, Datagram, Received, UDP_HEADER};
pub use exchanges::Exchanges;
pub use process::Process;
