//! Refuses a plan that no run can be made of, naming field and value.

use std::fmt::Display;

use daybreak_fabric::queue;
use daybreak_tcp::congestion;

use crate::error::EngineError;
use crate::plan::{Action, NodeKind, PLAN_VERSION, Plan, Records, Stack, Step, Timeline};
use crate::schedule::Event;

/// Longest delay, period or run: about 53 days, so that no sum of times overflows.
const LONGEST_PS: u64 = 1 << 62;
/// Slowest and fastest link that the picosecond clock resolves.
const RATES_BPS: std::ops::RangeInclusive<u64> = 1_000_000..=10_000_000_000_000;
const MOST_FRAMING_BYTES: u32 = 65_536;

type Check = Result<(), EngineError>;

/// Checks the whole plan.
///
/// # Errors
/// When no run can be made of it; the error names the field and the value.
pub fn validate(plan: &Plan) -> Check {
    ensure(plan.version == PLAN_VERSION, "version", plan.version, || {
        format!("this engine runs plans of version {PLAN_VERSION}")
    })?;
    positive_time("end_ps", plan.end_ps)?;
    nodes(plan)?;
    links(plan)?;
    queues(plan)?;
    let ends = branches(plan)?;
    for (i, timeline) in plan.timelines.iter().enumerate() {
        check_timeline(plan, &format!("timelines[{i}]"), timeline)?;
    }
    for (i, stack) in plan.stacks.iter().enumerate() {
        check_stack(&format!("stacks[{i}]"), stack)?;
    }
    flows(plan, &ends)?;
    records(plan, &plan.records)
}

fn refuse<T>(field: impl Into<String>, value: impl Display, problem: impl Into<String>) -> Result<T, EngineError> {
    Err(EngineError::Plan { field: field.into(), value: value.to_string(), problem: problem.into() })
}

fn ensure(holds: bool, field: &str, value: impl Display, problem: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { refuse(field, value, problem()) }
}

fn within(field: &str, value: u32, count: usize, what: &str) -> Check {
    ensure((value as usize) < count, field, value, || format!("the plan has only {count} {what}"))
}

fn positive_time(field: &str, ps: u64) -> Check {
    ensure(ps > 0, field, ps, || "it must be more than 0 ps".into())?;
    bounded_time(field, ps)
}

fn bounded_time(field: &str, ps: u64) -> Check {
    ensure(ps <= LONGEST_PS, field, ps, || format!("it must be at most {LONGEST_PS} ps"))
}

fn nodes(plan: &Plan) -> Check {
    unique_names("nodes", plan.nodes.iter().map(|node| &node.name))
}

fn unique_names<'a>(list: &str, names: impl Iterator<Item = &'a String>) -> Check {
    let mut seen = std::collections::BTreeMap::new();
    for (i, name) in names.enumerate() {
        if let Some(first) = seen.insert(name, i) {
            return refuse(
                format!("{list}[{i}].name"),
                format!("\"{name}\""),
                format!("{list}[{first}] has that name"),
            );
        }
    }
    Ok(())
}

fn links(plan: &Plan) -> Check {
    unique_names("links", plan.links.iter().map(|link| &link.name))?;
    ensure(plan.links.len() < Event::COMPONENTS as usize, "links", plan.links.len(), || "too many links".into())?;
    for (i, link) in plan.links.iter().enumerate() {
        let field = |name: &str| format!("links[{i}].{name}");
        within(&field("from"), link.from, plan.nodes.len(), "nodes")?;
        within(&field("to"), link.to, plan.nodes.len(), "nodes")?;
        ensure(link.from != link.to, &field("to"), link.to, || "the link starts at the same node".into())?;
        ensure(RATES_BPS.contains(&link.rate_bps), &field("rate_bps"), link.rate_bps, || {
            format!("a rate is between {} and {} bit/s", RATES_BPS.start(), RATES_BPS.end())
        })?;
        bounded_time(&field("delay_ps"), link.delay_ps)?;
        bounded_time(&field("jitter_ps"), link.jitter_ps)?;
        ensure(link.framing_bytes <= MOST_FRAMING_BYTES, &field("framing_bytes"), link.framing_bytes, || {
            format!("framing is at most {MOST_FRAMING_BYTES} bytes")
        })?;
        ensure(link.loss_ppb <= 1_000_000_000, &field("loss_ppb"), link.loss_ppb, || {
            "a probability is at most 1000000000 parts per 10^9".into()
        })?;
    }
    Ok(())
}

