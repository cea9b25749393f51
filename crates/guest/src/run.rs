//! One run, from the plan to the tables.

use std::path::Path;

use daybreak_engine::{Plan, Recorder};
use daybreak_trace::{FlowColumns, FlowRow, LinkColumns, LinkRow, NEVER_NS, Probe, Table};
use daybreak_units::{Duration, Instant};

use crate::capture::Capture;
use crate::counters::Counters;
use crate::error::GuestError;
use crate::flows::Flows;
use crate::hosts::{self, Hosts};
use crate::layout::Layout;
use crate::results::Totals;
use crate::switch::{Switch, Turn};
use crate::system;
use crate::tcp_info::TcpInfo;

/// Time for the hosts' devices to settle before the plan's clock starts.
const SETTLE_NS: u64 = 1_000_000_000;
/// Turns between two reports of progress.
const REPORT: u64 = 4_096;

/// Reads a plan.
pub fn load(path: &Path) -> Result<Plan, GuestError> {
    let text = std::fs::read_to_string(path).map_err(|error| GuestError::io(path.display().to_string(), error))?;
    Ok(serde_json::from_str(&text)?)
}

/// Runs a plan as the init of a guest; a capture goes to `capture_to`. `report` is told how far the run is.
pub fn run(
    plan: &Plan,
    capture_to: &Path,
    mut report: impl FnMut(Instant, u64, usize),
) -> Result<(Vec<Table>, Totals), GuestError> {
    let layout = Layout::of(plan)?;
    ticks(plan)?;
    let capture = Capture::new(plan, capture_to).map_err(|error| GuestError::io("start the capture", error))?;
    let hosts = hosts::make(plan, &layout)?;
    let zero_ns = (system::clock_ns(libc::CLOCK_MONOTONIC) + SETTLE_NS).next_multiple_of(1_000_000_000);
    let mut switch = Switch::new(plan, &layout, &hosts.devices, zero_ns, Recorder::new(plan), capture)?;
    let flows = Flows::start(plan, &layout, &hosts, zero_ns)?;
    system::exact_timers();
    system::lock_memory();
    system::sleep_until(zero_ns);
    let mut samples = Samples::new(plan);
    loop {
        let turn = switch.turn()?;
        samples.take(&mut switch, &flows)?;
        if switch.turns % REPORT == 0 {
            report(switch.now(), switch.taken, switch.ends.iter().flatten().count());
        }
        if turn == Turn::Done {
            break;
        }
        switch.sleep(samples.next)?;
    }
    let stopped = switch.stopped.unwrap_or(switch.now());
    // The last ACK may still be on its way to the sender.
    system::sleep_until(zero_ns + stopped.as_ns() + 2_000);
    report(stopped, switch.taken, switch.ends.iter().flatten().count());
    if let Some(trouble) = flows.trouble() {
        return Err(GuestError::Broken(trouble));
    }
    let (flow_table, link_table) = (flow_table(plan, &layout, &hosts, &switch, &flows)?, link_table(&switch));
    let packet_hops = switch.link_counts().iter().map(|link| link.arrived).sum();
    let totals = Totals { packet_hops, events: switch.handled, ended_ps: stopped.as_ps() };
    let mut tables = vec![flow_table];
    tables.extend(switch.finish()?.into_tables(stopped));
    tables.push(link_table);
    Ok((tables, totals))
}

/// The image's tick is that of the plan's stacks.
fn ticks(plan: &Plan) -> Result<(), GuestError> {
    let hz = 1_000_000_000 / system::clock_resolution_ns(libc::CLOCK_MONOTONIC_COARSE).max(1);
    match plan.stacks.iter().position(|stack| u64::from(stack.hz) != hz) {
        None => Ok(()),
        Some(index) => Err(GuestError::Unsupported {
            field: format!("stacks[{index}].hz"),
            value: plan.stacks[index].hz.to_string(),
            problem: format!("the kernel image was built with {hz}"),
        }),
    }
}

/// Samples the senders' windows.
struct Samples {
    interval: Option<Duration>,
    next: Instant,
}

impl Samples {
    fn new(plan: &Plan) -> Self {
        let interval = plan.records.window_ps.map(Duration::from_ps);
        Self { interval, next: interval.map_or(Instant::NEVER, |interval| Instant::ZERO + interval) }
    }

    fn take<P: Probe>(&mut self, switch: &mut Switch<P>, flows: &Flows) -> Result<(), GuestError> {
        let Some(interval) = self.interval else { return Ok(()) };
        let now = switch.now();
        if now < self.next {
            return Ok(());
        }
        while self.next <= now {
            self.next += interval;
        }
        for flow in 0..switch.ends.len() {
            if switch.ends[flow].is_none() {
                let info = TcpInfo::of(flows.client(flow))?;
                if info.is_open() {
                    switch.probe().window(info.window_row(flow as u32, now));
                }
            }
        }
        Ok(())
    }
}

fn flow_table<P: Probe>(
    plan: &Plan,
    layout: &Layout,
    hosts: &Hosts,
    switch: &Switch<P>,
    flows: &Flows,
) -> Result<Table, GuestError> {
    let mut columns = FlowColumns::default();
    for (index, flow) in plan.flows.iter().enumerate() {
        let info = TcpInfo::of(flows.client(index))?;
        let end = layout.flows[index].0;
        // Senders that share a namespace are counted together, at the first of them.
        let counters = match layout.flows[..index].iter().any(|&(src, _)| src == end) {
            true => Counters::default(),
            false => Counters::of(&hosts.ends[end as usize])?,
        };
        let track = &switch.tracks[index];
        let start_ns = flow.start_ps / 1_000;
        let end_ns = switch.ends[index].map_or(NEVER_NS, Instant::as_ns);
        columns.push(FlowRow {
            flow: index as u32,
            bytes: flow.bytes,
            start_ns,
            end_ns,
            fct_ns: if end_ns == NEVER_NS { NEVER_NS } else { end_ns - start_ns },
            delivered_bytes: track.delivered,
            segments: u64::from(info.data_segs_out),
            retransmits: u64::from(info.total_retrans),
            rtos: counters.rtos,
            tlps: counters.tlps,
            fast_recoveries: counters.fast_recoveries,
            spurious: counters.spurious,
            dup_acks: track.dup_acks,
            reordered: track.reordered,
            duplicates: track.duplicates,
            outstanding_bytes: track.sent - track.acked,
        });
    }
    Ok(columns.into_table())
}

fn link_table<P: Probe>(switch: &Switch<P>) -> Table {
    let mut columns = LinkColumns::default();
    for (index, link) in switch.link_counts().into_iter().enumerate() {
        columns.push(LinkRow {
            link: index as u32,
            packets: link.packets,
            bytes: link.bytes,
            lost: link.lost,
            in_flight: link.packets - link.lost - link.arrived,
        });
    }
    columns.into_table()
}
