//! What hosts do, whatever carries it: the applications of a plan's flows.
//!
//! An application on a stream is a sequence of socket calls ([`Calls`]). The guest makes them one after the other, in a
//! thread with a real socket; the simulator's [`Process`] makes those that need not wait, and says what it waits for.
//! [`Exchanges`] tells when requests are answered from how much has been delivered, on both engines alike.
//!
//! An application of datagrams has times at which it sends ([`ConstantRate`]), a head that each [`Datagram`] carries,
//! and what its receiver counts ([`Received`]).
//!
//! Nothing here has a clock, a socket or a random number.

mod calls;
mod constant_rate;
mod exchanges;
mod process;

pub use calls::{Call, Calls};
pub use constant_rate::{ConstantRate, Datagram, Received, UDP_HEADER};
pub use exchanges::Exchanges;
pub use process::Process;