fn queues(plan: &Plan) -> Check {
    unique_names("queues", plan.queues.iter().map(|queue| &queue.name))?;
    for (i, queue) in plan.queues.iter().enumerate() {
        let field = |name: &str| format!("queues[{i}].{name}");
        within(&field("node"), queue.node, plan.nodes.len(), "nodes")?;
        ensure(queue::is_known(&queue.kind), &field("kind"), format!("\"{}\"", queue.kind), || {
            let known: Vec<&str> = queue::REGISTRY.iter().map(|(name, _)| *name).collect();
            format!("it is not a known kind of queue; known are {}", known.join(", "))
        })?;
        ensure(!queue.served_by.is_empty(), &field("served_by"), "empty", || "no link serves the queue".into())?;
        for (j, &link) in queue.served_by.iter().enumerate() {
            let field = format!("queues[{i}].served_by[{j}]");
            within(&field, link, plan.links.len(), "links")?;
            let from = plan.links[link as usize].from;
            ensure(from == queue.node, &field, link, || {
                format!("that link starts at {}, the queue stands at {}", node(plan, from), node(plan, queue.node))
            })?;
            ensure(!queue.served_by[..j].contains(&link), &field, link, || "the link is named twice".into())?;
        }
    }
    Ok(())
}

/// Checks the branches and returns the node at which each one's tails end.
fn branches(plan: &Plan) -> Result<Vec<u32>, EngineError> {
    unique_names("branches", plan.branches.iter().map(|branch| &branch.name))?;
    let mut ends = vec![None; plan.branches.len()];
    for i in 0..plan.branches.len() {
        branch_end(plan, i as u32, &mut ends, &mut Vec::new())?;
    }
    Ok(ends.into_iter().flatten().collect())
}

fn branch_end(
    plan: &Plan,
    index: u32,
    ends: &mut Vec<Option<u32>>,
    within_branches: &mut Vec<u32>,
) -> Result<u32, EngineError> {
    if let Some(end) = ends[index as usize] {
        return Ok(end);
    }
    let branch = &plan.branches[index as usize];
    let field = |name: &str| format!("branches[{index}].{name}");
    within(&field("node"), branch.node, plan.nodes.len(), "nodes")?;
    ensure(!branch.alternatives.is_empty(), &field("alternatives"), "empty", || {
        "a branch needs an alternative".into()
    })?;
    within(&field("initial"), branch.initial, branch.alternatives.len(), "alternatives in this branch")?;
    if within_branches.contains(&index) {
        return refuse(field("alternatives"), format!("branch {index}"), "the branch leads back to itself");
    }
    within_branches.push(index);
    let mut common = None;
    for (j, steps) in branch.alternatives.iter().enumerate() {
        let field = field(&format!("alternatives[{j}]"));
        let end = match walk(plan, &field, steps, branch.node)? {
            Walk::At(node) => node,
            Walk::Branch(next) => branch_end(plan, next, ends, within_branches)?,
        };
        if *common.get_or_insert(end) != end {
            let expected = node(plan, common.unwrap_or(end));
            return refuse(
                field,
                format!("a path to {}", node(plan, end)),
                format!("the alternatives before it lead to {expected}"),
            );
        }
    }
    within_branches.pop();
    ends[index as usize] = common;
    Ok(common.unwrap_or(branch.node))
}

enum Walk {
    At(u32),
    Branch(u32),
}

/// Follows the steps from a node and sees that each one starts where the one before ended.
fn walk(plan: &Plan, field: &str, steps: &[Step], from: u32) -> Result<Walk, EngineError> {
    ensure(!steps.is_empty(), field, "empty", || "a path needs at least one step".into())?;
    let mut at = from;
    for (i, &step) in steps.iter().enumerate() {
        let field = format!("{field}[{i}]");
        match step {
            Step::Queue(index) => {
                within(&field, index, plan.queues.len(), "queues")?;
                let queue = &plan.queues[index as usize];
                ensure(queue.node == at, &field, format!("queue {index} (\"{}\")", queue.name), || {
                    format!("it stands at {}, but the path is at {}", node(plan, queue.node), node(plan, at))
                })?;
                at = plan.links[queue.served_by[0] as usize].to;
                if let Some(&other) = queue.served_by.iter().find(|&&link| plan.links[link as usize].to != at) {
                    let other = node(plan, plan.links[other as usize].to);
                    return refuse(
                        field,
                        format!("queue {index} (\"{}\")", queue.name),
                        format!("its links lead to {} and to {other}, so the path has no next node", node(plan, at)),
                    );
                }
            }
            Step::Branch(index) => {
                within(&field, index, plan.branches.len(), "branches")?;
                let branch = &plan.branches[index as usize];
                ensure(i + 1 == steps.len(), &field, format!("branch {index}"), || {
                    "a branch must be the last step of a path: its alternatives are the rest".into()
                })?;
                ensure(branch.node == at, &field, format!("branch {index} (\"{}\")", branch.name), || {
                    format!("it decides at {}, but the path is at {}", node(plan, branch.node), node(plan, at))
                })?;
                return Ok(Walk::Branch(index));
            }
        }
    }
    Ok(Walk::At(at))
}

