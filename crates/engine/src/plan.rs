//! The Plan: a scenario in its resolved machine form. Integers only (picoseconds, bytes, bit/s);
//! things refer to each other by their index in the Plan's lists. The scenario layer makes it, every
//! engine runs it. Unknown fields are errors. Steps, actions and downtime policies are the fabric's own.

pub use daybreak_fabric::Step;
pub use daybreak_fabric::circuit::Downtime;
pub use daybreak_fabric::control::Action;
use serde::{Deserialize, Serialize};

/// Version of the format; a Plan of another version is refused.
pub const PLAN_VERSION: u32 = 1;

/// Everything that one run needs, and nothing that depends on the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// [`PLAN_VERSION`].
    pub version: u32,
    /// Seed of every random stream that the engine draws from (random loss, rules).
    pub seed: u64,
    /// End of the run at the latest.
    pub end_ps: u64,
    /// Stop as soon as every flow of limited size is complete.
    pub stop_when_flows_complete: bool,
    /// Hosts and switches.
    pub nodes: Vec<Node>,
    /// Unidirectional links.
    pub links: Vec<Link>,
    /// Queues, each served by one or more links that start at its node.
    pub queues: Vec<Queue>,
    /// Places where a path has alternatives that a timeline chooses from.
    pub branches: Vec<Branch>,
    /// Periodic programs that change the fabric.
    pub timelines: Vec<Timeline>,
    /// TCP stacks; flows refer to them.
    pub stacks: Vec<Stack>,
    /// Flows.
    pub flows: Vec<Flow>,
    /// What is recorded.
    pub records: Records,
}

/// A host or a switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Unique name.
    pub name: String,
    /// Host or switch. Flows start and end at hosts.
    pub kind: NodeKind,
}

/// Kind of a [`Node`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// Runs TCP.
    Host,
    /// Forwards.
    Switch,
}

/// A unidirectional link: a serialiser, then a pipe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Unique name.
    pub name: String,
    /// Node at its start.
    pub from: u32,
    /// Node at its end.
    pub to: u32,
    /// Rate, at least 1 Mbit/s.
    pub rate_bps: u64,
    /// Propagation delay.
    pub delay_ps: u64,
    /// Bytes that every packet takes on the wire beyond its IP length (preamble, header, FCS, gap).
    pub framing_bytes: u32,
    /// Probability that a packet is lost on the link, in parts per 10^9.
    pub loss_ppb: u32,
    /// Most that a packet is late beyond `delay_ps`, drawn evenly from zero to this; packets keep their order.
    #[serde(default)]
    pub jitter_ps: u64,
}

/// A FIFO queue with a drop-tail limit. The packet that a link is sending no longer counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// Unique name.
    pub name: String,
    /// Node that it stands at.
    pub node: u32,
    /// Name of the queue discipline in the registry ("drop_tail").
    pub kind: String,
    /// Most packets that may wait.
    pub limit_packets: Option<u64>,
    /// Most bytes (IP length) that may wait.
    pub limit_bytes: Option<u64>,
    /// Links that may serve it, in the order in which they are tried; all start at `node`.
    pub served_by: Vec<u32>,
}

/// A switch rule that a timeline changes: packets that arrive take the alternative in force now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// Unique name.
    pub name: String,
    /// Node that decides.
    pub node: u32,
    /// Tails of the path from here to the destination.
    pub alternatives: Vec<Vec<Step>>,
    /// Alternative in force at the start.
    pub initial: u32,
    /// Most packets that are held while dark under [`Downtime::Hold`]; `None` for no limit.
    pub hold_limit_packets: Option<u64>,
}

/// A periodic program: at `start_ps + offset` of each step, and again every `period_ps`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timeline {
    /// Unique name.
    pub name: String,
    /// Start of the first period.
    pub start_ps: u64,
    /// Length of a period; longer than every offset.
    pub period_ps: u64,
    /// Steps in the order of their offsets.
    pub steps: Vec<TimelineStep>,
}

/// One step of a [`Timeline`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimelineStep {
    /// Time after the start of the period.
    pub offset_ps: u64,
    /// What is done, in this order.
    pub actions: Vec<Action>,
}

/// A TCP stack: Linux's sysctls by their names, in integers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stack {
    /// Unique name.
    pub name: String,
    /// IP packet size limit.
    pub mtu: u32,
    /// Initial window in segments.
    pub initial_window: u32,
    /// Upper bound of the congestion window in segments; `None` for none.
    pub cwnd_clamp: Option<u32>,
    /// Timer ticks a second (CONFIG_HZ).
    pub hz: u32,
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
    /// `tcp_recovery`: bit 0 is RACK.
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
    /// Largest burst handed to the NIC at once (TSO), bytes; 0 is off.
    pub tso_max_bytes: u32,
    /// `tcp_limit_output_bytes`; `None` switches TCP small queues off.
    pub tcp_limit_output_bytes: Option<u64>,
    /// `tcp_no_metrics_save`: a flow starts without what an earlier one has learnt of the destination.
    #[serde(default = "on")]
    pub tcp_no_metrics_save: bool,
    /// `tcp_no_ssthresh_metrics_save`: the same for the slow-start threshold alone.
    #[serde(default = "on")]
    pub tcp_no_ssthresh_metrics_save: bool,
    /// `SO_MAX_PACING_RATE` in bit/s; `None` for no limit. A rule that needs pacing paces either way.
    pub max_pacing_rate_bps: Option<u64>,
}

fn on() -> bool {
    true
}

/// One TCP connection with a bulk transfer from `src` to `dst`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Unique name.
    pub name: String,
    /// Group that figures and metrics add up.
    pub group: String,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Congestion control of the sender, by its name in the registry.
    pub variant: String,
    /// Stack of the sender.
    pub src_stack: u32,
    /// Stack of the receiver.
    pub dst_stack: u32,
    /// Payload to transfer; 0 for no limit.
    pub bytes: u64,
    /// When the sender opens the connection.
    pub start_ps: u64,
    /// Steps from the sender's NIC queue to the receiver.
    pub data_path: Vec<Step>,
    /// Steps from the receiver's NIC queue to the sender.
    pub ack_path: Vec<Step>,
}

/// What is recorded. Everything that is off costs nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Records {
    /// Width of the throughput bins; `None` for no bins.
    pub bin_ps: Option<u64>,
    /// Links on which each flow's wire bytes are binned (the taps).
    pub tap_links: Vec<u32>,
    /// Links whose total bytes are binned.
    pub bin_links: Vec<u32>,
    /// Bin the payload that each receiver delivers.
    pub bin_delivered: bool,
    /// Interval of the window samples of every sender; 0 samples on every ACK; `None` for none.
    pub window_ps: Option<u64>,
    /// Interval of the queue samples; `None` for none.
    pub queue_ps: Option<u64>,
    /// Queues that are sampled.
    pub queues: Vec<u32>,
    /// One row for every lost packet.
    pub drops: bool,
    /// One row for every timeline step.
    pub circuits: bool,
    /// One-way delay histogram of every flow.
    pub latency: bool,
    /// Links whose packets are captured as pcapng, at the start of each link.
    pub capture_links: Vec<u32>,
    /// Bytes of each packet that are kept in the capture, headers included.
    pub capture_snaplen: u32,
}
