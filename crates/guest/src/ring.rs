//! Packet sockets: a ring in shared memory that shows what arrives, and a socket that sends at given
//! times.
//!
//! The ring (packet(7), TPACKET_V2) holds only the headers; the payload of every packet of this
//! engine is zeros. So reading a packet takes no system call, and its arrival time is the kernel's.
//! Sending goes through an `fq` queueing discipline, which holds each packet until the time it carries
//! (SO_TXTIME); one sendmmsg hands over any number of packets.
#![allow(unsafe_code)]

use std::io;
use std::mem::{size_of, size_of_val, zeroed};
use std::os::fd::{AsRawFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use crate::error::GuestError;
use crate::system::{self, Fd};

/// Ethernet, IPv4 without options, TCP with as many as there can be.
pub const LONGEST_HEADERS: usize = 14 + 20 + 60;

const ETH_P_ALL: u16 = 0x0003;
const PACKET_IGNORE_OUTGOING: i32 = 23;
const FRAME: usize = 256;
const FRAMES: usize = 1 << 16;
const BLOCK: usize = 1 << 16;
const TP_STATUS_USER: u32 = 1;
const TP_STATUS_LOSING: u32 = 4;
const TP_STATUS_CSUMNOTREADY: u32 = 8;

/// A packet in the ring.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// Index of the device that it came in on.
    pub device: u32,
    /// When, on the real-time clock, in nanoseconds.
    pub real_ns: u64,
    /// Its length with the Ethernet header.
    pub length: u32,
    /// Its first bytes: all headers.
    pub headers: &'a [u8],
    /// The TCP checksum is only that of the pseudo header: the sender left the rest to its NIC.
    pub checksum_is_partial: bool,
}

/// All packets that enter the calling thread's namespace.
#[derive(Debug)]
pub struct Ring {
    socket: Fd,
    memory: NonNull<u8>,
    next: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct RingRequest {
    block_size: u32,
    blocks: u32,
    frame_size: u32,
    frames: u32,
}

impl Ring {
    /// Opens it in the namespace of the calling thread.
    pub fn open() -> Result<Self, GuestError> {
        let protocol = i32::from(ETH_P_ALL.to_be());
        let socket = system::socket(libc::AF_PACKET, libc::SOCK_RAW, 0, "open a packet socket")?;
        let fd = socket.as_raw_fd();
        let version = libc::tpacket_versions::TPACKET_V2 as i32;
        system::set_option(fd, libc::SOL_PACKET, libc::PACKET_VERSION, &version, "choose TPACKET_V2")?;
        let one = 1i32;
        system::set_option(fd, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, "ignore outgoing packets")?;
        let keep = libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: LONGEST_HEADERS as u32 };
        let program = libc::sock_fprog { len: 1, filter: &keep as *const _ as *mut _ };
        system::set_option(fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program, "keep only headers")?;
        let request = RingRequest {
            block_size: BLOCK as u32,
            blocks: (FRAME * FRAMES / BLOCK) as u32,
            frame_size: FRAME as u32,
            frames: FRAMES as u32,
        };
        system::set_option(fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &request, "make the packet ring")?;
        // SAFETY: a new mapping of the size that was asked for, at an address of the kernel's choice.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                FRAME * FRAMES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                fd,
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(GuestError::last("map the packet ring"));
        }
        let memory = NonNull::new(memory.cast()).ok_or_else(|| GuestError::last("map the packet ring"))?;
        // SAFETY: all zeros is a valid value of the struct.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol as u16;
        system::bind_raw(fd, &address, "bind the packet socket")?;
        Ok(Self { socket, memory, next: 0 })
    }

    /// The descriptor, to wait on.
    pub fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Hands the oldest packet to `read`, then gives its place back; false when there is none.
    pub fn read(&mut self, read: impl FnOnce(Arrival<'_>) -> Result<(), GuestError>) -> Result<bool, GuestError> {
        // SAFETY: `next` is below FRAMES, so the frame lies within the mapping, which lives as long as
        // `self`; the kernel does not touch a frame whose status has TP_STATUS_USER.
        unsafe {
            let frame = self.memory.as_ptr().add(self.next * FRAME);
            let header = frame.cast::<libc::tpacket2_hdr>();
            let status = &*std::ptr::addr_of!((*header).tp_status).cast::<AtomicU32>();
            let seen = status.load(Ordering::Acquire);
            if seen & TP_STATUS_USER == 0 {
                return Ok(false);
            }
            if seen & TP_STATUS_LOSING != 0 {
                return Err(GuestError::Broken(format!("the packet ring of {FRAMES} packets overflowed")));
            }
            let tail = size_of::<libc::tpacket2_hdr>().next_multiple_of(16);
            let link = &*frame.add(tail).cast::<libc::sockaddr_ll>();
            let outcome = read(Arrival {
                device: link.sll_ifindex as u32,
                real_ns: u64::from((*header).tp_sec) * 1_000_000_000 + u64::from((*header).tp_nsec),
                length: (*header).tp_len,
                headers: std::slice::from_raw_parts(
                    frame.add(usize::from((*header).tp_mac)),
                    ((*header).tp_snaplen as usize).min(LONGEST_HEADERS),
                ),
                checksum_is_partial: seen & TP_STATUS_CSUMNOTREADY != 0,
            });
            fence(Ordering::Release);
            status.store(0, Ordering::Release);
            self.next = (self.next + 1) % FRAMES;
            outcome.map(|()| true)
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nobody else refers to it.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), FRAME * FRAMES) };
    }
}

