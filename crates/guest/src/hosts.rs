//! Makes the hosts: a network namespace each, a NIC of the switch's driver with its rate as a queueing
//! discipline, the stack's settings.
//!
//! The NIC is a queueing discipline that lets each packet go when its first bit would be sent, and keeps it
//! charged to its socket until then, so TCP small queues see a real NIC. The time on the host's link is
//! added by the switch, which so knows of the packet ahead of its arrival.

use daybreak_engine::NicClock;
use daybreak_plan::{Link, Plan, Stack};

use crate::device::Device;
use crate::error::GuestError;
use crate::headers;
use crate::interface::{self, ETHTOOL_SGRO, ETHTOOL_SGSO, ETHTOOL_STSO, Metrics, RTAX_INITCWND, RTAX_RTO_MIN};
use crate::layout::{End, Layout, Nic};
use crate::lookahead::propagation;
use crate::modules::{self, ModuleParameter};
use crate::netlink::{CREATE, Netlink, Request};
use crate::system::{self, Fd, set_sysctl};

/// The namespaces of a run.
#[derive(Debug)]
pub struct Hosts {
    /// A namespace without any interface, in which the calling thread is while it is in no host's.
    pub outside: Fd,
    /// One namespace an end.
    pub ends: Vec<Fd>,
    /// The namespaces of NICs that are shared; they go, with all devices, when nothing holds them.
    _shared: Vec<Fd>,
}

const RTM_NEWQDISC: u16 = 36;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
/// Places of a queueing discipline: a device's own, and the one inside of [`nic_queue`], which is class 1 of it.
const ROOT: u32 = u32::MAX;
const HANDLE: u32 = 1 << 16;
const INSIDE_NIC_QUEUE: u32 = HANDLE | 1;
/// What the kernel does for any device; ours has no offloads of its own.
const OF_THE_KERNEL: [u32; 2] = [ETHTOOL_SGSO, ETHTOOL_SGRO];

/// The NIC in every host's namespace.
const NIC: &str = "nic";
/// The NIC that several ends share, in a namespace of its own; each end has a device [`NIC`] on top.
const SHARED_NIC: &str = "shared";
/// The network of all ends.
const ALL_ENDS: (u32, u8) = (0x0a00_0000, 8);
/// What a host sends to itself; Linux has it so.
const LOOPBACK_MTU: u32 = 65_536;
/// Packets that a queue takes where the plan sets no limit.
const UNLIMITED: u32 = 1_000_000;
/// Ethernet header, which queueing disciplines count on their own.
const ETHERNET: u32 = headers::ETHERNET as u32;

/// Makes all hosts of a layout.
pub fn make(plan: &Plan, layout: &Layout, device: &Device) -> Result<Hosts, GuestError> {
    global_settings()?;
    modules::parameters(plan)?.iter().try_for_each(ModuleParameter::set)?;
    let mut hosts = Hosts { outside: system::new_network()?, ends: Vec::new(), _shared: Vec::new() };
    for _ in &layout.ends {
        hosts.ends.push(system::new_network()?);
    }
    for (index, nic) in (0..).zip(&layout.nics) {
        let ends = || (0..).zip(&layout.ends).filter(|(_, end)| end.nic == index);
        if nic.shared {
            let own = system::new_network()?;
            device.nic(index, SHARED_NIC, nic.buffers)?;
            let lower = shared_nic(plan, nic, index)?;
            for (end, _) in ends() {
                Netlink::open()?.ask(&interface::share(lower, NIC, &hosts.ends[end]))?;
            }
            hosts._shared.push(own);
        } else if let Some((end, _)) = ends().next() {
            system::enter_network(&hosts.ends[end])?;
            device.nic(index, NIC, nic.buffers)?;
        }
    }
    for (index, (end, namespace)) in (0..).zip(layout.ends.iter().zip(&hosts.ends)) {
        system::enter_network(namespace)?;
        if end.rule.is_some() {
            device.count(End::ip(index), NIC)?;
        }
        let interface = host(plan, index, end)?;
        let nic = &layout.nics[end.nic as usize];
        if !nic.shared {
            interface::no_offload(NIC, &OF_THE_KERNEL)?;
            Netlink::open()?.ask(&nic_queue(interface, &plan.links[nic.link as usize], nic.mtu))?;
        }
        if plan.stacks[end.stack as usize].tcp_limit_output_bytes.is_none() {
            let parent = if nic.shared { ROOT } else { INSIDE_NIC_QUEUE };
            Netlink::open()?.ask(&orphaning_qdisc(interface, parent))?;
        }
    }
    system::enter_network(&hosts.outside)?;
    Ok(hosts)
}

