//! One run in the guest's init program: hosts, flows, samples, and at the end the counters.

use std::sync::Arc;

use daybreak_plan::{Flow, Plan};
use daybreak_tcp::congestion::{REGISTRY, find};
use daybreak_trace::{UNKNOWN, WindowRow};
use daybreak_units::Instant;

use crate::counters::Counters;
use crate::device::Device;
use crate::error::GuestError;
use crate::flows::Flows;
use crate::hosts::{self, Hosts};
use crate::jiffies;
use crate::layout::{self, Layout};
use crate::programs::Programs;
use crate::report::{MOST_ROWS, Outcome, Report, SocketRow};
use crate::sockets::{Socket, Sockets};
use crate::system;
use crate::tcp_info::TcpInfo;

/// Time for the hosts' devices to settle before the plan's clock starts.
const SETTLE_NS: u64 = 1_000_000_000;
/// Time between two looks at the sockets of programs, of which no windows are recorded.
const LOOK_PS: u64 = 10_000_000_000;

/// Runs a plan as the init of a guest. The switch writes the tables.
pub fn run(plan: &Plan) -> Result<(), GuestError> {
    let layout = Layout::of(plan)?;
    ticks(plan)?;
    let device = Device::open()?;
    let hosts = hosts::make(plan, &layout, &device)?;
    let zero_ns = jiffies::next_aligned(SETTLE_NS)?;
    let device = Arc::new(device);
    let programs = Programs::start(plan, &layout, &hosts, &device, zero_ns)?;
    let flows = Flows::start(plan, &layout, &hosts, zero_ns)?;
    system::exact_timers();
    device.start(zero_ns)?;
    let sockets = of_programs(&layout, &hosts)?;
    follow(plan, &flows, &sockets, &device, zero_ns)?;
    let rows = programs.finish()?;
    if let Some(trouble) = flows.trouble() {
        return Err(GuestError::Broken(trouble));
    }
    let outcomes = outcomes(plan, &layout, &hosts, &flows)?;
    for rows in outcomes.chunks(MOST_ROWS) {
        device.report(&Report::Outcomes(rows.to_vec()))?;
    }
    device.report(&Report::Programs(rows))?;
    device.report(&Report::End)
}

/// Checks that the image's tick is that of the plan's stacks.
fn ticks(plan: &Plan) -> Result<(), GuestError> {
    let hz = 1_000_000_000 / system::clock_resolution_ns(libc::CLOCK_MONOTONIC_COARSE).max(1);
    match plan.stacks.iter().find(|stack| u64::from(stack.hz) != hz) {
        None => Ok(()),
        Some(stack) => Err(GuestError::Unsupported {
            field: layout::setting(stack, "hz"),
            value: stack.hz.to_string(),
            problem: format!("the kernel image was built with {hz}"),
        }),
    }
}

/// The sockets of the hosts on which programs run.
fn of_programs(layout: &Layout, hosts: &Hosts) -> Result<Vec<Sockets>, GuestError> {
    let with_programs = layout.ends.iter().zip(&hosts.ends).filter(|(end, _)| end.rule.is_some());
    with_programs.map(|(_, namespace)| Sockets::of(namespace)).collect()
}

