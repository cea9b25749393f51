//! Slow-start rules: when has the window grown far enough?
//!
//! Growth itself is [`Window::slow_start`](crate::congestion::Window::slow_start), one segment for
//! each one acknowledged. A rule here only decides when slow start ends before a loss ends it, so
//! any congestion rule can carry any of them as a type parameter.

use daybreak_units::Duration;

use crate::congestion::{AckArrival, Context, Window};

mod classic;
mod hystart;

pub use classic::Classic;
pub use hystart::HyStart;

/// Decides when slow start ends.
pub trait SlowStart: std::fmt::Debug + Send + Default {
    /// Forget everything; a new round begins with `snd_nxt`. Called when the connection is
    /// established and after a retransmission timeout.
    fn restart(&mut self, ctx: &Context);

    /// Looks at one ACK with an RTT sample that arrived in slow start. `min_delay` is the smallest
    /// RTT that the congestion rule has accepted, this one included. True: slow start is over, and
    /// the caller sets `ssthresh` to `cwnd`.
    fn is_over(&mut self, window: &Window, ack: &AckArrival, rtt: Duration, min_delay: Duration) -> bool;

    /// The window is about to grow by an ACK in slow start, since it was the limit.
    fn on_growth(&mut self, _window: &Window, _ack: &AckArrival) {}
}
