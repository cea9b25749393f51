//! The flows: sockets in the hosts' namespaces, and the applications that use them.
//!
//! Each application is a thread that stays in the kernel: the sender writes its flow in calls of 1 GiB, the receiver reads
//! at once and keeps nothing (MSG_TRUNC), so no packet costs a switch to user space. The sender's payload is copied, as
//! that of most programs is: with pages handed over (sendfile) Linux merges fewer SACKed segments into one, and cuts
//! segments where a page ends.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Arc, Mutex};

use daybreak_plan::{Application, Plan};

use crate::error::GuestError;
use crate::hosts::Hosts;
use crate::layout::{End, Layout, ports};
use crate::system::{self, Address, Fd, Zeros};

/// The sockets of all flows.
#[derive(Debug)]
pub struct Flows {
    clients: Vec<Fd>,
    /// The first thing that went wrong in an application.
    trouble: Arc<Mutex<Option<String>>>,
}

const STACK: usize = 64 << 10;
const SOL_TCP: i32 = libc::IPPROTO_TCP;

impl Flows {
    /// Makes all sockets and starts the applications. The clock's zero is at `zero_ns`.
    pub fn start(plan: &Plan, layout: &Layout, hosts: &Hosts, zero_ns: u64) -> Result<Self, GuestError> {
        let zeros = Arc::new(Zeros::default());
        let trouble = Arc::new(Mutex::new(None));
        let mut clients = Vec::new();
        for (index, (flow, &(src, dst))) in plan.flows.iter().zip(&layout.flows).enumerate() {
            let to = Address { ip: End::ip(dst), port: ports::server(index) };
            let variant = &plan.rules[flow.rule as usize].name;
            system::enter_network(&hosts.ends[dst as usize])?;
            let listener = tcp_socket(variant)?;
            system::bind(listener.as_raw_fd(), to, "bind a receiver")?;
            system::listen(listener.as_raw_fd(), "listen")?;
            start(&trouble, &flow.name, move || receive(listener))?;

            system::enter_network(&hosts.ends[src as usize])?;
            let client = tcp_socket(variant)?;
            let from = Address { ip: End::ip(src), port: ports::client(index) };
            system::bind(client.as_raw_fd(), from, "bind a sender")?;
            if let Some(bps) = plan.stacks[flow.src_stack as usize].max_pacing_rate_bps {
                let rate = bps / 8;
                let fd = client.as_raw_fd();
                system::set_option(fd, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &rate, "limit the pacing rate")?;
            }
            let (socket, zeros) = (client.as_raw_fd(), Arc::clone(&zeros));
            let start_ns = zero_ns + flow.start_ps.div_ceil(1_000);
            let Application::Bulk { bytes } = flow.application;
            let bytes = bytes.unwrap_or(u64::MAX);
            start(&trouble, &flow.name, move || send(socket, &zeros, to, start_ns, bytes))?;
            clients.push(client);
        }
        system::enter_network(&hosts.nobody)?;
        Ok(Self { clients, trouble })
    }

    /// The sender's socket of a flow.
    pub fn client(&self, flow: usize) -> RawFd {
        self.clients[flow].as_raw_fd()
    }

    /// The first thing that went wrong in an application, if any did.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().ok().and_then(|trouble| trouble.clone())
    }
}

fn tcp_socket(variant: &str) -> Result<Fd, GuestError> {
    let socket = system::socket(libc::AF_INET, libc::SOCK_STREAM, 0, "open a TCP socket")?;
    let fd = socket.as_raw_fd();
    system::set_option_str(fd, SOL_TCP, libc::TCP_CONGESTION, variant, "choose the congestion control")?;
    Ok(socket)
}

fn start(
    trouble: &Arc<Mutex<Option<String>>>,
    flow: &str,
    application: impl FnOnce() -> std::io::Result<()> + Send + 'static,
) -> Result<(), GuestError> {
    let (trouble, name) = (Arc::clone(trouble), flow.to_owned());
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

fn send(socket: RawFd, zeros: &Zeros, to: Address, start_ns: u64, bytes: u64) -> std::io::Result<()> {
    system::exact_timers();
    system::sleep_until(start_ns);
    system::connect(socket, to)?;
    zeros.send(socket, bytes)?;
    system::no_more_data(socket)
}

/// Reads until the sender closes, and closes as well.
fn receive(listener: Fd) -> std::io::Result<()> {
    let connection = system::accept(listener.as_raw_fd())?;
    system::receive_all_and_exit(connection)
}