/// Waits for the end of the run, and samples the senders' windows on the way.
fn follow(
    plan: &Plan,
    flows: &Flows,
    of_programs: &[Sockets],
    device: &Device,
    zero_ns: u64,
) -> Result<(), GuestError> {
    let for_names = (!of_programs.is_empty()).then_some(LOOK_PS);
    let Some(interval_ps) = plan.records.window_ps.or(for_names) else {
        return device.wait(None).map(drop);
    };
    let paces: Vec<bool> = plan.flows.iter().map(|flow| paces(plan, flow)).collect();
    let mut complete = vec![false; plan.flows.len()];
    let mut due_ps = interval_ps;
    while !device.wait(Some(zero_ns + due_ps.div_ceil(1_000)))? {
        let now = Instant::from_ps(due_ps);
        let mut sockets = Vec::new();
        for socket in of_programs {
            sockets.extend(socket.connected()?.iter().map(|socket| socket_row(plan, socket, now)));
        }
        for rows in sockets.chunks(MOST_ROWS / 2) {
            device.report(&Report::Sockets(rows.to_vec()))?;
        }
        let mut rows = Vec::new();
        let sampled = |index: &usize| plan.records.window_ps.is_some() && !complete[*index];
        for (index, flow) in plan.flows.iter().enumerate().filter(|(index, _)| sampled(index)).collect::<Vec<_>>() {
            let [is_opener, is_server] = flow.application.windows();
            let sender = match (is_opener, is_server) {
                (true, _) => flows.client(index),
                (_, true) => flows.server(index),
                _ => None,
            };
            let Some(sender) = sender else { continue };
            let info = TcpInfo::of(sender)?;
            if let Some(bytes) = flow.application.acknowledged_bytes() {
                // The SYN counts as one byte.
                complete[index] = info.bytes_acked > bytes;
            }
            if info.is_open() && !complete[index] {
                let row = info.window_row(index as u32, now, is_opener);
                rows.push(if paces[index] { row } else { WindowRow { pacing_bps: 0, ..row } });
            }
        }
        for rows in rows.chunks(MOST_ROWS) {
            device.report(&Report::Windows(rows.to_vec()))?;
        }
        due_ps += interval_ps;
    }
    Ok(())
}

/// What a socket of a program shows at this time.
fn socket_row(plan: &Plan, socket: &Socket, now: Instant) -> SocketRow {
    let Socket { ends, congestion, info } = socket;
    let planned = plan.rules.iter().position(|rule| rule.name == *congestion);
    let modelled = || Some(plan.rules.len() + REGISTRY.iter().position(|entry| entry.name == congestion)?);
    let row = info.window_row(0, now, false);
    SocketRow {
        ends: *ends,
        variant: planned.or_else(modelled).map_or(UNKNOWN, |index| index as u32),
        sent: info.bytes_sent,
        window: if needs_pacing(congestion) { row } else { WindowRow { pacing_bps: 0, ..row } },
        outstanding_of_opener: info.outstanding_bytes(true),
    }
}

/// Whether the sender of a flow is paced; Linux computes and reports a pacing rate in any case.
fn paces(plan: &Plan, flow: &Flow) -> bool {
    let [_, is_server] = flow.application.windows();
    let stack = if is_server { flow.dst_stack } else { flow.src_stack };
    plan.stacks[stack as usize].max_pacing_rate_bps.is_some() || needs_pacing(&plan.rules[flow.rule as usize].name)
}

fn needs_pacing(rule: &str) -> bool {
    find(rule).is_ok_and(|entry| entry.capabilities.needs_pacing)
}

/// The final state of sockets and counters.
fn outcomes(plan: &Plan, layout: &Layout, hosts: &Hosts, flows: &Flows) -> Result<Vec<Outcome>, GuestError> {
    let mut counted = vec![false; layout.ends.len()];
    let mut outcomes = Vec::new();
    for (index, (flow, &(src, dst))) in plan.flows.iter().zip(&layout.flows).enumerate() {
        let mut outcome = Outcome { flow: index as u32, ..Outcome::default() };
        let mut counters = Counters::default();
        let [src_sends, dst_sends] = flow.application.writers();
        let ends = [(src_sends, src, flows.client(index)), (dst_sends, dst, flows.server(index))];
        for (_, end, socket) in ends.into_iter().filter(|&(sends, ..)| sends) {
            if let Some(socket) = socket {
                let info = TcpInfo::of(socket)?;
                outcome.segments += info.data_segs_out;
                outcome.retransmits += info.total_retrans;
            }
            // Senders that share a namespace are counted together, at the first of them.
            if !std::mem::replace(&mut counted[end as usize], true) {
                counters += Counters::of(&hosts.ends[end as usize])?;
            }
        }
        let Counters { rtos, tlps, fast_recoveries, spurious } = counters;
        outcomes.push(Outcome { rtos, tlps, fast_recoveries, spurious, ..outcome });
    }
    Ok(outcomes)
}
