//! The settings of one TCP stack. Names and defaults are those of Linux 6.1's sysctls.

use daybreak_units::{Duration, Instant, Rate};

pub use crate::profile::Profile;

/// Limits of a socket buffer in bytes: minimum, default, maximum (`tcp_rmem`, `tcp_wmem`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferLimits {
    /// Never less.
    pub min: u64,
    /// At the start of a connection.
    pub default: u64,
    /// Autotuning's limit.
    pub max: u64,
}

/// How a host's NIC lays received frames into memory, which is what they cost of the receive buffer. Drivers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveBuffers {
    /// A frame that takes less than this with its headroom of 16 bytes lies in one buffer, a power of two in size. Of a
    /// larger one the headers do, in 512 bytes, and the payload in pages. Nothing is below 193 bytes.
    pub linear: u32,
    /// Bytes of a page.
    pub page: u32,
}

impl Default for ReceiveBuffers {
    fn default() -> Self {
        Self { linear: 4_096, page: 4_096 }
    }
}

/// `net.ipv4.tcp_ecn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnMode {
    /// Neither request ECN nor grant it.
    Off,
    /// Ask for it and grant it.
    On,
    /// Grant it when the peer requests it.
    Passive,
}

/// The settings of one endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// IP packet size limit of the path in bytes; the MSS is this less 40.
    pub mtu: u32,
    /// Initial window in segments (RFC 6928).
    pub initial_window: u32,
    /// Initial slow-start threshold in segments.
    pub initial_ssthresh: u32,
    /// Upper bound of the congestion window in segments (`snd_cwnd_clamp`).
    pub cwnd_clamp: u32,
    /// Length of a timer tick: jiffy-based timers are rounded to it. 1/HZ.
    pub jiffy: Duration,
    /// Length of a tick of the timestamp option; 1 ms in Linux.
    pub timestamp_tick: Duration,
    /// What the timestamp option's clock shows at the start, less one. With `tcp_timestamps` 1 Linux draws it for each
    /// pair of addresses.
    pub timestamp_offset: u32,
    /// Lower bound of the variance term of the RTO: 200 ms in Linux (`rto_min`).
    pub rto_min: Duration,
    /// Upper bound of the RTO: 120 s.
    pub rto_max: Duration,
    /// RTO before the first RTT sample: 1 s (RFC 6298, section 2.1).
    pub rto_initial: Duration,
    /// Shortest delayed-ACK time: 40 ms.
    pub delayed_ack_min: Duration,
    /// Longest delayed-ACK time: 200 ms.
    pub delayed_ack_max: Duration,
    /// Receive buffer limits (`tcp_rmem`).
    pub rmem: BufferLimits,
    /// Send buffer limits (`tcp_wmem`).
    pub wmem: BufferLimits,
    /// `tcp_moderate_rcvbuf`: let the receive window grow with the flow.
    pub receive_autotuning: bool,
    /// `tcp_adv_win_scale`: the part of the receive buffer that is window; 1 means half.
    pub adv_win_scale: i8,
    /// The buffers of the host's NIC.
    pub receive_buffers: ReceiveBuffers,
    /// `tcp_window_scaling`.
    pub window_scaling: bool,
    /// `tcp_timestamps`.
    pub timestamps: bool,
    /// `tcp_sack`.
    pub sack: bool,
    /// `tcp_dsack`.
    pub dsack: bool,
    /// `tcp_frto`.
    pub frto: bool,
    /// `tcp_early_retrans` 3: tail loss probes.
    pub tail_loss_probe: bool,
    /// `tcp_recovery` bit 0: RACK loss detection.
    pub rack: bool,
    /// Bit 1: RACK's reordering window stays a quarter of the minimum RTT, whatever DSACKs report.
    pub rack_static_window: bool,
    /// Bit 2: RACK waits for its reordering window where `reordering` segments are SACKed as well.
    pub rack_no_threshold: bool,
    /// `tcp_reordering`: initial reordering degree.
    pub reordering: u32,
    /// `tcp_max_reordering`.
    pub max_reordering: u32,
    /// `tcp_slow_start_after_idle`.
    pub slow_start_after_idle: bool,
    /// `tcp_ecn`.
    pub ecn: EcnMode,
    /// `tcp_comp_sack_delay_ns`: longest delay of a compressed SACK; zero sends every one.
    pub comp_sack_delay: Duration,
    /// `tcp_comp_sack_slack_ns`.
    pub comp_sack_slack: Duration,
    /// `tcp_comp_sack_nr`.
    pub comp_sack_nr: u32,
    /// Largest burst handed to the NIC at once in bytes (TSO); one segment when zero.
    pub tso_max_bytes: u32,
    /// `tcp_limit_output_bytes`, the upper limit of TCP small queues; `None` switches them off.
    pub limit_output_bytes: Option<u64>,
    /// Pacing rate limit of the socket (`SO_MAX_PACING_RATE`); zero for none.
    pub max_pacing_rate: Rate,
    /// `tcp_pacing_ss_ratio`: percent of cwnd/srtt paced in slow start.
    pub pacing_ss_ratio: u32,
    /// `tcp_pacing_ca_ratio`.
    pub pacing_ca_ratio: u32,
    /// What this stack does otherwise than Linux 6.1.192.
    pub profile: Profile,
}

impl Config {
    /// The timestamp option's clock (RFC 7323, section 5.4) at `now`: its offset, the ticks since the start, and one,
    /// since a segment without the option has `ts_val` 0.
    pub fn timestamp(&self, now: Instant) -> u32 {
        TimestampClock::new(self).at(now)
    }
}

/// The timestamp option's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimestampClock {
    /// Length of its tick.
    pub tick: Duration,
    offset: u32,
}

impl TimestampClock {
    pub fn new(config: &Config) -> Self {
        Self { tick: config.timestamp_tick, offset: config.timestamp_offset }
    }

    /// What it shows at `now`.
    pub fn at(self, now: Instant) -> u32 {
        ((now.as_ps() / self.tick.as_ps().max(1)) as u32).wrapping_add(self.offset).wrapping_add(1)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mtu: 1500,
            initial_window: 10,
            initial_ssthresh: u32::MAX,
            cwnd_clamp: u32::MAX,
            jiffy: Duration::from_ms(1),
            timestamp_tick: Duration::from_ms(1),
            timestamp_offset: 0,
            rto_min: Duration::from_ms(200),
            rto_max: Duration::from_secs(120),
            rto_initial: Duration::from_secs(1),
            delayed_ack_min: Duration::from_ms(40),
            delayed_ack_max: Duration::from_ms(200),
            rmem: BufferLimits { min: 4_096, default: 131_072, max: 6_291_456 },
            wmem: BufferLimits { min: 4_096, default: 16_384, max: 4_194_304 },
            receive_autotuning: true,
            adv_win_scale: 1,
            receive_buffers: ReceiveBuffers::default(),
            window_scaling: true,
            timestamps: true,
            sack: true,
            dsack: true,
            frto: true,
            tail_loss_probe: true,
            rack: true,
            rack_static_window: false,
            rack_no_threshold: false,
            reordering: 3,
            max_reordering: 300,
            slow_start_after_idle: true,
            ecn: EcnMode::Passive,
            comp_sack_delay: Duration::from_ms(1),
            comp_sack_slack: Duration::from_us(100),
            comp_sack_nr: 44,
            tso_max_bytes: 0,
            limit_output_bytes: Some(1_048_576),
            max_pacing_rate: Rate::ZERO,
            pacing_ss_ratio: 200,
            pacing_ca_ratio: 120,
            profile: Profile::default(),
        }
    }
}
