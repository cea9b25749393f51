//! Where a dialogue is played: a namespace with the stack under test, set as the dialogue's header says, a
//! cable, and a packet socket at its other end.

use std::os::fd::AsRawFd;

use daybreak_dialogue::Script;
use daybreak_tcp::config::{Config, EcnMode};
use daybreak_units::Duration;

use super::warm_up;
use super::wire::{OWN, OWN_MAC, PEER, PEER_MAC};
use crate::error::GuestError;
use crate::interface::{
    self, ETHTOOL_SGRO, ETHTOOL_SGSO, ETHTOOL_STSO, Metrics, RTAX_CWND, RTAX_INITCWND, RTAX_RTT, RTAX_RTTVAR,
    RTAX_SSTHRESH,
};
use crate::netlink::Netlink;
use crate::system::{self, Fd};

const NIC: &str = "nic";
const CABLE: &str = "cable";

/// What the kernel has of congestion controls.
const RULES: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// The two namespaces of one dialogue; they go when this does.
#[derive(Debug)]
pub struct Stage {
    _own: Fd,
    _peer: Fd,
    /// Sees what leaves, and takes the peer's segments.
    pub packets: Fd,
}

/// Why a kernel cannot be set as the header says.
pub fn supports(script: &Script) -> Result<(), String> {
    let config = &script.config;
    let defaults = Config::default();
    if script.nic.is_some() {
        return Err("a NIC with a rate and a queue of its own".into());
    }
    if config.tso_max_bytes != 0 {
        return Err("segmentation offload".into());
    }
    let rules = std::fs::read_to_string(RULES).map_err(|error| format!("{RULES} cannot be read: {error}"))?;
    if !rules.split_whitespace().any(|rule| rule == script.variant) {
        return Err(format!("{}, which the kernel has not", script.variant));
    }
    let jiffy = Duration::from_ns(system::clock_resolution_ns(libc::CLOCK_MONOTONIC_COARSE));
    if config.jiffy != jiffy {
        return Err(format!("a jiffy of {}: the kernel image was built with {jiffy}", config.jiffy));
    }
    // These are constants of the kernel, and no line of a header sets them.
    debug_assert_eq!(
        (config.rto_max, config.rto_initial, config.timestamp_tick),
        (defaults.rto_max, defaults.rto_initial, defaults.timestamp_tick)
    );
    Ok(())
}

impl Stage {
    /// Makes the namespaces and leaves the calling thread in that of the stack under test.
    pub fn new(script: &Script) -> Result<Self, GuestError> {
        let peer = system::new_network()?;
        let own = system::new_network()?;
        system::enter_network(&peer)?;
        let mut netlink = Netlink::open()?;
        netlink.ask(&interface::cable(CABLE, NIC, &own))?;
        let device = system::device_index(CABLE)?;
        netlink.ask(&interface::up(device, 65_535))?;
        let packets = packet_socket(device)?;

        system::enter_network(&own)?;
        settings(&script.config)?;
        interface::no_offload(NIC, &[ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO])?;
        let device = system::device_index(NIC)?;
        let mut netlink = Netlink::open()?;
        netlink.ask(&interface::nic_up(device, OWN_MAC, script.config.mtu, 0))?;
        netlink.ask(&interface::address(device, OWN.ip))?;
        netlink.ask(&interface::route(device, OWN.ip, (PEER.ip, 32), &metrics(&script.config)))?;
        netlink.ask(&interface::neighbour(device, PEER.ip, PEER_MAC))?;
        let stage = Self { _own: own, _peer: peer, packets };
        if script.config.initial_ssthresh != u32::MAX || script.config.cwnd_clamp != u32::MAX {
            setting("tcp_no_metrics_save", "0")?;
            warm_up::make(&stage.packets, stage.socket(script)?)?;
        }
        setting("tcp_no_metrics_save", "1")?;
        Ok(stage)
    }

