//! Checks nodes, links, queues, marks and markers.

use daybreak_fabric::queue::{self, SettingsError};
use daybreak_units::parameters::Settings;

use super::{
    Check, MOST_COMPONENTS, PlanError, bounded_time, ensure, node, refuse, refuse_parameter, unique_names, within,
};
use crate::{Choice, Plan, Scheduler};

/// Slowest and fastest link that the picosecond clock resolves.
pub(super) const RATES_BPS: std::ops::RangeInclusive<u64> = 1_000_000..=10_000_000_000_000;
const MOST_FRAMING_BYTES: u32 = 65_536;
/// Bits in the header of a packet.
const MOST_MARKS: usize = 8;

pub(super) fn check(plan: &Plan) -> Check {
    unique_names("nodes", plan.nodes.iter().map(|node| &node.name))?;
    links(plan)?;
    queues(plan)?;
    marks(plan)
}

fn links(plan: &Plan) -> Check {
    unique_names("links", plan.links.iter().map(|link| &link.name))?;
    ensure(plan.links.len() < MOST_COMPONENTS as usize, "links", plan.links.len(), || "too many links".into())?;
    for (i, link) in plan.links.iter().enumerate() {
        let field = |name: &str| format!("links[{i}].{name}");
        within(&field("from"), link.from, plan.nodes.len(), "nodes")?;
        within(&field("to"), link.to, plan.nodes.len(), "nodes")?;
        ensure(link.from != link.to, &field("to"), link.to, || "the link starts at the same node".into())?;
        check_rate(&field("rate_bps"), link.rate_bps)?;
        bounded_time(&field("delay_ps"), link.delay_ps)?;
        bounded_time(&field("jitter_ps"), link.jitter_ps)?;
        ensure(link.framing_bytes <= MOST_FRAMING_BYTES, &field("framing_bytes"), link.framing_bytes, || {
            format!("framing is at most {MOST_FRAMING_BYTES} bytes")
        })?;
        check_loss(&field("loss_ppb"), link.loss_ppb)?;
    }
    Ok(())
}

pub(super) fn check_rate(field: &str, bps: u64) -> Check {
    ensure(RATES_BPS.contains(&bps), field, bps, || {
        format!("a rate is between {} and {} bit/s", RATES_BPS.start(), RATES_BPS.end())
    })
}

pub(super) fn check_loss(field: &str, ppb: u32) -> Check {
    ensure(ppb <= 1_000_000_000, field, ppb, || "a probability is at most 1000000000 parts per 10^9".into())
}

fn queues(plan: &Plan) -> Check {
    unique_names("queues", plan.queues.iter().map(|queue| &queue.name))?;
    for (i, queue) in plan.queues.iter().enumerate() {
        let field = |name: &str| format!("queues[{i}].{name}");
        within(&field("node"), queue.node, plan.nodes.len(), "nodes")?;
        settings(&field("discipline"), &queue.discipline)?;
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
        let in_turn = queue.served_by.iter().map(|&link| &plan.links[link as usize]);
        if queue.priority > 0
            && let Some(link) = in_turn.into_iter().find(|link| link.scheduler == Scheduler::RoundRobin)
        {
            let problem = format!("link \"{}\" serves its queues in turn, whatever their priority", link.name);
            return refuse(field("priority"), queue.priority, problem);
        }
    }
    Ok(())
}

/// The initial settings of a queue's discipline.
pub(super) fn settings(field: &str, choice: &Choice) -> Result<Settings, PlanError> {
    let Some(entry) = queue::find(&choice.name) else {
        let known: Vec<&str> = queue::REGISTRY.iter().map(|entry| entry.name).collect();
        let problem = format!("it is not a known queue discipline; known are {}", known.join(", "));
        return refuse(format!("{field}.name"), format!("\"{}\"", choice.name), problem);
    };
    entry.settings(choice.given()).or_else(|error| match error {
        SettingsError::Parameter(error) => refuse_parameter(field, choice, error),
        SettingsError::Together(problem) => refuse(field, format!("\"{}\"", choice.name), problem),
    })
}

fn marks(plan: &Plan) -> Check {
    unique_names("marks", plan.marks.iter().map(|mark| &mark.name))?;
    ensure(plan.marks.len() <= MOST_MARKS, "marks", format!("a list of {}", plan.marks.len()), || {
        format!("a packet has room for {MOST_MARKS} marks")
    })?;
    unique_names("markers", plan.markers.iter().map(|marker| &marker.name))?;
    for (i, marker) in plan.markers.iter().enumerate() {
        within(&format!("markers[{i}].node"), marker.node, plan.nodes.len(), "nodes")?;
        within(&format!("markers[{i}].mark"), marker.mark, plan.marks.len(), "marks")?;
    }
    Ok(())
}
