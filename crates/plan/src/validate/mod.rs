//! Rejects plans that cannot be run, naming field and value.

mod controllers;
mod network;
mod paths;
mod records;
mod stacks;
mod timelines;
mod traffic;

use std::fmt::Display;

use daybreak_units::parameters::ParameterError;

use crate::{Choice, PLAN_VERSION, Plan};

/// Longest delay, period or run: about 53 days, so that no sum of times overflows.
const LONGEST_PS: u64 = 1 << 62;
/// Links, and ends of flows, are numbered below this.
pub const MOST_COMPONENTS: u32 = 1 << 28;

/// Why a plan is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}: {problem}")]
pub struct PlanError {
    /// Path of the field, as in `flows[3].dst`.
    pub field: String,
    /// The value it has.
    pub value: String,
    /// What is wrong with it.
    pub problem: String,
}

type Check = Result<(), PlanError>;

/// Checks everything except whether congestion controls are modelled.
pub(crate) fn validate(plan: &Plan) -> Check {
    ensure(plan.version == PLAN_VERSION, "version", plan.version, || {
        format!("this engine runs plans of version {PLAN_VERSION}")
    })?;
    positive_time("end_ps", plan.end_ps)?;
    network::check(plan)?;
    let paths = paths::check(plan)?;
    timelines::check(plan)?;
    stacks::check(plan)?;
    traffic::check(plan, &paths)?;
    controllers::check(plan)?;
    records::check(plan)
}

pub(crate) use traffic::{check_rules, check_simulated};

fn refuse<T>(field: impl Into<String>, value: impl Display, problem: impl Into<String>) -> Result<T, PlanError> {
    Err(PlanError { field: field.into(), value: value.to_string(), problem: problem.into() })
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

fn unique_names<'a>(list: &str, names: impl Iterator<Item = &'a String>) -> Check {
    let mut sorted: Vec<(&str, usize)> = names.map(String::as_str).zip(0..).collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        None => Ok(()),
        Some(pair) => {
            let ((name, first), (_, second)) = (pair[0], pair[1]);
            let problem = format!("{list}[{first}] has that name");
            refuse(format!("{list}[{second}].name"), format!("\"{name}\""), problem)
        }
    }
}

/// Rejects a parameter of `choice` in `field`.
fn refuse_parameter<T>(field: &str, choice: &Choice, error: ParameterError) -> Result<T, PlanError> {
    let at = |name: &str| format!("{field}.parameters.{name}");
    match error {
        ParameterError::Unknown { name, known } => {
            let value = choice.parameters.get(&name).map_or(String::new(), ToString::to_string);
            let known = if known.is_empty() { "it has none".into() } else { format!("known are {}", known.join(", ")) };
            refuse(at(&name), value, format!("\"{}\" has no such parameter; {known}", choice.name))
        }
        ParameterError::Misfit { name, value, expected } => refuse(at(name), value, format!("expected {expected}")),
        ParameterError::Missing { name, expected } => refuse(at(name), "missing", format!("expected {expected}")),
    }
}

fn node(plan: &Plan, index: u32) -> String {
    match plan.nodes.get(index as usize) {
        Some(node) => format!("node {index} (\"{}\")", node.name),
        None => format!("node {index}"),
    }
}