    /// Opens a TCP socket of the stack under test as the header says.
    pub fn socket(&self, script: &Script) -> Result<Fd, GuestError> {
        let socket = system::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_NONBLOCK, 0, "open a TCP socket")?;
        let fd = socket.as_raw_fd();
        let variant = &script.variant;
        system::set_option_str(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, variant, "choose the congestion control")?;
        let rate = script.config.max_pacing_rate.as_bps() / 8;
        if rate != 0 {
            system::set_option(fd, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &rate, "limit the pacing rate")?;
        }
        system::bind(fd, OWN, "bind the socket under test")?;
        Ok(socket)
    }
}

/// Sees the packets that come out of the cable, not those that go in.
fn packet_socket(device: u32) -> Result<Fd, GuestError> {
    const PACKET_IGNORE_OUTGOING: i32 = 23;
    const ROOM: i32 = 1 << 26;
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK;
    let socket = system::socket(libc::AF_PACKET, kind, 0, "open a packet socket")?;
    let fd = socket.as_raw_fd();
    system::set_option(fd, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1i32, "ignore outgoing packets")?;
    system::set_option(fd, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1i32, "pass the queue by")?;
    system::set_option(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &ROOM, "make room for packets")?;
    system::bind_to_device(fd, device, libc::ETH_P_IP as u16)?;
    Ok(socket)
}

/// What the header says and Linux keeps per route.
fn metrics(config: &Config) -> Metrics {
    let mut metrics = Metrics::default().put(RTAX_INITCWND, config.initial_window).lock(RTAX_RTT).lock(RTAX_RTTVAR);
    if config.initial_ssthresh != u32::MAX {
        metrics = metrics.fix(RTAX_SSTHRESH, config.initial_ssthresh);
    }
    if config.cwnd_clamp != u32::MAX {
        metrics = metrics.fix(RTAX_CWND, config.cwnd_clamp);
    }
    metrics
}

/// Writes the header's settings into the namespace of the stack under test.
fn settings(config: &Config) -> Result<(), GuestError> {
    let flag = |on: bool| u32::from(on).to_string();
    let limits = |limits: &daybreak_tcp::config::BufferLimits| {
        let max = limits.max.max(limits.default);
        format!("{} {} {max}", limits.min, limits.default)
    };
    let ecn = match config.ecn {
        EcnMode::Off => "0",
        EcnMode::On => "1",
        EcnMode::Passive => "2",
    };
    let recovery =
        u8::from(config.rack) | u8::from(config.rack_static_window) << 1 | u8::from(config.rack_no_threshold) << 2;
    let values = [
        ("tcp_rmem", limits(&config.rmem)),
        ("tcp_wmem", limits(&config.wmem)),
        ("tcp_moderate_rcvbuf", flag(config.receive_autotuning)),
        ("tcp_adv_win_scale", config.adv_win_scale.to_string()),
        ("tcp_window_scaling", flag(config.window_scaling)),
        ("tcp_timestamps", flag(config.timestamps)),
        ("tcp_sack", flag(config.sack)),
        ("tcp_dsack", flag(config.dsack)),
        ("tcp_frto", if config.frto { "2" } else { "0" }.to_owned()),
        ("tcp_early_retrans", if config.tail_loss_probe { "3" } else { "0" }.to_owned()),
        ("tcp_recovery", recovery.to_string()),
        ("tcp_reordering", config.reordering.to_string()),
        ("tcp_max_reordering", config.max_reordering.to_string()),
        ("tcp_slow_start_after_idle", flag(config.slow_start_after_idle)),
        ("tcp_ecn", ecn.to_owned()),
        ("tcp_comp_sack_delay_ns", config.comp_sack_delay.as_ns().to_string()),
        ("tcp_comp_sack_slack_ns", config.comp_sack_slack.as_ns().to_string()),
        ("tcp_comp_sack_nr", config.comp_sack_nr.to_string()),
        ("tcp_limit_output_bytes", config.limit_output_bytes.unwrap_or(i32::MAX as u64).to_string()),
        ("tcp_no_ssthresh_metrics_save", "0".to_owned()),
    ];
    values.iter().try_for_each(|(name, value)| setting(name, value))
}

fn setting(name: &str, value: &str) -> Result<(), GuestError> {
    system::set_sysctl(&format!("net/ipv4/{name}"), value)
}
