//! A run in the kernel's process: the switch with its plan, and the tables at the end.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use daybreak_engine::Recorder;
use daybreak_engine::recorder::{link_table, queue_totals_table};
use daybreak_plan::{Flow, Plan};
use daybreak_trace::{
    ConnectionColumns, DatagramColumns, FlowColumns, FlowRow, NEVER_NS, Probe, ProgramColumns, ProgramRow, Table,
    WindowRow,
};
use daybreak_units::Instant;

use crate::capture::Capture;
use crate::counters::Counters;
use crate::error::GuestError;
use crate::layout::{Layout, runs_programs};
use crate::report::{Outcome, Report, SocketRow};
use crate::results::{self, Totals};
use crate::skb::Skb;
use crate::sockets::SocketAddress;
use crate::switch::{Order, Origin, Switch};

/// The plan, in the directory in which the kernel was started.
pub const PLAN: &str = "plan.json";
/// Where the tables go.
pub const TABLES: &str = "tables";
/// Where the capture goes.
pub const CAPTURE: &str = "capture.pcapng";

/// Where programs run, the switch is called at least this often: they need not send anything for time to pass.
const HEARTBEAT_NS: u64 = 10_000_000;

/// A run from the moment at which its plan is read to the tables.
pub struct Session {
    plan: Plan,
    switch: Option<Switch<Recorder>>,
    outcomes: Vec<Outcome>,
    programs: Vec<ProgramRow>,
    /// The clock's value at the plan's time zero.
    zero_ns: u64,
    /// When its time is to be reported next; [`u64::MAX`] without programs, whose packets show it.
    heartbeat_ns: u64,
    /// Why the run cannot go on.
    failure: Option<String>,
    /// Number of NICs.
    pub nics: usize,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Time of the plan.
    pub now: Instant,
    /// Packets that NICs have sent.
    pub packets: u64,
    /// Flows that are complete.
    pub complete: usize,
}

/// Reads and validates a plan.
pub fn load(path: &Path) -> Result<Plan, GuestError> {
    let text = std::fs::read_to_string(path).map_err(|error| GuestError::io(path.display().to_string(), error))?;
    let plan: Plan = serde_json::from_str(&text)?;
    plan.validate_for_other_rules()?;
    Ok(plan)
}

impl Session {
    /// Reads the plan in the current directory.
    pub fn open() -> Result<Self, GuestError> {
        let plan = load(Path::new(PLAN))?;
        let layout = Layout::of(&plan)?;
        let capture = Capture::new(&plan, Path::new(CAPTURE));
        let capture = capture.map_err(|error| GuestError::io("start the capture", error))?;
        let switch = Switch::new(&plan, &layout, Recorder::new(&plan), capture);
        let outcomes = vec![Outcome::default(); plan.flows.len()];
        let has_programs = plan.flows.iter().any(runs_programs);
        Ok(Self {
            plan,
            switch: Some(switch),
            outcomes,
            programs: Vec::new(),
            zero_ns: 0,
            heartbeat_ns: if has_programs { 0 } else { u64::MAX },
            failure: None,
            nics: layout.nics.len(),
        })
    }

    /// The plan's clock starts when the kernel's shows this.
    pub fn start(&mut self, zero_ns: u64) {
        self.zero_ns = zero_ns;
    }

    /// A NIC lets a packet go. Returns when [`Session::advance`] wants to be called, or `None` if the packet is lost.
    pub fn send(&mut self, now_ns: u64, from: Origin, skb: Skb) -> Option<u64> {
        let now = self.time(now_ns);
        match self.switch.as_mut()?.send(now, from, skb) {
            Ok(true) => Some(self.next_ns()),
            Ok(false) => None,
            Err(error) => {
                self.failure.get_or_insert_with(|| error.to_string());
                None
            }
        }
    }

    /// The kernel has newly counted this at one end of a program's connection: its own address, then its peer's.
    pub fn count(&mut self, socket: [SocketAddress; 2], added: Counters) {
        if let Some(switch) = &mut self.switch {
            switch.count(socket, added);
        }
    }

