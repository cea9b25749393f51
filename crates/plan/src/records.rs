//! What a run records.

use serde::{Deserialize, Serialize};

/// Selects what is recorded. Records that are off cost nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Records {
    /// Width of the throughput bins; null for no bins.
    pub bin_ps: Option<u64>,
    /// Links on which each flow's wire bytes are binned (the taps).
    pub tap_links: Vec<u32>,
    /// Links whose total bytes are binned.
    pub bin_links: Vec<u32>,
    /// Bin the payload that reaches each receiver, and the payload that it delivers.
    pub bin_delivered: bool,
    /// Interval of the window samples of every sender; 0 samples on every ACK; null for none.
    pub window_ps: Option<u64>,
    /// Interval of the queue samples; null for none.
    pub queue_ps: Option<u64>,
    /// Queues that are sampled.
    pub queues: Vec<u32>,
    /// One row for every lost packet.
    pub drops: bool,
    /// Width of the bins in which lost packets are counted; null for no such bins.
    #[serde(default)]
    pub loss_bin_ps: Option<u64>,
    /// One row for every timeline step.
    pub circuits: bool,
    /// One-way delay histogram of every flow.
    pub latency: bool,
    /// Links whose packets are listed one by one, at the start of each link.
    #[serde(default)]
    pub packet_links: Vec<u32>,
    /// Links whose packets are captured as pcapng, at the start of each link.
    pub capture_links: Vec<u32>,
    /// Bytes of each packet that are kept in the capture, headers included.
    pub capture_snaplen: u32,
    /// The flows that taps, bins of payload, window samples and lost packets are about; null for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("omitted" = true)))]
    pub flows: Option<Vec<u32>>,
}