/// Makes the two hosts of the first flow with a cable between them and `netem` for everything else: what the
/// kernel alone costs, to compare the switch with.
pub fn make_pair(plan: &Plan, layout: &Layout) -> Result<Hosts, GuestError> {
    global_settings()?;
    let ends = vec![system::new_network()?, system::new_network()?];
    Netlink::open()?.ask(&interface::cable(NIC, NIC, &ends[0]))?;
    let Some(flow) = plan.flows.first() else { return Err(GuestError::Broken("the plan has no flow".to_owned())) };
    for (index, path) in [flow.data_path, flow.ack_path].into_iter().enumerate() {
        system::enter_network(&ends[index])?;
        let end = &layout.ends[index];
        let device = host(plan, index as u32, end)?;
        interface::no_offload(NIC, &[ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO])?;
        let delay = propagation(plan, &plan.paths[path as usize]);
        let link = &plan.links[layout.nics[end.nic as usize].link as usize];
        Netlink::open()?.ask(&netem(device, link, delay.as_ns()))?;
    }
    Ok(Hosts { outside: system::this_network()?, ends, _shared: Vec::new() })
}

/// `netem` with a rate and a delay.
fn netem(device: u32, link: &Link, delay_ns: u64) -> Request {
    let mut request = qdisc(device, ROOT, "netem");
    let framing = link.framing_bytes - ETHERNET;
    request.nest(TCA_OPTIONS, |options| netem_options(options, link.rate_bps / 8, framing, delay_ns));
    request
}

/// `rate` in bytes per second, `framing_bytes` a packet.
fn netem_options(options: &mut Request, rate: u64, framing_bytes: u32, delay_ns: u64) {
    const RATE: u16 = 6;
    const RATE64: u16 = 8;
    const LATENCY64: u16 = 10;
    // struct tc_netem_qopt: latency, limit, loss, gap, duplicate, jitter
    for value in [0, UNLIMITED, 0, 0, 0, 0] {
        options.raw(&value.to_ne_bytes());
    }
    // struct tc_netem_rate: rate, packet_overhead, cell_size, cell_overhead
    let mut value = u32::try_from(rate).unwrap_or(u32::MAX).to_ne_bytes().to_vec();
    value.extend_from_slice(&framing_bytes.to_ne_bytes());
    value.extend_from_slice(&[0; 8]);
    options.put(RATE, &value).put(RATE64, &rate.to_ne_bytes()).put(LATENCY64, &delay_ns.to_ne_bytes());
}

/// A queue without delay that orphans packets: `netem` at a rate at which no packet takes any time. Behind
/// it TCP does not know what waits in the NIC, so small queues are off. (`tcp_limit_output_bytes` alone is not enough:
/// there is a second limit, a 1/1024 s of the pacing rate, that no sysctl switches off.)
fn orphaning_qdisc(device: u32, parent: u32) -> Request {
    let mut request = qdisc(device, parent, "netem");
    request.nest(TCA_OPTIONS, |options| netem_options(options, 1 << 62, 0, 0));
    request
}

/// Sets up a NIC that several ends share, in its own namespace; returns its device.
fn shared_nic(plan: &Plan, nic: &Nic, index: u32) -> Result<u32, GuestError> {
    const FIRST: u32 = 1 << 24;
    interface::no_offload(SHARED_NIC, &OF_THE_KERNEL)?;
    let device = system::device_index(SHARED_NIC)?;
    let mut netlink = Netlink::open()?;
    only_ipv4(SHARED_NIC)?;
    netlink.ask(&interface::nic_up(device, End::mac(FIRST + index), nic.mtu, 0))?;
    netlink.ask(&nic_queue(device, &plan.links[nic.link as usize], nic.mtu))?;
    Ok(device)
}

/// What is one for all namespaces in Linux 6.1; none of it may bind.
fn global_settings() -> Result<(), GuestError> {
    set_sysctl("net/ipv4/tcp_mem", "2000000 3000000 4000000")?;
    set_sysctl("net/core/netdev_max_backlog", "1000000")?;
    // One packet takes no other one's time, so there is no reason to stop early.
    set_sysctl("net/core/netdev_budget", "1000000")?;
    set_sysctl("net/core/netdev_budget_usecs", "1000000")
}

