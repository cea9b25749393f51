//! Where a dialogue is played: a namespace with the stack under test, set as the dialogue's header says, a
//! cable, and a packet socket at its other end.

use std::os::fd::AsRawFd;

use daybreak_dialogue::Script;
use daybreak_tcp::config::{Config, EcnMode};
use daybreak_units::Duration;

use super::acquaintance;
use crate::error::GuestError;
use crate::netlink::{CREATE, Netlink, Request};
use crate::system::{self, Address, Fd};

/// The stack under test.
pub const OWN: Address = Address { ip: 0x0a00_0001, port: 5_000 };
/// The peer.
pub const PEER: Address = Address { ip: 0x0a00_0002, port: 6_000 };
/// Ethernet address of the stack's NIC.
pub const OWN_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
/// Ethernet address of the peer.
pub const PEER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];

const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;
const RTM_NEWROUTE: u16 = 24;
const RTM_NEWNEIGH: u16 = 28;
const EXCLUSIVE: u16 = 0x200;
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_GSO_MAX_SEGS: u16 = 40;
const NIC: &str = "nic";
const CABLE: &str = "cable";

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
        netlink.ask(&cable(&own))?;
        let device = system::device_index(CABLE)?;
        netlink.ask(link(device).put_u32(IFLA_MTU, 65_535))?;
        let packets = packet_socket(device)?;

        system::enter_network(&own)?;
        settings(&script.config)?;
        no_offload()?;
        let device = system::device_index(NIC)?;
        let mut netlink = Netlink::open()?;
        let mut up = link(device);
        up.put(IFLA_ADDRESS, &OWN_MAC).put_u32(IFLA_MTU, script.config.mtu).put_u32(IFLA_GSO_MAX_SEGS, 1);
        netlink.ask(&up)?;
        netlink.ask(&address(device))?;
        netlink.ask(&route(device, &script.config))?;
        netlink.ask(&neighbour(device))?;
        let stage = Self { _own: own, _peer: peer, packets };
        if script.config.initial_ssthresh != u32::MAX {
            setting("tcp_no_metrics_save", "0")?;
            acquaintance::make(&stage, script)?;
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

fn cable(own: &Fd) -> Request {
    const IFLA_LINKINFO: u16 = 18;
    const IFLA_NET_NS_FD: u16 = 28;
    const IFLA_INFO_KIND: u16 = 1;
    const IFLA_INFO_DATA: u16 = 2;
    const VETH_INFO_PEER: u16 = 1;
    let mut request = Request::new(RTM_NEWLINK, CREATE | EXCLUSIVE, &[0; 16], "make the cable of a dialogue");
    request.put_str(IFLA_IFNAME, CABLE).nest(IFLA_LINKINFO, |info| {
        info.put_str(IFLA_INFO_KIND, "veth").nest(IFLA_INFO_DATA, |data| {
            data.nest(VETH_INFO_PEER, |peer| {
                peer.raw(&[0; 16]).put_str(IFLA_IFNAME, NIC).put_u32(IFLA_NET_NS_FD, own.as_raw_fd() as u32);
            });
        });
    });
    request
}

/// Sets a device up.
fn link(device: u32) -> Request {
    let up = (libc::IFF_UP as u32).to_ne_bytes();
    let mut body = [0u8; 16];
    body[4..8].copy_from_slice(&device.to_ne_bytes());
    body[8..12].copy_from_slice(&up);
    body[12..16].copy_from_slice(&up);
    Request::new(RTM_NEWLINK, 0, &body, "set a device of a dialogue up")
}

/// Lets every packet be one segment, together with [`IFLA_GSO_MAX_SEGS`]: TCP segments late even for a device
/// that cannot.
fn no_offload() -> Result<(), GuestError> {
    const ETHTOOL_STSO: u32 = 0x1f;
    const ETHTOOL_SGSO: u32 = 0x24;
    const ETHTOOL_SGRO: u32 = 0x2c;
    let control = system::socket(libc::AF_INET, libc::SOCK_DGRAM, 0, "open a socket for ethtool")?;
    for command in [ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO] {
        system::ethtool(control.as_raw_fd(), NIC, command, 0)?;
    }
    Ok(())
}

fn address(device: u32) -> Request {
    const IFA_LOCAL: u16 = 2;
    let mut body = [libc::AF_INET as u8, 32, 0, 0, 0, 0, 0, 0];
    body[4..8].copy_from_slice(&device.to_ne_bytes());
    let mut request = Request::new(RTM_NEWADDR, CREATE, &body, "set the address of a dialogue");
    request.put(IFA_LOCAL, &OWN.ip.to_be_bytes());
    request
}

/// The route to the peer, with what Linux keeps per route.
fn route(device: u32, config: &Config) -> Request {
    const RTA_DST: u16 = 1;
    const RTA_OIF: u16 = 4;
    const RTA_METRICS: u16 = 8;
    const RTAX_LOCK: u16 = 1;
    const RTAX_RTT: u16 = 4;
    const RTAX_RTTVAR: u16 = 5;
    const RTAX_SSTHRESH: u16 = 6;
    const RTAX_CWND: u16 = 7;
    const RTAX_INITCWND: u16 = 11;
    // family, dst_len, src_len, tos, table main, protocol static, scope link, type unicast, flags
    let body = [libc::AF_INET as u8, 32, 0, 0, 254, 4, 253, 1, 0, 0, 0, 0];
    let mut request = Request::new(RTM_NEWROUTE, CREATE, &body, "set the route of a dialogue");
    request.put(RTA_DST, &PEER.ip.to_be_bytes()).put_u32(RTA_OIF, device).nest(RTA_METRICS, |metrics| {
        metrics.put_u32(RTAX_INITCWND, config.initial_window);
        let mut locked = 1 << RTAX_RTT | 1 << RTAX_RTTVAR;
        if config.initial_ssthresh != u32::MAX {
            metrics.put_u32(RTAX_SSTHRESH, config.initial_ssthresh);
            locked |= 1 << RTAX_SSTHRESH;
        }
        if config.cwnd_clamp != u32::MAX {
            metrics.put_u32(RTAX_CWND, config.cwnd_clamp);
            locked |= 1 << RTAX_CWND;
        }
        metrics.put_u32(RTAX_LOCK, locked);
    });
    request
}

fn neighbour(device: u32) -> Request {
    const NDA_DST: u16 = 1;
    const NDA_LLADDR: u16 = 2;
    const PERMANENT: u16 = 0x80;
    let mut body = [0u8; 12];
    body[0] = libc::AF_INET as u8;
    body[4..8].copy_from_slice(&device.to_ne_bytes());
    body[8..10].copy_from_slice(&PERMANENT.to_ne_bytes());
    let mut request = Request::new(RTM_NEWNEIGH, CREATE, &body, "set the neighbour of a dialogue");
    request.put(NDA_DST, &PEER.ip.to_be_bytes()).put(NDA_LLADDR, &PEER_MAC);
    request
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
        ("tcp_recovery", flag(config.rack)),
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
    let path = format!("/proc/sys/net/ipv4/{name}");
    std::fs::write(&path, value).map_err(|error| GuestError::io(format!("set {name} to {value}"), error))
}