/// `struct virtio_net_hdr`, which tells the kernel that the checksum is left to it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct VnetHeader {
    flags: u8,
    gso_type: u8,
    header_length: u16,
    gso_size: u16,
    checksum_start: u16,
    checksum_offset: u16,
}

const VNET: usize = size_of::<VnetHeader>();
const NEEDS_CHECKSUM: u8 = 1;

/// A packet that can be sent: its headers behind the struct that the kernel wants before them.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Outgoing {
    vnet: VnetHeader,
    headers: [u8; LONGEST_HEADERS],
    header_length: u16,
    payload: u32,
}

impl Outgoing {
    /// Keeps a copy of what has arrived: `header_length` bytes of headers, then zeros.
    pub fn new(arrival: &Arrival<'_>, header_length: usize) -> Self {
        let mut headers = [0; LONGEST_HEADERS];
        headers[..header_length].copy_from_slice(&arrival.headers[..header_length]);
        let mut vnet = VnetHeader { header_length: header_length as u16, ..VnetHeader::default() };
        if arrival.checksum_is_partial {
            vnet.flags = NEEDS_CHECKSUM;
            vnet.checksum_start = 14 + 20;
            vnet.checksum_offset = 16;
        }
        Self { vnet, headers, header_length: header_length as u16, payload: arrival.length - header_length as u32 }
    }

    /// The headers.
    pub fn headers(&self) -> &[u8] {
        &self.headers[..usize::from(self.header_length)]
    }

    /// Length with the Ethernet header.
    pub fn length(&self) -> u32 {
        u32::from(self.header_length) + self.payload
    }

    /// The TCP checksum is only that of the pseudo header.
    pub fn checksum_is_partial(&self) -> bool {
        self.vnet.flags & NEEDS_CHECKSUM != 0
    }
}

/// Most packets that go to the kernel in one system call.
const BATCH: usize = 256;
const LONGEST_PACKET: usize = 65_535;

/// Sends packets into the calling thread's namespace.
pub struct Sender {
    socket: Fd,
    zeros: Vec<u8>,
    messages: Vec<libc::mmsghdr>,
    parts: Vec<[libc::iovec; 2]>,
    addresses: Vec<libc::sockaddr_ll>,
    times: Vec<TimeMessage>,
    waiting: usize,
}

