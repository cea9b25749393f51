//! The flows: sockets in the hosts' namespaces, and the applications that use them.
//!
//! Each application is a thread that makes the calls of [`daybreak_host`] one after the other and stays in the kernel
//! meanwhile: a sender writes in calls of 1 GiB, a receiver keeps nothing of what it reads (MSG_TRUNC), so no packet
//! costs a switch to user space. The payload is copied, as that of most programs is: with pages handed over (sendfile)
//! Linux merges fewer SACKed segments into one, and cuts segments where a page ends.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Arc, Mutex, OnceLock};

use daybreak_host::{Call, Calls, ConstantRate, Datagram};
use daybreak_plan::{Application, Flow, Plan};
use daybreak_units::{Duration, Instant};

use crate::error::GuestError;
use crate::hosts::Hosts;
use crate::layout::{End, Layout, ports};
use crate::system::{self, Address, Fd, Zeros};

/// The sockets of all flows.
#[derive(Debug)]
pub struct Flows {
    /// By flow; `None` for one that runs programs.
    sockets: Vec<Option<Sockets>>,
    /// The first error in an application.
    trouble: Trouble,
}

/// The sockets of one flow.
#[derive(Debug)]
struct Sockets {
    client: Fd,
    /// The server's, if it stays open: that of a bulk transfer belongs to its thread.
    server: Arc<OnceLock<Fd>>,
}

type Trouble = Arc<Mutex<Option<String>>>;

const STACK: usize = 64 << 10;
const SOL_TCP: i32 = libc::IPPROTO_TCP;

/// State shared by the applications of all flows.
struct Common {
    zeros: Arc<Zeros>,
    trouble: Trouble,
    /// The clock's zero.
    zero_ns: u64,
}

impl Flows {
    /// Makes all sockets and starts the applications. The clock's zero is at `zero_ns`.
    pub fn start(plan: &Plan, layout: &Layout, hosts: &Hosts, zero_ns: u64) -> Result<Self, GuestError> {
        let common = Common { zeros: Arc::new(Zeros::default()), trouble: Arc::default(), zero_ns };
        let mut sockets = Vec::new();
        for (index, (flow, &(src, dst))) in plan.flows.iter().zip(&layout.flows).enumerate() {
            let from = Address { ip: End::ip(src), port: ports::client(index) };
            let to = Address { ip: End::ip(dst), port: ports::server(index) };
            let namespaces = [&hosts.ends[src as usize], &hosts.ends[dst as usize]];
            sockets.push(match flow.application {
                Application::Bulk { .. } | Application::RequestResponse { .. } => {
                    Some(common.stream(plan, flow, namespaces, [from, to])?)
                }
                Application::ConstantRate { .. } => Some(common.datagrams(flow, namespaces, [from, to])?),
                Application::Program { .. } => None,
            });
        }
        system::enter_network(&hosts.outside)?;
        Ok(Self { sockets, trouble: common.trouble })
    }

    /// The socket of a flow's client, or of its source.
    pub fn client(&self, flow: usize) -> Option<RawFd> {
        self.sockets[flow].as_ref().map(|sockets| sockets.client.as_raw_fd())
    }

    /// The socket of a server that answers, once it has accepted the connection.
    pub fn server(&self, flow: usize) -> Option<RawFd> {
        self.sockets[flow].as_ref()?.server.get().map(AsRawFd::as_raw_fd)
    }

    /// The first error in an application, if any did.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().ok().and_then(|trouble| trouble.clone())
    }
}

impl Common {
    /// The two ends of a connection; the client's comes first in every pair.
    fn stream(
        &self,
        plan: &Plan,
        flow: &Flow,
        [src, dst]: [&Fd; 2],
        [from, to]: [Address; 2],
    ) -> Result<Sockets, GuestError> {
        let variant = &plan.rules[flow.rule as usize].name;
        let limit = |fd: RawFd, stack: u32| match plan.stacks[stack as usize].max_pacing_rate_bps {
            None => Ok(()),
            Some(bps) => {
                let rate = bps / 8;
                system::set_option(fd, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &rate, "limit the pacing rate")
            }
        };
        system::enter_network(dst)?;
        let listener = tcp_socket(variant)?;
        system::bind(listener.as_raw_fd(), to, "bind a receiver")?;
        system::listen(listener.as_raw_fd(), "listen")?;
        let server = Arc::new(OnceLock::new());
        if let Application::Bulk { .. } = flow.application {
            self.start(&flow.name, move || receive(listener))?;
        } else {
            // What is accepted has the listener's options.
            limit(listener.as_raw_fd(), flow.dst_stack)?;
            let (kept, zeros, calls) =
                (Arc::clone(&server), Arc::clone(&self.zeros), Calls::new(&flow.application, false));
            self.start(&flow.name, move || {
                system::exact_timers();
                let connection = system::accept(listener.as_raw_fd())?;
                let socket = kept.get_or_init(|| connection).as_raw_fd();
                make(calls, socket, &zeros)
            })?;
        }

        system::enter_network(src)?;
        let client = tcp_socket(variant)?;
        system::bind(client.as_raw_fd(), from, "bind a sender")?;
        limit(client.as_raw_fd(), flow.src_stack)?;
        let (socket, zeros, calls) = (client.as_raw_fd(), Arc::clone(&self.zeros), Calls::new(&flow.application, true));
        let start_ns = self.zero_ns + flow.start_ps.div_ceil(1_000);
        self.start(&flow.name, move || {
            system::exact_timers();
            system::sleep_until(start_ns);
            system::connect(socket, to)?;
            make(calls, socket, &zeros)
        })?;
        Ok(Sockets { client, server })
    }

