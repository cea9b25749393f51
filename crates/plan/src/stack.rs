//! TCP stacks.

use serde::{Deserialize, Serialize};

/// A version of Linux that is modelled completely: see `daybreak_tcp::profile`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Linux {
    /// The default.
    #[default]
    #[serde(rename = "6.1")]
    V6_1,
    /// Its differences are a list of behaviours.
    #[serde(rename = "6.12")]
    V6_12,
    /// These and some more.
    #[serde(rename = "7.3")]
    V7_3,
}

impl Linux {
    /// Its name in scenarios and dialogues.
    pub fn version(self) -> &'static str {
        match self {
            Self::V6_1 => "6.1",
            Self::V6_12 => "6.12",
            Self::V7_3 => "7.3",
        }
    }
}

/// A mechanism of older stacks that Linux 6.1 does not have: see `daybreak_tcp::profile`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Legacy {
    /// Forward acknowledgement instead of RACK.
    Fack,
    /// No proportional rate reduction.
    WindowAtOnce,
    /// No reduction is undone.
    NoUndo,
    /// An ACK for every packet.
    AckEveryPacket,
    /// Duplicate ACKs restart the retransmission timer.
    RtoRestart,
    /// SACK information is discarded when fast recovery ends.
    ForgetSacks,
    /// SACK blocks are whole ranges.
    WholeRanges,
    /// Some rules count ACKs instead of segments.
    CountAcks,
    /// DCTCP takes a loss for a mark.
    LossAsMark,
    /// BBR does not count what is acknowledged in bunches.
    NoAckAggregation,
    /// BBR's window has room to probe in all phases.
    WideProbes,
    /// Pacing by a timer from segment to segment.
    TimerPacing,
    /// CUBIC and HyStart measure in milliseconds.
    MsDelays,
    /// Segmentation bursts do not depend on the RTT.
    NoRttBursts,
    /// Whether a burst may wait is counted in ticks.
    TickBursts,
    /// RACK beside the count of SACKed segments.
    EarlyRack,
    /// Proportional rate reduction rebuilds the window only after retransmissions that arrive.
    PrrByRetransmission,
    /// The probe and reordering timers add two ticks to the measured time, not 2 ms.
    TwoTickSlack,
    /// The receiver checks no timestamps.
    NoPaws,
    /// The window of a fast recovery is half the threshold.
    HalfThreshold,
    /// Congestion control gets no RTT from timestamps.
    NoEchoSamples,
    /// There is no receive window.
    NoReceiveWindow,
}

/// How a host's NIC stores received frames in memory: see `daybreak_tcp::config::ReceiveBuffers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReceiveBuffers {
    /// A frame below this size, with its headroom, is stored in one buffer; the payload of a larger one in pages.
    pub linear_bytes: u32,
    /// Size of a page.
    pub page_bytes: u32,
}

impl Default for ReceiveBuffers {
    fn default() -> Self {
        Self { linear_bytes: 4_096, page_bytes: 4_096 }
    }
}

/// A TCP stack: Linux's sysctls by their names, in integers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Stack {
    /// Unique name.
    pub name: String,
    /// Version of Linux whose TCP it models.
    #[serde(default)]
    pub linux: Linux,
    /// IP packet size limit.
    pub mtu: u32,
    /// Initial window in segments.
    pub initial_window: u32,
    /// Upper bound of the congestion window in segments; null for none.
    pub cwnd_clamp: Option<u32>,
    /// Timer ticks per second (CONFIG_HZ).
    pub hz: u32,
    /// Factor by which the hosts' clocks run faster than the network's time: all timers and measured times of the stack
    /// are in the hosts' time. 1 for undilated clocks.
    #[serde(default = "one")]
    pub timer_dilation: u32,
    /// Minimum RTO.
    pub rto_min_ps: u64,
    /// Shortest delayed-ACK time.
    pub delayed_ack_min_ps: u64,
    /// Longest delayed-ACK time.
    pub delayed_ack_max_ps: u64,
    /// `tcp_rmem`: minimum, default, maximum.
    pub tcp_rmem: [u64; 3],
    /// `tcp_wmem`: minimum, default, maximum.
    pub tcp_wmem: [u64; 3],
    /// `tcp_moderate_rcvbuf`.
    pub tcp_moderate_rcvbuf: bool,
    /// `tcp_adv_win_scale`.
    pub tcp_adv_win_scale: i8,
    /// The buffers of the host's NIC.
    #[serde(default)]
    pub receive_buffers: ReceiveBuffers,
    /// `tcp_window_scaling`.
    pub tcp_window_scaling: bool,
    /// `tcp_timestamps`.
    pub tcp_timestamps: bool,
    /// `tcp_sack`.
    pub tcp_sack: bool,
    /// `tcp_dsack`.
    pub tcp_dsack: bool,
    /// `tcp_frto` (0 or 2).
    pub tcp_frto: u32,
    /// `tcp_early_retrans` (0 or 3): tail loss probes.
    pub tcp_early_retrans: u32,
    /// `tcp_recovery`: bit 0 is RACK, bit 1 keeps its reordering window as it is, bit 2 makes it wait for that window
    /// whatever the reordering degree.
    pub tcp_recovery: u32,
    /// `tcp_reordering`.
    pub tcp_reordering: u32,
    /// `tcp_max_reordering`.
    pub tcp_max_reordering: u32,
    /// `tcp_slow_start_after_idle`.
    pub tcp_slow_start_after_idle: bool,
    /// `tcp_ecn`: 0 off, 1 on, 2 passive.
    pub tcp_ecn: u32,
    /// `tcp_comp_sack_delay_ns`.
    pub tcp_comp_sack_delay_ns: u64,
    /// `tcp_comp_sack_slack_ns`.
    pub tcp_comp_sack_slack_ns: u64,
    /// `tcp_comp_sack_nr`.
    pub tcp_comp_sack_nr: u32,
    /// Largest burst handed to the NIC at once (TSO) in bytes; 0 disables TSO.
    pub tso_max_bytes: u32,
    /// `tcp_limit_output_bytes`; null disables TCP small queues.
    pub tcp_limit_output_bytes: Option<u64>,
    /// `tcp_no_metrics_save`: a flow starts without cached metrics of the destination.
    pub tcp_no_metrics_save: bool,
    /// `tcp_no_ssthresh_metrics_save`: a flow starts without a cached slow-start threshold.
    pub tcp_no_ssthresh_metrics_save: bool,
    /// Time-division TCP: separate congestion states for the packet network and the circuit.
    #[serde(default)]
    pub tdtcp: bool,
    /// Mechanisms of older stacks that this one has.
    pub legacy: Vec<Legacy>,
    /// `SO_MAX_PACING_RATE` in bit/s; null for no limit. A rule that needs pacing paces in any case.
    pub max_pacing_rate_bps: Option<u64>,
}

fn one() -> u32 {
    1
}
