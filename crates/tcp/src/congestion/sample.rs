//! What a rule sees of an ACK: first what has arrived, and, once loss detection and the state machine have taken it, what
//! it has changed.

use daybreak_units::{Duration, Instant};

use super::CaState;

/// The delivery rate over the ACK's sampling interval (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Segments delivered in the interval; `None` when the ACK gives no valid sample.
    pub delivered: Option<u32>,
    /// Length of the interval: the longer of the send and the ACK phase.
    pub interval: Duration,
    /// The connection's `delivered` count when the sampled segment was sent.
    pub prior_delivered: u64,
    /// The sampled segment was sent while the application, not the window, was the limit.
    pub is_app_limited: bool,
    /// The RTT of the sampled segment came from a segment that was retransmitted, so it is unusable.
    pub is_retrans: bool,
    /// The ACK was delayed by the receiver's timer, as far as the sender can tell.
    pub is_ack_delayed: bool,
}

/// The timestamps of an ACK (RFC 7323, section 3) in ticks of their clocks, usually milliseconds. `value` and
/// `echo` are zero without the option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// The peer's clock when it sent the ACK (TSval).
    pub value: u32,
    /// Our clock when we sent what the ACK answers (TSecr).
    pub echo: u32,
    /// Our clock now.
    pub now: u32,
}

/// What an ACK shows on its arrival, while window and state are as they were before. Counts are segments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AckArrival {
    /// Arrival of the ACK.
    pub now: Instant,
    /// Newly acknowledged cumulatively.
    pub acked: u32,
    /// SACKed and not yet acknowledged cumulatively; without SACK, duplicate ACKs before this one.
    pub sacked_out: u32,
    /// RTT of the last-sent segment that this ACK newly acknowledges or SACKs; `None` when there is
    /// none that was sent only once.
    pub rtt: Option<Duration>,
    /// All segments delivered so far on this path.
    pub delivered: u64,
    /// Of these, by ACKs that echo congestion, where ECN was negotiated.
    pub delivered_ce: u64,
    /// What `delivered` was when the last-sent of the segments was sent that this ACK delivers.
    pub prior_delivered: u64,
    /// Congestion state before the ACK.
    pub state: CaState,
    /// First unacknowledged byte, after this ACK.
    pub snd_una: u64,
    /// Next byte to send.
    pub snd_nxt: u64,
    /// Sender maximum segment size in bytes.
    pub mss: u32,
    /// Timestamps of the ACK (RFC 7323).
    pub timestamps: Timestamps,
    /// The ACK took the receive fast path (header prediction): it has the window of the ACK before, no SACK, no
    /// ECN echo, and the sender has not closed. A duplicate without SACK does as well.
    pub is_fast_path: bool,
}

/// What an ACK has changed: all of it has been processed but the window. Counts are segments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AckSample {
    /// The ACK as it arrived.
    pub arrival: AckArrival,
    /// Newly delivered: cumulatively acknowledged or SACKed for the first time (`acked_sacked`).
    pub newly_delivered: u32,
    /// Newly marked lost by this ACK.
    pub newly_lost: u32,
    /// Smoothed RTT (RFC 6298) in eighths of a microsecond, as Linux keeps it; zero before the first sample.
    pub srtt: Duration,
    /// Minimum RTT over the windowed filter of the connection (`tcp_min_rtt`).
    pub min_rtt: Duration,
    /// In flight before the ACK was processed.
    pub prior_in_flight: u32,
    /// In flight after.
    pub in_flight: u32,
    /// All segments delivered so far on this path.
    pub delivered: u64,
    /// All segments marked lost so far.
    pub lost: u64,
    /// Delivery rate sample.
    pub rate: RateSample,
    /// Congestion state after this ACK was processed.
    pub state: CaState,
    /// The sender filled its window since the last ACKs: only then may the window grow (RFC 7661).
    pub is_cwnd_limited: bool,
    /// The ACK carries the ECE flag, whether ECN was negotiated or not.
    pub ece: bool,
    /// Earliest time at which pacing lets the next segment leave (`tcp_wstamp_ns`); not after the
    /// arrival when pacing holds nothing back.
    pub earliest_departure: Instant,
}

#[cfg(test)]
impl AckArrival {
    /// What has changed if nothing was lost and the window was full.
    pub(super) fn sample(self) -> AckSample {
        AckSample {
            arrival: self,
            newly_delivered: self.acked,
            delivered: self.delivered,
            state: self.state,
            is_cwnd_limited: true,
            ..AckSample::default()
        }
    }
}