    /// A source of datagrams and its sink.
    fn datagrams(&self, flow: &Flow, [src, dst]: [&Fd; 2], [from, to]: [Address; 2]) -> Result<Sockets, GuestError> {
        let Application::ConstantRate { rate_bps, payload_bytes, stop_ps } = flow.application else {
            return Err(GuestError::Broken(format!("flow \"{}\" has no datagrams", flow.name)));
        };
        system::enter_network(dst)?;
        let sink = udp_socket(to)?;
        self.start(&flow.name, move || {
            loop {
                system::receive(sink.as_raw_fd(), &mut [0; Datagram::BYTES])?;
            }
        })?;

        system::enter_network(src)?;
        let source = udp_socket(from)?;
        system::connect(source.as_raw_fd(), to).map_err(|error| GuestError::io("connect a source", error))?;
        let (socket, zero_ns) = (source.as_raw_fd(), self.zero_ns);
        let (start, stop) = (Instant::from_ps(flow.start_ps), stop_ps.map(Instant::from_ps));
        let mut times = ConstantRate::new(start, stop, rate_bps, payload_bytes);
        self.start(&flow.name, move || {
            system::exact_timers();
            let mut payload = vec![0; payload_bytes as usize];
            while times.next_at() < Instant::NEVER {
                let due_ns = times.next_at().as_ps().div_ceil(1_000);
                system::sleep_until(zero_ns + due_ns);
                let now = Instant::ZERO + Duration::from_ns(system::clock_ns(libc::CLOCK_MONOTONIC) - zero_ns);
                payload[..Datagram::BYTES].copy_from_slice(&times.send(now).encode());
                system::send(socket, &payload)?;
            }
            Ok(())
        })?;
        Ok(Sockets { client: source, server: Arc::default() })
    }

    fn start(
        &self,
        flow: &str,
        application: impl FnOnce() -> std::io::Result<()> + Send + 'static,
    ) -> Result<(), GuestError> {
        let (trouble, name) = (Arc::clone(&self.trouble), flow.to_owned());
        let body = move || {
            if let Err(error) = application()
                && let Ok(mut first) = trouble.lock()
            {
                first.get_or_insert_with(|| format!("flow \"{name}\": {error}"));
            }
        };
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(body);
        thread.map(drop).map_err(|error| GuestError::io(format!("start a thread of flow \"{flow}\""), error))
    }
}

fn tcp_socket(variant: &str) -> Result<Fd, GuestError> {
    let socket = system::socket(libc::AF_INET, libc::SOCK_STREAM, 0, "open a TCP socket")?;
    let fd = socket.as_raw_fd();
    system::set_option_str(fd, SOL_TCP, libc::TCP_CONGESTION, variant, "choose the congestion control")?;
    Ok(socket)
}

/// A socket whose datagrams are never dropped for lack of memory: the plan limits the NIC's queue.
fn udp_socket(at: Address) -> Result<Fd, GuestError> {
    const MOST: i32 = 1 << 30;
    let socket = system::socket(libc::AF_INET, libc::SOCK_DGRAM, 0, "open a UDP socket")?;
    let fd = socket.as_raw_fd();
    for option in [libc::SO_SNDBUFFORCE, libc::SO_RCVBUFFORCE] {
        system::set_option(fd, libc::SOL_SOCKET, option, &MOST, "give a UDP socket memory")?;
    }
    system::bind(fd, at, "bind a UDP socket")?;
    Ok(socket)
}

/// Makes the calls of an application on a connection. It stays open: the guest reads its state at the end.
fn make(calls: Calls, socket: RawFd, zeros: &Zeros) -> std::io::Result<()> {
    for call in calls {
        match call {
            Call::Write(bytes) => zeros.send(socket, bytes)?,
            Call::Read(bytes) => system::read_exactly(socket, bytes)?,
            Call::ReadToEnd => system::read_to_end(socket)?,
            Call::Sleep(time) => {
                // Up to the clock's next nanosecond.
                let ns = time.as_ps().div_ceil(1_000);
                system::sleep_until(system::clock_ns(libc::CLOCK_MONOTONIC) + ns);
            }
            Call::Close => system::no_more_data(socket)?,
        }
    }
    Ok(())
}

/// The server of a bulk transfer: reads until the client closes, and closes as well.
fn receive(listener: Fd) -> std::io::Result<()> {
    let connection = system::accept(listener.as_raw_fd())?;
    system::receive_all_and_exit(connection)
}