fn node(plan: &Plan, index: u32) -> String {
    match plan.nodes.get(index as usize) {
        Some(node) => format!("node {index} (\"{}\")", node.name),
        None => format!("node {index}"),
    }
}

fn check_timeline(plan: &Plan, field: &str, timeline: &Timeline) -> Check {
    bounded_time(&format!("{field}.start_ps"), timeline.start_ps)?;
    positive_time(&format!("{field}.period_ps"), timeline.period_ps)?;
    ensure(!timeline.steps.is_empty(), &format!("{field}.steps"), "empty", || "the program does nothing".into())?;
    let mut before = 0;
    for (i, step) in timeline.steps.iter().enumerate() {
        let offset = format!("{field}.steps[{i}].offset_ps");
        ensure(step.offset_ps < timeline.period_ps, &offset, step.offset_ps, || {
            format!("the period is only {} ps", timeline.period_ps)
        })?;
        ensure(step.offset_ps >= before, &offset, step.offset_ps, || {
            format!("the step before it is later, at {before} ps")
        })?;
        before = step.offset_ps;
        for (j, action) in step.actions.iter().enumerate() {
            check_action(plan, &format!("{field}.steps[{i}].actions[{j}]"), action)?;
        }
    }
    Ok(())
}

fn check_action(plan: &Plan, field: &str, action: &Action) -> Check {
    match *action {
        Action::SetRoute { branch, alternative } => {
            within(&format!("{field}.branch"), branch, plan.branches.len(), "branches")?;
            let count = plan.branches[branch as usize].alternatives.len();
            within(&format!("{field}.alternative"), alternative, count, "alternatives in that branch")
        }
        Action::Darken { branch, .. } => within(&format!("{field}.branch"), branch, plan.branches.len(), "branches"),
        Action::OpenGate { queue, link } | Action::CloseGate { queue, link, .. } => {
            within(&format!("{field}.queue"), queue, plan.queues.len(), "queues")?;
            let queue = &plan.queues[queue as usize];
            ensure(queue.served_by.contains(&link), &format!("{field}.link"), link, || {
                format!("that link does not serve queue \"{}\"", queue.name)
            })
        }
    }
}

fn check_stack(field: &str, stack: &Stack) -> Check {
    let at = |name: &str| format!("{field}.{name}");
    ensure((576..=65_535).contains(&stack.mtu), &at("mtu"), stack.mtu, || {
        "an MTU is between 576 and 65535 bytes".into()
    })?;
    ensure(stack.initial_window >= 1, &at("initial_window"), stack.initial_window, || {
        "the initial window is at least 1 segment".into()
    })?;
    if let Some(clamp) = stack.cwnd_clamp {
        ensure(clamp >= 2, &at("cwnd_clamp"), clamp, || "the window must be able to reach 2 segments".into())?;
    }
    ensure((24..=10_000).contains(&stack.hz), &at("hz"), stack.hz, || "ticks are 24 to 10000 a second".into())?;
    positive_time(&at("rto_min_ps"), stack.rto_min_ps)?;
    positive_time(&at("delayed_ack_min_ps"), stack.delayed_ack_min_ps)?;
    bounded_time(&at("delayed_ack_max_ps"), stack.delayed_ack_max_ps)?;
    ensure(
        stack.delayed_ack_max_ps >= stack.delayed_ack_min_ps,
        &at("delayed_ack_max_ps"),
        stack.delayed_ack_max_ps,
        || format!("it is shorter than delayed_ack_min_ps, {}", stack.delayed_ack_min_ps),
    )?;
    for (name, [min, default, max]) in [("tcp_rmem", stack.tcp_rmem), ("tcp_wmem", stack.tcp_wmem)] {
        ensure(0 < min && min <= default && default <= max, &at(name), format!("[{min}, {default}, {max}]"), || {
            "it must be minimum, default, maximum, each at least the one before and not 0".into()
        })?;
        ensure(max <= u64::from(u32::MAX), &at(name), max, || "a socket buffer is below 4 GiB".into())?;
    }
    ensure((-31..=31).contains(&stack.tcp_adv_win_scale), &at("tcp_adv_win_scale"), stack.tcp_adv_win_scale, || {
        "Linux accepts -31 to 31".into()
    })?;
    ensure(stack.tcp_ecn <= 2, &at("tcp_ecn"), stack.tcp_ecn, || "it is 0 (off), 1 (on) or 2 (passive)".into())?;
    ensure([0, 2].contains(&stack.tcp_frto), &at("tcp_frto"), stack.tcp_frto, || "it is 0 or 2".into())?;
    ensure([0, 3].contains(&stack.tcp_early_retrans), &at("tcp_early_retrans"), stack.tcp_early_retrans, || {
        "it is 0 or 3".into()
    })?;
    ensure(stack.tcp_reordering >= 1, &at("tcp_reordering"), stack.tcp_reordering, || "it is at least 1".into())?;
    ensure(
        stack.tcp_max_reordering >= stack.tcp_reordering,
        &at("tcp_max_reordering"),
        stack.tcp_max_reordering,
        || format!("it is below tcp_reordering, {}", stack.tcp_reordering),
    )?;
    for (name, ns) in [
        ("tcp_comp_sack_delay_ns", stack.tcp_comp_sack_delay_ns),
        ("tcp_comp_sack_slack_ns", stack.tcp_comp_sack_slack_ns),
    ] {
        ensure(ns <= LONGEST_PS / 1_000, &at(name), ns, || format!("it must be at most {LONGEST_PS} ps"))?;
    }
    if let Some(rate) = stack.max_pacing_rate_bps {
        ensure(rate > 0, &at("max_pacing_rate_bps"), rate, || "nothing would ever be sent".into())?;
    }
    Ok(())
}