    /// Processes due events, and returns the orders for the kernel's packets.
    pub fn advance(&mut self, now_ns: u64) -> &[Order] {
        let now = self.time(now_ns);
        self.switch.as_mut().map_or(&[], |switch| switch.advance(now))
    }

    /// When [`Session::advance`] wants to be called at the latest.
    pub fn next_ns(&self) -> u64 {
        match self.switch.as_ref().map_or(Instant::NEVER, Switch::next) {
            Instant::NEVER => u64::MAX,
            next => self.heartbeat_ns.min(self.zero_ns + next.as_ps().div_ceil(1_000)),
        }
    }

    /// Whether it is time to report how far the run is, though nothing may have been sent; if so, sets the next time.
    pub fn take_heartbeat(&mut self, now_ns: u64) -> bool {
        let is_due = now_ns >= self.heartbeat_ns;
        if is_due {
            self.heartbeat_ns = now_ns + HEARTBEAT_NS;
        }
        is_due
    }

    /// Whether the run is over, or has failed.
    pub fn is_over(&self) -> bool {
        self.failure.is_some() || self.stopped().is_some()
    }

    /// When the run was over.
    pub fn stopped(&self) -> Option<Instant> {
        self.switch.as_ref().and_then(|switch| switch.stopped)
    }

    /// Why the run cannot go on, if it cannot.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// How far the run is when the kernel's clock shows this.
    pub fn progress(&self, now_ns: u64) -> Progress {
        let (packets, complete) =
            self.switch.as_ref().map_or((0, 0), |switch| (switch.taken, switch.ends.iter().flatten().count()));
        Progress { now: self.time(now_ns), packets, complete }
    }

    /// Takes a report of the init program; the last one writes the tables.
    pub fn report(&mut self, report: &[u8]) -> Result<(), GuestError> {
        match Report::decode(report)? {
            Report::Windows(rows) => rows.into_iter().for_each(|row| self.window(row)),
            Report::Sockets(rows) => self.sockets(&rows),
            Report::Outcomes(rows) => {
                for row in rows {
                    let flows = self.outcomes.len();
                    let Some(outcome) = self.outcomes.get_mut(row.flow as usize) else {
                        return Err(GuestError::Broken(format!("a report on flow {} of {flows}", row.flow)));
                    };
                    *outcome = row;
                }
            }
            Report::Ended { at_ns, flow } => {
                let at = self.time(at_ns);
                if let Some(switch) = &mut self.switch {
                    switch.programs_ended(at, flow);
                }
            }
            Report::GivenUp => {
                if let Some(switch) = &mut self.switch {
                    switch.give_up(Instant::ZERO);
                }
            }
            Report::Programs(rows) => self.programs = rows,
            Report::End => return self.keep(),
        }
        Ok(())
    }

    /// Of each connection of a program the end that has sent more by now, or that opened it if none has.
    fn sockets(&mut self, rows: &[SocketRow]) {
        let Some(switch) = &mut self.switch else { return };
        let mut senders: BTreeMap<u32, (&SocketRow, bool)> = BTreeMap::new();
        for row in rows {
            let Some((flow, is_opener)) = switch.discovery.of_socket(row.ends) else { continue };
            let sender = senders.entry(flow).or_insert((row, is_opener));
            if (row.sent, is_opener) > (sender.0.sent, sender.1) {
                *sender = (row, is_opener);
            }
        }
        for (flow, (row, is_opener)) in senders {
            switch.discovery.note_variant(flow, row.variant);
            if self.plan.records.window_ps.is_some() && !switch.flows[flow as usize].is_closed() {
                let outstanding = if is_opener { row.outstanding_of_opener } else { row.window.outstanding_bytes };
                switch.probe().window(WindowRow { flow, outstanding_bytes: outstanding, ..row.window });
            }
        }
    }

    fn window(&mut self, row: WindowRow) {
        if let Some(switch) = &mut self.switch
            && switch.ends.get(row.flow as usize).is_some_and(Option::is_none)
        {
            switch.probe().window(row);
        }
    }

