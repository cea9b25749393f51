//! The programs of a run, managed by the init program: one supervisor process each ([`crate::supervise`]). Servers are
//! started before the run begins; when all clients have ended they get some time to end by themselves, then SIGTERM.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use daybreak_plan::Plan;
use daybreak_trace::ProgramRow;

use crate::device::Device;
use crate::error::GuestError;
use crate::hosts::Hosts;
use crate::layout::Layout;
use crate::report::Report;
use crate::supervise::{Order, Outcome};
use crate::system;

/// Virtual time that servers have to end by themselves when all clients have.
const SERVERS_LINGER: Duration = Duration::from_secs(1);

/// The programs that run.
pub struct Programs {
    events: Sender<Event>,
    coordinator: JoinHandle<Result<Vec<ProgramRow>, String>>,
}

enum Event {
    /// A program has ended.
    Ended(usize, Outcome),
    /// The run is over.
    Over,
}

/// A program and its supervisor.
struct Running {
    flow: u32,
    is_server: bool,
    orders: Option<ChildStdin>,
    ended: bool,
}

/// Manages all programs in a thread of its own.
struct Coordinator {
    running: Vec<Running>,
    events: Receiver<Event>,
    device: Arc<Device>,
}

impl Programs {
    /// Starts the supervisors. The clock's zero is at `zero_ns`.
    pub fn start(
        plan: &Plan,
        layout: &Layout,
        hosts: &Hosts,
        device: &Arc<Device>,
        zero_ns: u64,
    ) -> Result<Self, GuestError> {
        let failed = |error| GuestError::io("start a program's supervisor", error);
        let (sender, events) = channel();
        let mut running = Vec::new();
        for (index, (flow, &(src, dst))) in plan.flows.iter().zip(&layout.flows).enumerate() {
            let [client, server] = flow.application.commands();
            // Servers are started before the clients of their host.
            for (is_server, end) in [(true, server.map(|_| dst)), (false, client.map(|_| src))] {
                let Some(end) = end else { continue };
                system::enter_network(&hosts.ends[end as usize])?;
                let side = if is_server { "server" } else { "client" };
                let mut supervisor = Command::new("/proc/self/exe")
                    .args(["program", &index.to_string(), side, &zero_ns.to_string()])
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .spawn()
                    .map_err(failed)?;
                let (place, sender) = (running.len(), sender.clone());
                let orders = supervisor.stdin.take();
                let wait = move || sender.send(Event::Ended(place, outcome(supervisor)));
                std::thread::Builder::new().spawn(wait).map_err(failed)?;
                running.push(Running { flow: index as u32, is_server, orders, ended: false });
            }
        }
        system::enter_network(&hosts.outside)?;
        let coordinator = Coordinator { running, events, device: Arc::clone(device) };
        let coordinator = std::thread::Builder::new().spawn(move || coordinator.run()).map_err(failed)?;
        Ok(Self { events: sender, coordinator })
    }

    /// Ends the programs that still run when the run is over, and returns the outcome of all programs.
    pub fn finish(self) -> Result<Vec<ProgramRow>, GuestError> {
        // Where the receiver is gone all programs have ended.
        let _ = self.events.send(Event::Over);
        let rows = self.coordinator.join();
        let rows = rows.map_err(|_| GuestError::Broken("the coordinator of the programs panicked".into()))?;
        rows.map_err(GuestError::Program)
    }
}

/// Waits for a supervisor, and reads its report.
fn outcome(mut supervisor: Child) -> Outcome {
    let mut said = String::new();
    if let Some(output) = &mut supervisor.stdout {
        let _ = output.read_to_string(&mut said);
    }
    let _ = supervisor.wait();
    Outcome::parse(&said)
}

impl Coordinator {
    fn run(mut self) -> Result<Vec<ProgramRow>, String> {
        let has_clients = self.running.iter().any(|program| !program.is_server);
        let (mut rows, mut trouble) = (Vec::new(), None);
        let (mut is_over, mut are_asked) = (false, false);
        while self.running.iter().any(|program| !program.ended) {
            let clients_run = self.running.iter().any(|program| !program.is_server && !program.ended);
            let event = if has_clients && !clients_run && !are_asked {
                self.events.recv_timeout(SERVERS_LINGER)
            } else {
                self.events.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match event {
                Ok(Event::Ended(place, outcome)) => {
                    self.running[place].ended = true;
                    let &Running { flow, is_server, .. } = &self.running[place];
                    match outcome {
                        Outcome::Row(row) => rows.push(ProgramRow { flow, end: u8::from(is_server), ..row }),
                        Outcome::Failed(sentence) => {
                            trouble.get_or_insert(sentence);
                            are_asked = true;
                            self.order(Order::Over);
                        }
                    }
                    if !is_server && !is_over {
                        self.ended(Some(flow))?;
                    }
                }
                Ok(Event::Over) => {
                    (is_over, are_asked) = (true, true);
                    self.order(Order::Over);
                }
                Err(RecvTimeoutError::Timeout) => {
                    are_asked = true;
                    self.order(Order::End);
                }
                Err(RecvTimeoutError::Disconnected) => return Err("the supervisors of the programs are gone".into()),
            }
        }
        if let Some(sentence) = trouble {
            self.device.report(&Report::GivenUp).map_err(|error| error.to_string())?;
            return Err(sentence);
        }
        if has_clients && !is_over {
            self.ended(None)?;
        }
        rows.sort_by_key(|row| (row.flow, row.end));
        Ok(rows)
    }

    /// Sends an order to all running programs.
    fn order(&mut self, order: Order) {
        for program in self.running.iter_mut().filter(|program| !program.ended) {
            if let Some(orders) = &mut program.orders {
                // One that is ending now reads no more.
                let _ = orders.write_all(&[order.byte()]);
            }
        }
    }

    fn ended(&self, flow: Option<u32>) -> Result<(), String> {
        let at_ns = system::clock_ns(libc::CLOCK_MONOTONIC);
        self.device.report(&Report::Ended { at_ns, flow }).map_err(|error| error.to_string())
    }
}