fn flows(plan: &Plan, ends: &[u32]) -> Check {
    unique_names("flows", plan.flows.iter().map(|flow| &flow.name))?;
    ensure(plan.flows.len() < Event::COMPONENTS as usize / 2, "flows", plan.flows.len(), || "too many flows".into())?;
    for (i, flow) in plan.flows.iter().enumerate() {
        let field = |name: &str| format!("flows[{i}].{name}");
        for (name, host) in [("src", flow.src), ("dst", flow.dst)] {
            within(&field(name), host, plan.nodes.len(), "nodes")?;
            ensure(plan.nodes[host as usize].kind == NodeKind::Host, &field(name), node(plan, host), || {
                "a flow starts and ends at hosts, and this is a switch".into()
            })?;
        }
        ensure(flow.src != flow.dst, &field("dst"), node(plan, flow.dst), || "the flow starts there too".into())?;
        congestion::find(&flow.variant)
            .or_else(|unknown| refuse(field("variant"), format!("\"{}\"", flow.variant), unknown.to_string()))?;
        within(&field("src_stack"), flow.src_stack, plan.stacks.len(), "stacks")?;
        within(&field("dst_stack"), flow.dst_stack, plan.stacks.len(), "stacks")?;
        bounded_time(&field("start_ps"), flow.start_ps)?;
        check_path(plan, ends, &field("data_path"), &flow.data_path, flow.src, flow.dst)?;
        check_path(plan, ends, &field("ack_path"), &flow.ack_path, flow.dst, flow.src)?;
    }
    Ok(())
}

fn check_path(plan: &Plan, ends: &[u32], field: &str, steps: &[Step], from: u32, to: u32) -> Check {
    let end = match walk(plan, field, steps, from)? {
        Walk::At(node) => node,
        Walk::Branch(branch) => ends[branch as usize],
    };
    ensure(end == to, field, format!("a path to {}", node(plan, end)), || format!("it must lead to {}", node(plan, to)))
}

fn records(plan: &Plan, records: &Records) -> Check {
    let lists = [
        ("tap_links", &records.tap_links, plan.links.len(), "links"),
        ("bin_links", &records.bin_links, plan.links.len(), "links"),
        ("queues", &records.queues, plan.queues.len(), "queues"),
        ("capture_links", &records.capture_links, plan.links.len(), "links"),
    ];
    for (name, indices, count, what) in lists {
        for (i, &index) in indices.iter().enumerate() {
            let field = format!("records.{name}[{i}]");
            within(&field, index, count, what)?;
            ensure(!indices[..i].contains(&index), &field, index, || "it is named twice".into())?;
        }
    }
    if let Some(ps) = records.bin_ps {
        positive_time("records.bin_ps", ps)?;
    }
    if let Some(ps) = records.window_ps {
        bounded_time("records.window_ps", ps)?;
    }
    if let Some(ps) = records.queue_ps {
        positive_time("records.queue_ps", ps)?;
    }
    let bins = !records.tap_links.is_empty() || !records.bin_links.is_empty() || records.bin_delivered;
    ensure(records.bin_ps.is_some() || !bins, "records.bin_ps", "null", || {
        "something is to be binned, so a bin needs a width".into()
    })?;
    ensure(records.queue_ps.is_some() || records.queues.is_empty(), "records.queue_ps", "null", || {
        "queues are to be sampled, so an interval is needed".into()
    })?;
    ensure(records.capture_links.is_empty() || records.capture_snaplen > 0, "records.capture_snaplen", 0, || {
        "a capture must keep at least 1 byte of each packet".into()
    })
}