    fn time(&self, now_ns: u64) -> Instant {
        Instant::from_ps(now_ns.saturating_sub(self.zero_ns) * 1_000)
    }

    /// Writes the tables where the host finds them.
    fn keep(&mut self) -> Result<(), GuestError> {
        if let Some(failure) = &self.failure {
            return Err(GuestError::Broken(failure.clone()));
        }
        let stopped = self.stopped().unwrap_or(Instant::ZERO);
        let Some(mut switch) = self.switch.take() else {
            return Err(GuestError::Broken("the run has ended twice".into()));
        };
        let links = switch.link_totals(stopped);
        let packet_hops = links.iter().map(|link| link.arrived).sum();
        let totals = Totals { packet_hops, events: switch.handled, ended_ps: stopped.as_ps() };
        let queues = queue_totals_table(switch.queue_totals());
        let mut tables = vec![flow_table(&self.plan, &switch, &self.outcomes)];
        let mut of_applications = application_tables(&self.plan, &mut switch);
        if switch.discovery.is_wanted() {
            let mut columns = ConnectionColumns::default();
            switch.discovery.connections.iter().for_each(|&row| columns.push(row));
            let mut programs = ProgramColumns::default();
            self.programs.iter().for_each(|&row| programs.push(row));
            of_applications.extend([columns.into_table(), programs.into_table()]);
        }
        tables.extend(switch.finish()?.into_tables(stopped));
        tables.extend([link_table(links), queues]);
        tables.extend(of_applications);
        write(&tables, totals).map_err(|error| GuestError::io(TABLES, error))
    }
}

fn write(tables: &[Table], totals: Totals) -> std::io::Result<()> {
    let mut output = BufWriter::with_capacity(1 << 20, File::create(TABLES)?);
    results::write(&mut output, tables, totals)
}

fn flow_table<P: Probe>(plan: &Plan, switch: &Switch<P>, outcomes: &[Outcome]) -> Table {
    let mut columns = FlowColumns::default();
    let is_flow = |flow: &Flow| !runs_programs(flow);
    for (index, (flow, outcome)) in plan.flows.iter().zip(outcomes).enumerate().filter(|(_, (flow, _))| is_flow(flow)) {
        let start_ns = flow.start_ps / 1_000;
        let end_ns = switch.ends[index].map_or(NEVER_NS, Instant::as_ns);
        let mut row = FlowRow {
            flow: index as u32,
            bytes: flow.application.limited_bytes().unwrap_or(0),
            start_ns,
            end_ns,
            fct_ns: if end_ns == NEVER_NS { NEVER_NS } else { end_ns - start_ns },
            segments: u64::from(outcome.segments),
            retransmits: u64::from(outcome.retransmits),
            rtos: outcome.rtos,
            tlps: outcome.tlps,
            fast_recoveries: outcome.fast_recoveries,
            spurious: outcome.spurious,
            ..FlowRow::default()
        };
        // Datagrams are counted by their packets, segments by the sockets.
        switch.flows[index].fill(&mut row);
        columns.push(row);
    }
    for (index, found) in (0..).zip(&switch.flows).skip(plan.flows.len()) {
        let mut row = FlowRow { flow: index, ..FlowRow::default() };
        found.fill(&mut row);
        columns.push(row);
    }
    columns.into_table()
}

/// The tables that exist only if a flow has such an application.
fn application_tables<P: Probe>(plan: &Plan, switch: &mut Switch<P>) -> Vec<Table> {
    let mut tables = Vec::new();
    if plan.flows.iter().any(|flow| flow.application.exchanges().is_some()) {
        tables.push(std::mem::take(&mut switch.exchanges).into_table());
    }
    let has_programs = plan.flows.iter().any(runs_programs);
    if has_programs || plan.flows.iter().any(|flow| flow.application.is_udp()) {
        let mut columns = DatagramColumns::default();
        switch.datagrams().for_each(|row| columns.push(row));
        tables.push(columns.into_table());
    }
    tables
}