/// One control message with a transmission time (SCM_TXTIME).
#[repr(C)]
#[derive(Clone, Copy)]
struct TimeMessage {
    header: libc::cmsghdr,
    ns: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct TxTime {
    clock: libc::clockid_t,
    flags: u32,
}

impl Sender {
    /// Opens it in the namespace of the calling thread.
    pub fn open() -> Result<Self, GuestError> {
        let socket = system::socket(libc::AF_PACKET, libc::SOCK_RAW, 0, "open a packet socket")?;
        let fd = socket.as_raw_fd();
        let room = i32::MAX / 4;
        system::set_option(fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &room, "enlarge the packet socket")?;
        let one = 1i32;
        system::set_option(fd, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &one, "leave checksums to the kernel")?;
        let clock = TxTime { clock: libc::CLOCK_MONOTONIC, flags: 0 };
        system::set_option(fd, libc::SOL_SOCKET, libc::SO_TXTIME, &clock, "send at given times")?;
        // SAFETY: all zeros is a valid value of these structs; the pointers are set before a call.
        let (message, part, mut address, mut time) =
            unsafe { (zeroed::<libc::mmsghdr>(), zeroed(), zeroed::<libc::sockaddr_ll>(), zeroed::<TimeMessage>()) };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = 0x0800u16.to_be();
        time.header.cmsg_len = size_of::<TimeMessage>();
        time.header.cmsg_level = libc::SOL_SOCKET;
        time.header.cmsg_type = libc::SCM_TXTIME;
        Ok(Self {
            socket,
            zeros: vec![0; LONGEST_PACKET],
            messages: vec![message; BATCH],
            parts: vec![[part; 2]; BATCH],
            addresses: vec![address; BATCH],
            times: vec![time; BATCH],
            waiting: 0,
        })
    }

    /// Hands packets to the kernel: each leaves on its device when the monotonic clock shows its time.
    pub fn send<'a>(&mut self, packets: impl Iterator<Item = (&'a Outgoing, u32, u64)>) -> Result<(), GuestError> {
        for (packet, device, ns) in packets {
            let slot = self.waiting;
            let start = (packet as *const Outgoing).cast::<libc::c_void>().cast_mut();
            self.parts[slot][0] = libc::iovec { iov_base: start, iov_len: VNET + usize::from(packet.header_length) };
            self.parts[slot][1] =
                libc::iovec { iov_base: self.zeros.as_ptr().cast_mut().cast(), iov_len: packet.payload as usize };
            self.addresses[slot].sll_ifindex = device as i32;
            self.times[slot].ns = ns;
            self.waiting += 1;
            if self.waiting == BATCH {
                self.flush()?;
            }
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<(), GuestError> {
        for slot in 0..self.waiting {
            let header = &mut self.messages[slot].msg_hdr;
            header.msg_name = (&raw mut self.addresses[slot]).cast();
            header.msg_namelen = size_of::<libc::sockaddr_ll>() as u32;
            header.msg_iov = self.parts[slot].as_mut_ptr();
            header.msg_iovlen = if self.parts[slot][1].iov_len > 0 { 2 } else { 1 };
            header.msg_control = (&raw mut self.times[slot]).cast();
            header.msg_controllen = size_of_val(&self.times[slot]) as _;
        }
        let mut sent = 0;
        while sent < self.waiting {
            let rest = &mut self.messages[sent..self.waiting];
            // SAFETY: every pointer in the messages was set above; `send` borrows the
            // packets until it has called this.
            let count = unsafe { libc::sendmmsg(self.socket.as_raw_fd(), rest.as_mut_ptr(), rest.len() as u32, 0) };
            if count <= 0 {
                let error = io::Error::last_os_error();
                return Err(GuestError::io(format!("hand {} packets to their receivers", rest.len()), error));
            }
            sent += count as usize;
        }
        self.waiting = 0;
        Ok(())
    }
}