/// `tbf` as a NIC: it lets a packet go when the one before it has been sent, and until then the packet
/// is charged to its socket, so TCP small queues work (`netem` disowns packets). The bucket holds one
/// packet of full size.
fn nic_queue(device: u32, link: &Link, mtu: u32) -> Request {
    const PARAMETERS: u16 = 1;
    const RATE64: u16 = 4;
    const BURST: u16 = 6;
    const ETHERNET_LINK_LAYER: u8 = 1;
    let rate = link.rate_bps / 8;
    // struct tc_ratespec: cell_log, linklayer, overhead, cell_align, mpu, rate
    let mut spec = [0u8; 12];
    spec[1] = ETHERNET_LINK_LAYER;
    spec[2..4].copy_from_slice(&NicClock::new(link, mtu).overhead.to_ne_bytes());
    spec[8..12].copy_from_slice(&u32::try_from(rate).unwrap_or(u32::MAX).to_ne_bytes());
    let mut request = qdisc(device, ROOT, "tbf");
    request.nest(TCA_OPTIONS, |options| {
        // struct tc_tbf_qopt: rate, peakrate, limit in bytes, buffer, mtu
        let mut parameters = spec.to_vec();
        parameters.extend_from_slice(&[0; 12]);
        parameters.extend_from_slice(&(i32::MAX as u32).to_ne_bytes());
        parameters.extend_from_slice(&[0; 8]);
        options.put(PARAMETERS, &parameters).put_u32(BURST, mtu + ETHERNET);
        if rate > u64::from(u32::MAX) {
            options.put(RATE64, &rate.to_ne_bytes());
        }
    });
    request
}

fn qdisc(device: u32, parent: u32, kind: &str) -> Request {
    let mut body = [0u8; 20];
    body[4..8].copy_from_slice(&device.to_ne_bytes());
    if parent == ROOT {
        body[8..12].copy_from_slice(&HANDLE.to_ne_bytes());
    }
    body[12..16].copy_from_slice(&parent.to_ne_bytes());
    let mut request = Request::new(RTM_NEWQDISC, CREATE, &body, format!("make a queue of kind {kind}"));
    request.put_str(TCA_KIND, kind);
    request
}

/// Sets up the namespace of an end, in which the calling thread is, but for the NIC's queue; returns the
/// NIC's device.
fn host(plan: &Plan, index: u32, end: &End) -> Result<u32, GuestError> {
    let stack = &plan.stacks[end.stack as usize];
    settings(stack)?;
    let device = system::device_index(NIC)?;
    let mut netlink = Netlink::open()?;
    only_ipv4(NIC)?;
    netlink.ask(&interface::nic_up(device, End::mac(index), stack.mtu, stack.tso_max_bytes))?;
    netlink.ask(&interface::address(device, End::ip(index)))?;
    netlink.ask(&interface::route(device, End::ip(index), ALL_ENDS, &metrics(stack)))?;
    for &peer in &end.peers {
        netlink.ask(&interface::neighbour(device, End::ip(peer), End::mac(peer)))?;
    }
    if let Some(rule) = end.rule {
        netlink.ask(&interface::up(system::device_index("lo")?, LOOPBACK_MTU))?;
        set_sysctl("net/ipv4/tcp_congestion_control", &plan.rules[rule as usize].name)?;
    }
    Ok(device)
}

/// Keeps IPv6 off a NIC of a kernel that has it: looking for routers and neighbours would take the NIC's time. Its
/// sockets carry IPv4 as well, by mapped addresses.
fn only_ipv4(nic: &str) -> Result<(), GuestError> {
    if system::has_ipv6() { set_sysctl(&format!("net/ipv6/conf/{nic}/disable_ipv6"), "1") } else { Ok(()) }
}

/// What the stack says and Linux keeps per route.
fn metrics(stack: &Stack) -> Metrics {
    let rto_min_ms = (stack.rto_min_ps / 1_000_000_000) as u32;
    Metrics::default().put(RTAX_INITCWND, stack.initial_window).fix(RTAX_RTO_MIN, rto_min_ms)
}

