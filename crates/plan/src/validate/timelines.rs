//! Checks timelines, and actions in general.

use super::{Check, bounded_time, ensure, network, positive_time, refuse, within};
use crate::{Action, Plan, Timeline};

pub(super) fn check(plan: &Plan) -> Check {
    plan.timelines.iter().enumerate().try_for_each(|(i, line)| check_timeline(plan, &format!("timelines[{i}]"), line))
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

pub(super) fn check_action(plan: &Plan, field: &str, action: &Action) -> Check {
    let at = |name: &str| format!("{field}.{name}");
    let is_queue = |queue: u32| within(&at("queue"), queue, plan.queues.len(), "queues");
    let is_switch = |switch: u32| within(&at("route_switch"), switch, plan.route_switches.len(), "route switches");
    match *action {
        Action::SetRoute { route_switch, alternative } => {
            is_switch(route_switch)?;
            let count = plan.route_switches[route_switch as usize].alternatives.len();
            within(&at("alternative"), alternative, count, "alternatives in that route switch")
        }
        Action::Darken { route_switch, .. } => is_switch(route_switch),
        Action::OpenGate { queue, link } | Action::CloseGate { queue, link, .. } => {
            is_queue(queue)?;
            let queue = &plan.queues[queue as usize];
            ensure(queue.served_by.contains(&link), &at("link"), link, || {
                format!("that link does not serve queue \"{}\"", queue.name)
            })
        }
        Action::SetLimit { queue, .. } => is_queue(queue),
        Action::SetRate { link, rate_bps } => {
            within(&at("link"), link, plan.links.len(), "links")?;
            network::check_rate(&at("rate_bps"), rate_bps)
        }
        Action::SetDelay { link, delay_ps } => {
            within(&at("link"), link, plan.links.len(), "links")?;
            bounded_time(&at("delay_ps"), delay_ps)
        }
        Action::SetLoss { link, loss_ppb } => {
            within(&at("link"), link, plan.links.len(), "links")?;
            network::check_loss(&at("loss_ppb"), loss_ppb)
        }
        Action::SetParameter { queue, ref parameter, value } => {
            is_queue(queue)?;
            let discipline = &plan.queues[queue as usize].discipline;
            let mut settings = network::settings(&format!("queues[{queue}].discipline"), discipline)?;
            settings.set(parameter, value).or_else(|error| {
                let problem = format!("\"{}\" of queue {queue} cannot be set so: {error}", discipline.name);
                refuse(at("value"), value, problem)
            })
        }
        Action::SetMark { marker, .. } => within(&at("marker"), marker, plan.markers.len(), "markers"),
    }
}
