//! Checks flows and their congestion controls.

use daybreak_tcp::congestion;

use super::paths::Paths;
use super::{Check, MOST_COMPONENTS, bounded_time, ensure, node, refuse, refuse_parameter, unique_names, within};
use crate::{Application, Choice, Command, ExchangeRun, Flow, NodeKind, Plan};

/// Headers of IPv4 and UDP without options.
const IP_AND_UDP_HEADERS: u32 = 28;
/// A datagram carries its number and its sending time.
const LEAST_PAYLOAD: u32 = 16;
/// Limit on the bytes of a request or a response, and on the exchanges of a flow, so that no sum overflows.
const MOST_BYTES: u64 = 1 << 36;
const MOST_EXCHANGES: u64 = 1 << 24;

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

/// Checks that everything that is run is modelled.
pub(crate) fn check_simulated(plan: &Plan) -> Check {
    let program = |flow: &Flow| flow.application.commands().into_iter().flatten().next().cloned();
    match plan.flows.iter().enumerate().find_map(|(i, flow)| Some((i, flow, program(flow)?))) {
        None => Ok(()),
        Some((i, flow, command)) => {
            let value = format!("{} (flow \"{}\")", command.arguments.join(" "), flow.name);
            let problem = "programs run on the kernel engine alone, and the simulator has none";
            refuse(format!("flows[{i}].application"), value, problem)
        }
    }
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
        let rule = &plan.rules[flow.rule as usize];
        if plan.stacks[flow.src_stack as usize].tdtcp && needs_ecn(rule) {
            let problem = "it needs ECN, whose echo is the flag that selects the path of its stack's tdtcp";
            return refuse(field("rule"), format!("{} (\"{}\")", flow.rule, rule.name), problem);
        }
        application(plan, flow, &field)?;
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

/// Whether connections with this rule need ECN. A rule that is not modelled is left to the engine that has it.
fn needs_ecn(rule: &Choice) -> bool {
    congestion::find(&rule.name).is_ok_and(|entry| entry.capabilities.needs_ecn)
}

/// Checks a flow's application; `field` names a field of the flow.
fn application(plan: &Plan, flow: &Flow, field: &impl Fn(&str) -> String) -> Check {
    match &flow.application {
        Application::Bulk { bytes: Some(0) } => {
            refuse(field("application.bytes"), 0, "a transfer has at least 1 byte, or null for no end")
        }
        Application::Bulk { .. } => Ok(()),
        Application::RequestResponse { exchanges } => {
            ensure(!exchanges.is_empty(), &field("application.exchanges"), "[]", || "expected at least one".into())?;
            exchanges.iter().enumerate().try_for_each(|(i, run)| {
                exchange_run(run, |name| field(&format!("application.exchanges[{i}].{name}")))
            })?;
            let count: u64 = exchanges.iter().map(|run| u64::from(run.count)).sum();
            ensure(count <= MOST_EXCHANGES, &field("application.exchanges"), count, || {
                format!("a flow has at most {MOST_EXCHANGES} exchanges")
            })
        }
        &Application::ConstantRate { rate_bps, payload_bytes, stop_ps } => {
            let field = |name: &str| field(&format!("application.{name}"));
            ensure(rate_bps > 0, &field("rate_bps"), rate_bps, || "it must be more than 0 bit/s".into())?;
            let most = plan.stacks[flow.src_stack as usize].mtu.saturating_sub(IP_AND_UDP_HEADERS);
            ensure((LEAST_PAYLOAD..=most).contains(&payload_bytes), &field("payload_bytes"), payload_bytes, || {
                format!(
                    "a datagram has {LEAST_PAYLOAD} to {most} bytes of payload: its number and time, and no more than fits the sender's mtu"
                )
            })?;
            match stop_ps {
                Some(stop) if stop <= flow.start_ps => {
                    refuse(field("stop_ps"), stop, format!("the flow starts at {} ps", flow.start_ps))
                }
                Some(stop) => bounded_time(&field("stop_ps"), stop),
                None => Ok(()),
            }
        }
        Application::Program { client, server } => {
            let commands = [("client", client), ("server", server)];
            ensure(commands.iter().any(|(_, command)| command.is_some()), &field("application"), "program", || {
                "expected a client or a server".into()
            })?;
            commands.into_iter().try_for_each(|(end, program)| match program {
                None => Ok(()),
                Some(program) => command(program, flow.start_ps, |name| field(&format!("application.{end}.{name}"))),
            })
        }
    }
}

fn command(command: &Command, start_ps: u64, field: impl Fn(&str) -> String) -> Check {
    let Command { arguments, stop_ps, environment, files, .. } = command;
    let program = arguments.first().map_or("", String::as_str);
    ensure(!program.is_empty(), &field("arguments"), format!("{arguments:?}"), || "it names no program".into())?;
    let texts = arguments.iter().chain(environment.iter().flat_map(|(name, value)| [name, value]));
    if let Some(text) = texts.into_iter().find(|text| text.contains('\0')) {
        return refuse(field("arguments"), format!("{text:?}"), "no text that a program is given has a zero byte");
    }
    if let Some(name) = environment.keys().find(|name| name.is_empty() || name.contains('=')) {
        return refuse(field("environment"), format!("{name:?}"), "expected the name of a variable");
    }
    let is_plain = |name: &str| !name.is_empty() && name.split('/').all(|part| !["", ".", ".."].contains(&part));
    if let Some(name) = files.keys().find(|name| !is_plain(name)) {
        return refuse(field("files"), format!("{name:?}"), "expected a name within the program's folder");
    }
    match stop_ps {
        Some(stop) if *stop <= start_ps => refuse(field("stop_ps"), stop, format!("the flow starts at {start_ps} ps")),
        Some(stop) => bounded_time(&field("stop_ps"), *stop),
        None => Ok(()),
    }
}

fn exchange_run(run: &ExchangeRun, field: impl Fn(&str) -> String) -> Check {
    ensure(run.count > 0, &field("count"), run.count, || "it must be at least 1".into())?;
    for (name, bytes) in [("request_bytes", run.request_bytes), ("response_bytes", run.response_bytes)] {
        ensure((1..=MOST_BYTES).contains(&bytes), &field(name), bytes, || {
            format!("a request or a response has 1 to {MOST_BYTES} bytes")
        })?;
    }
    bounded_time(&field("think_ps"), run.think_ps)
}
