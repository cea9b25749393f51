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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_ack_ends_it() {
        let (window, ack) = (Window::new(1_000, u32::MAX), AckArrival::default());
        assert!(!Classic.is_over(&window, &ack, Duration::from_secs(9), Duration::from_ms(1)));
    }
}
