//! Network interfaces as the hosts of a run and of a dialogue need them: requests of rtnetlink (rtnetlink(7)) and
//! commands of ethtool.

use std::os::fd::AsRawFd;

use crate::error::GuestError;
use crate::netlink::{CREATE, EXCLUSIVE, Request};
use crate::system::{self, Fd};

/// Whether TCP leaves segmentation to the device (TSO).
pub const ETHTOOL_STSO: u32 = 0x1f;
/// Whether the kernel segments right before the device (GSO).
pub const ETHTOOL_SGSO: u32 = 0x24;
/// Whether arrivals are joined (GRO).
pub const ETHTOOL_SGRO: u32 = 0x2c;

/// RTT in 1/8 ms.
pub const RTAX_RTT: u16 = 4;
/// RTT variation in 1/4 ms.
pub const RTAX_RTTVAR: u16 = 5;
/// Slow-start threshold in segments.
pub const RTAX_SSTHRESH: u16 = 6;
/// Clamp of the congestion window in segments.
pub const RTAX_CWND: u16 = 7;
/// Initial window in segments.
pub const RTAX_INITCWND: u16 = 11;
/// Minimum RTO in milliseconds.
pub const RTAX_RTO_MIN: u16 = 13;

const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;
const RTM_NEWROUTE: u16 = 24;
const RTM_NEWNEIGH: u16 = 28;
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINK: u16 = 5;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_GSO_MAX_SEGS: u16 = 40;
const IFLA_GSO_MAX_SIZE: u16 = 41;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;

/// What Linux keeps per route.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    values: Vec<(u16, u32)>,
    locked: u32,
}

impl Metrics {
    /// A value to start from, which connections may change.
    pub fn put(mut self, kind: u16, value: u32) -> Self {
        self.values.push((kind, value));
        self
    }

    /// No connection changes it.
    pub fn lock(mut self, kind: u16) -> Self {
        self.locked |= 1 << kind;
        self
    }

    /// A value that no connection changes.
    pub fn fix(self, kind: u16, value: u32) -> Self {
        self.put(kind, value).lock(kind)
    }
}

/// Makes a cable whose one end is called `near` in the calling thread's namespace, and the other `far` in another.
pub fn cable(near: &str, far: &str, namespace: &Fd) -> Request {
    const VETH_INFO_PEER: u16 = 1;
    let mut request = Request::new(RTM_NEWLINK, CREATE | EXCLUSIVE, &[0; 16], "make a cable");
    request.put_str(IFLA_IFNAME, near).nest(IFLA_LINKINFO, |info| {
        info.put_str(IFLA_INFO_KIND, "veth").nest(IFLA_INFO_DATA, |data| {
            data.nest(VETH_INFO_PEER, |peer| {
                peer.raw(&[0; 16]).put_str(IFLA_IFNAME, far).put_u32(IFLA_NET_NS_FD, namespace.as_raw_fd() as u32);
            });
        });
    });
    request
}

/// Makes a device called `name` in another namespace that sends through the `lower` one: a packet stays its
/// sender's until it leaves the lower one's queue. It has no offloads to switch off; `gso_max_segs` makes every
/// packet one segment.
pub fn share(lower: u32, name: &str, namespace: &Fd) -> Request {
    const MODE: u16 = 1;
    const PRIVATE: u32 = 1;
    let mut request = Request::new(RTM_NEWLINK, CREATE | EXCLUSIVE, &[0; 16], "share a NIC");
    request
        .put_str(IFLA_IFNAME, name)
        .put_u32(IFLA_LINK, lower)
        .put_u32(IFLA_NET_NS_FD, namespace.as_raw_fd() as u32)
        .nest(IFLA_LINKINFO, |info| {
            info.put_str(IFLA_INFO_KIND, "macvlan").nest(IFLA_INFO_DATA, |data| {
                data.put_u32(MODE, PRIVATE);
            });
        });
    request
}