/// Writes the stack's sysctls into the calling thread's namespace.
fn settings(stack: &Stack) -> Result<(), GuestError> {
    let triple = |[a, b, c]: [u64; 3]| format!("{a} {b} {c}");
    let flag = |on: bool| u32::from(on).to_string();
    let limit = stack.tcp_limit_output_bytes.unwrap_or(i32::MAX as u64).min(i32::MAX as u64);
    let values = [
        ("tcp_rmem", triple(stack.tcp_rmem)),
        ("tcp_wmem", triple(stack.tcp_wmem)),
        ("tcp_moderate_rcvbuf", flag(stack.tcp_moderate_rcvbuf)),
        ("tcp_adv_win_scale", stack.tcp_adv_win_scale.to_string()),
        ("tcp_window_scaling", flag(stack.tcp_window_scaling)),
        ("tcp_timestamps", flag(stack.tcp_timestamps)),
        ("tcp_sack", flag(stack.tcp_sack)),
        ("tcp_dsack", flag(stack.tcp_dsack)),
        ("tcp_frto", stack.tcp_frto.to_string()),
        ("tcp_early_retrans", stack.tcp_early_retrans.to_string()),
        ("tcp_recovery", stack.tcp_recovery.to_string()),
        ("tcp_reordering", stack.tcp_reordering.to_string()),
        ("tcp_max_reordering", stack.tcp_max_reordering.to_string()),
        ("tcp_slow_start_after_idle", flag(stack.tcp_slow_start_after_idle)),
        ("tcp_ecn", stack.tcp_ecn.to_string()),
        ("tcp_comp_sack_delay_ns", stack.tcp_comp_sack_delay_ns.to_string()),
        ("tcp_comp_sack_slack_ns", stack.tcp_comp_sack_slack_ns.to_string()),
        ("tcp_comp_sack_nr", stack.tcp_comp_sack_nr.to_string()),
        ("tcp_limit_output_bytes", limit.to_string()),
        ("tcp_no_metrics_save", flag(stack.tcp_no_metrics_save)),
        ("tcp_no_ssthresh_metrics_save", flag(stack.tcp_no_ssthresh_metrics_save)),
    ];
    values.iter().try_for_each(|(name, value)| set_sysctl(&format!("net/ipv4/{name}"), value))
}

#[cfg(test)]
mod tests {
    use daybreak_plan::Scheduler;

    use super::*;

    /// Reads attributes back: type and value.
    fn attributes(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
        let mut found = Vec::new();
        while bytes.len() >= 4 {
            let length = usize::from(u16::from_ne_bytes([bytes[0], bytes[1]]));
            found.push((u16::from_ne_bytes([bytes[2], bytes[3]]), bytes[4..length].to_vec()));
            bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
        }
        found
    }

    fn link(rate_bps: u64, framing_bytes: u32) -> Link {
        let name = "nic".to_owned();
        let scheduler = Scheduler::RoundRobin;
        Link { name, from: 0, to: 1, rate_bps, delay_ps: 0, framing_bytes, loss_ppb: 0, jitter_ps: 0, scheduler }
    }

    #[test]
    fn a_nic_is_tbf_with_the_rate_and_a_bucket_of_one_packet() {
        let message = nic_queue(2, &link(10_000_000_000, 38), 9_000).finish(1);
        let parts = attributes(&message[16 + 20..]);
        assert_eq!(parts[0], (TCA_KIND, b"tbf\0".to_vec()));
        let options = attributes(&parts[1].1);
        let parameters = &options[0].1;
        // 9038 bytes take 7230.4 ns; one byte more makes it 7231.
        assert_eq!(parameters[2..4], 25u16.to_ne_bytes());
        assert_eq!(parameters[8..12], 1_250_000_000u32.to_ne_bytes());
        assert_eq!(options[1], (6, 9_014u32.to_ne_bytes().to_vec()));
        assert_eq!(options.len(), 2);
    }

    #[test]
    fn a_fast_nic_has_its_rate_in_64_bits() {
        let message = nic_queue(2, &link(100_000_000_000, 38), 9_000).finish(1);
        let options = attributes(&attributes(&message[16 + 20..])[1].1);
        assert_eq!(options[0].1[8..12], u32::MAX.to_ne_bytes());
        assert_eq!(options[2], (4, 12_500_000_000u64.to_ne_bytes().to_vec()));
    }
}
