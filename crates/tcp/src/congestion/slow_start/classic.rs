//! Classic slow start (RFC 5681, section 3.1): only a loss or `ssthresh` ends it.

use daybreak_units::Duration;

use super::SlowStart;
use crate::congestion::{AckArrival, Context, Window};

/// The rule without an early exit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Classic;

impl SlowStart for Classic {
    fn restart(&mut self, _ctx: &Context) {}

    fn is_over(&mut self, _window: &Window, _ack: &AckArrival, _rtt: Duration, _min_delay: Duration) -> bool {
        false
    }
}
