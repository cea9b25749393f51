//! Samples: the RTT and its minimum, and the delivery rate.

pub(super) mod min_rtt;
pub(super) mod rate_sample;
pub(super) mod rtt;
