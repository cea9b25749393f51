//! Checks what controllers control, and that nothing else changes it.

use std::collections::BTreeMap;

use daybreak_fabric::control::{self, Entry};
use daybreak_fabric::queue::SettingsError;

use super::{Check, bounded_time, ensure, refuse, refuse_parameter, timelines, unique_names, within};
use crate::{Change, ControlledFlow, Controller, Controls, Plan};

pub(super) fn check(plan: &Plan) -> Check {
    unique_names("controllers", plan.controllers.iter().map(|controller| &controller.name))?;
    for (i, controller) in plan.controllers.iter().enumerate() {
        check_controller(plan, &format!("controllers[{i}]"), controller)?;
    }
    check_sharing(plan)
}

fn check_controller(plan: &Plan, field: &str, controller: &Controller) -> Check {
    let at = |name: &str| format!("{field}.{name}");
    bounded_time(&at("setup_ps"), controller.setup_ps)?;
    let policy = policy(&at("policy"), controller)?;
    match &controller.controls {
        Controls::ControlledCircuit { queues, open, close } => {
            controls(&at("policy.name"), policy, matches!(policy.controls, control::Controls::Circuit(_)))?;
            ensure(!queues.is_empty(), &at("controls.queues"), "empty", || "it sees no demand".into())?;
            for (k, &queue) in queues.iter().enumerate() {
                within(&at(&format!("controls.queues[{k}]")), queue, plan.queues.len(), "queues")?;
            }
            for (list, actions) in [("open", open), ("close", close)] {
                let list = at(&format!("controls.{list}"));
                ensure(!actions.is_empty(), &list, "empty", || "nothing would change".into())?;
                for (k, action) in actions.iter().enumerate() {
                    timelines::check_action(plan, &format!("{list}[{k}]"), action)?;
                }
            }
            Ok(())
        }
        Controls::ControlledFlows { flows, paths, .. } => {
            controls(&at("policy.name"), policy, matches!(policy.controls, control::Controls::Flows(_)))?;
            ensure(*paths >= 2, &at("controls.paths"), paths, || "flows need two paths at least".into())?;
            for (k, flow) in flows.iter().enumerate() {
                check_flow(plan, &at(&format!("controls.flows[{k}]")), flow, *paths)?;
            }
            Ok(())
        }
    }
}

fn check_flow(plan: &Plan, field: &str, flow: &ControlledFlow, paths: u32) -> Check {
    let at = |name: &str| format!("{field}.{name}");
    within(&at("flow"), flow.flow, plan.flows.len(), "flows")?;
    bounded_time(&at("deadline_ps"), flow.deadline_ps.unwrap_or(0))?;
    ensure(!flow.route_switches.is_empty(), &at("route_switches"), "empty", || "nothing could move it".into())?;
    for (k, &switch) in flow.route_switches.iter().enumerate() {
        let field = at(&format!("route_switches[{k}]"));
        within(&field, switch, plan.route_switches.len(), "route switches")?;
        let count = plan.route_switches[switch as usize].alternatives.len();
        ensure(count == paths as usize, &field, switch, || {
            format!("that route switch has {count} alternatives and the flows have {paths} paths")
        })?;
        let initial = plan.route_switches[switch as usize].initial;
        ensure(initial == 0, &field, switch, || format!("that route switch starts with alternative {initial}"))?;
    }
    Ok(())
}

/// The registry entry of the controller's policy; checks its parameters.
fn policy(field: &str, controller: &Controller) -> Result<&'static Entry, super::PlanError> {
    let choice = &controller.policy;
    let Some(entry) = control::find(&choice.name) else {
        let known: Vec<_> = control::REGISTRY.iter().map(|entry| entry.name).collect();
        let problem = format!("known are {}", known.join(", "));
        return refuse(format!("{field}.name"), format!("\"{}\"", choice.name), problem);
    };
    match entry.settings(choice.given()) {
        Ok(_) => Ok(entry),
        Err(SettingsError::Parameter(error)) => refuse_parameter(field, choice, error),
        Err(SettingsError::Together(problem)) => refuse(field, format!("\"{}\"", choice.name), problem),
    }
}

fn controls(field: &str, policy: &Entry, fits: bool) -> Check {
    ensure(fits, field, format!("\"{}\"", policy.name), || format!("that policy is for {}", policy.controls.name()))
}

/// Nothing else may change what a controller changes, and a flow has at most one controller.
fn check_sharing(plan: &Plan) -> Check {
    let mut owners: BTreeMap<Change, String> = BTreeMap::new();
    for (i, timeline) in plan.timelines.iter().enumerate() {
        let actions = timeline.steps.iter().flat_map(|step| &step.actions);
        owners.extend(actions.map(|action| (action.change(), format!("timelines[{i}]"))));
    }
    let mut flows: BTreeMap<u32, usize> = BTreeMap::new();
    for (i, controller) in plan.controllers.iter().enumerate() {
        let field = format!("controllers[{i}]");
        let mut own = controller.changes();
        own.sort_unstable();
        let of_flows = matches!(controller.controls, Controls::ControlledFlows { .. });
        if let Some(pair) = own.windows(2).find(|pair| of_flows && pair[0] == pair[1]) {
            return refuse(format!("{field}.controls"), format!("{:?}", pair[0]), "two of its flows share that");
        }
        for change in own {
            if let Some(other) = owners.insert(change, field.clone())
                && other != field
            {
                return refuse(format!("{field}.controls"), format!("{change:?}"), format!("{other} changes that too"));
            }
        }
        if let Controls::ControlledFlows { flows: controlled, .. } = &controller.controls {
            for (k, ControlledFlow { flow, .. }) in controlled.iter().enumerate() {
                if let Some(other) = flows.insert(*flow, i) {
                    let problem = format!("controllers[{other}] has that flow already");
                    return refuse(format!("{field}.controls.flows[{k}].flow"), flow, problem);
                }
            }
        }
    }
    Ok(())
}