/// Sets a device up that carries packets of up to `mtu` bytes.
pub fn up(device: u32, mtu: u32) -> Request {
    let flag = (libc::IFF_UP as u32).to_ne_bytes();
    let mut body = [0u8; 16];
    body[4..8].copy_from_slice(&device.to_ne_bytes());
    body[8..12].copy_from_slice(&flag);
    body[12..16].copy_from_slice(&flag);
    let mut request = Request::new(RTM_NEWLINK, 0, &body, "set a device up");
    request.put_u32(IFLA_MTU, mtu);
    request
}

/// Sets up a host's NIC. TCP hands it bursts of up to `burst_bytes`, or single segments where that is not above `mtu`.
pub fn nic_up(device: u32, mac: [u8; 6], mtu: u32, burst_bytes: u32) -> Request {
    let mut request = up(device, mtu);
    request.put(IFLA_ADDRESS, &mac);
    if burst_bytes <= mtu {
        request.put_u32(IFLA_GSO_MAX_SEGS, 1);
    } else {
        request.put_u32(IFLA_GSO_MAX_SIZE, burst_bytes);
    }
    request
}

/// Gives a device its address.
pub fn address(device: u32, ip: u32) -> Request {
    const IFA_LOCAL: u16 = 2;
    let mut body = [libc::AF_INET as u8, 32, 0, 0, 0, 0, 0, 0];
    body[4..8].copy_from_slice(&device.to_ne_bytes());
    let mut request = Request::new(RTM_NEWADDR, CREATE, &body, "set an address");
    request.put(IFA_LOCAL, &ip.to_be_bytes());
    request
}

/// Sends what is for `network`, an address and the bits of it that count, through a device whose address is `own`.
pub fn route(device: u32, own: u32, network: (u32, u8), metrics: &Metrics) -> Request {
    const RTA_DST: u16 = 1;
    const RTA_OIF: u16 = 4;
    const RTA_PREFSRC: u16 = 7;
    const RTA_METRICS: u16 = 8;
    const RTAX_LOCK: u16 = 1;
    let (ip, bits) = network;
    // family, dst_len, src_len, tos, table main, protocol static, scope link, type unicast, flags
    let body = [libc::AF_INET as u8, bits, 0, 0, 254, 4, 253, 1, 0, 0, 0, 0];
    let mut request = Request::new(RTM_NEWROUTE, CREATE, &body, "set a route");
    request.put(RTA_DST, &ip.to_be_bytes()).put_u32(RTA_OIF, device).put(RTA_PREFSRC, &own.to_be_bytes());
    request.nest(RTA_METRICS, |list| {
        for &(kind, value) in &metrics.values {
            list.put_u32(kind, value);
        }
        list.put_u32(RTAX_LOCK, metrics.locked);
    });
    request
}

/// Adds a permanent neighbour entry, so that no ARP is sent.
pub fn neighbour(device: u32, ip: u32, mac: [u8; 6]) -> Request {
    const NDA_DST: u16 = 1;
    const NDA_LLADDR: u16 = 2;
    const PERMANENT: u16 = 0x80;
    let mut body = [0u8; 12];
    body[0] = libc::AF_INET as u8;
    body[4..8].copy_from_slice(&device.to_ne_bytes());
    body[8..10].copy_from_slice(&PERMANENT.to_ne_bytes());
    let mut request = Request::new(RTM_NEWNEIGH, CREATE, &body, "set a neighbour");
    request.put(NDA_DST, &ip.to_be_bytes()).put(NDA_LLADDR, &mac);
    request
}

/// Switches off `offloads` of a device. TCP segments late even for a device that cannot, so it takes
/// [`nic_up`] as well to make every packet one segment.
pub fn no_offload(device: &str, offloads: &[u32]) -> Result<(), GuestError> {
    let control = system::socket(libc::AF_INET, libc::SOCK_DGRAM, 0, "open a socket for ethtool")?;
    offloads.iter().try_for_each(|&command| system::ethtool(control.as_raw_fd(), device, command, 0))
}
