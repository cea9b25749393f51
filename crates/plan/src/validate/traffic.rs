//! Checks flows, and the congestion controls that they use.

use daybreak_tcp::congestion;

use super::paths::Paths;
use super::{Check, MOST_COMPONENTS, bounded_time, ensure, node, refuse, refuse_parameter, unique_names, within};
use crate::{Application, NodeKind, Plan};

/// Checks that the congestion controls are modelled, with these parameters.
pub(crate) fn check_rules(plan: &Plan) -> Check {
    for (i, rule) in plan.rules.iter().enumerate() {
        let field = format!("rules[{i}]");
        let entry = congestion::find(&rule.name)
            .or_else(|error| refuse(format!("{field}.name"), format!("\"{}\"", rule.name), error.to_string()))?;
        entry.settings(rule.given()).or_else(|error| refuse_parameter(&field, rule, error))?;
    }
    Ok(())
}

pub(super) fn check(plan: &Plan, paths: &Paths) -> Check {
    unique_names("flows", plan.flows.iter().map(|flow| &flow.name))?;
    ensure(plan.flows.len() < MOST_COMPONENTS as usize / 2, "flows", plan.flows.len(), || "too many flows".into())?;
    for (i, flow) in plan.flows.iter().enumerate() {
        let field = |name: &str| format!("flows[{i}].{name}");
        let is_within = |name: &str, index: u32, count: usize, what: &str| {
            if (index as usize) < count { Ok(()) } else { within(&field(name), index, count, what) }
        };
        is_within("group", flow.group, plan.groups.len(), "groups")?;
        for (name, host) in [("src", flow.src), ("dst", flow.dst)] {
            is_within(name, host, plan.nodes.len(), "nodes")?;
            if plan.nodes[host as usize].kind != NodeKind::Host {
                return refuse(field(name), node(plan, host), "a flow starts and ends at hosts, and this is a switch");
            }
        }
        if flow.src == flow.dst {
            return refuse(field("dst"), node(plan, flow.dst), "the flow starts there too");
        }
        is_within("src_stack", flow.src_stack, plan.stacks.len(), "stacks")?;
        is_within("dst_stack", flow.dst_stack, plan.stacks.len(), "stacks")?;
        is_within("rule", flow.rule, plan.rules.len(), "rules")?;
        match flow.application {
            Application::Bulk { bytes: Some(0) } => {
                return refuse(field("application.bytes"), 0, "a transfer has at least 1 byte, or null for no end");
            }
            Application::Bulk { .. } => {}
        }
        if flow.start_ps > super::LONGEST_PS {
            bounded_time(&field("start_ps"), flow.start_ps)?;
        }
        let ways = [("data_path", flow.data_path, flow.src, flow.dst), ("ack_path", flow.ack_path, flow.dst, flow.src)];
        for (name, path, from, to) in ways {
            is_within(name, path, plan.paths.len(), "paths")?;
            paths.check_flow(plan, || field(name), path, (from, to))?;
        }
    }
    Ok(())
}
