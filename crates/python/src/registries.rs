//! The registries: every name that a scenario may use, what it means, and its parameters.

use daybreak_fabric::circuit::Downtime;
use daybreak_fabric::{DropReason, Place, control, queue};
use daybreak_tcp::congestion;
use daybreak_trace::ControlEvent;
use daybreak_units::parameters::{self, Kind, Value};
use pyo3::prelude::*;

/// An entry of a registry.
#[pyclass(module = "daybreak._native", frozen, get_all)]
pub struct Entry {
    /// Its name in scenarios.
    name: &'static str,
    /// One line about it.
    summary: &'static str,
    /// Its parameters.
    parameters: Vec<Parameter>,
}

/// A parameter of an entry.
#[pyclass(module = "daybreak._native", frozen, get_all)]
#[derive(Clone)]
pub struct Parameter {
    /// Its name.
    name: &'static str,
    /// "switch", "number", "count", "packets", "bytes", "time", "rate" or "length".
    kind: &'static str,
    /// Unit and default value; None if a value is required.
    default: Option<(&'static str, Number)>,
    /// Least and greatest value; None for a switch.
    range: Option<(Number, Number)>,
    /// One line about it.
    summary: &'static str,
}

/// A value without its unit.
#[derive(Clone, Copy, IntoPyObject)]
enum Number {
    Switch(bool),
    Whole(u64),
    Real(f64),
}

impl From<&parameters::Parameter> for Parameter {
    fn from(parameter: &parameters::Parameter) -> Self {
        let (kind, range) = match parameter.kind {
            Kind::Switch => ("switch", None),
            Kind::Number { least, most } => ("number", Some((Number::Real(least), Number::Real(most)))),
            Kind::Count { least, most } => ("count", Some((Number::Whole(least), Number::Whole(most)))),
            Kind::Packets { least, most } => ("packets", Some((Number::Whole(least), Number::Whole(most)))),
            Kind::Bytes { least, most } => ("bytes", Some((Number::Whole(least), Number::Whole(most)))),
            Kind::Time { least, most } => ("time", Some((Number::Whole(least), Number::Whole(most)))),
            Kind::Rate { least, most } => ("rate", Some((Number::Whole(least), Number::Whole(most)))),
            Kind::Length { least, most } => ("length", Some((Number::Whole(least), Number::Whole(most)))),
        };
        let default = parameter.default.map(|value| match value {
            Value::Switch(value) => ("switch", Number::Switch(value)),
            Value::Number(value) => ("number", Number::Real(value)),
            Value::Count(value) => ("count", Number::Whole(value)),
            Value::Packets(value) => ("packets", Number::Whole(value)),
            Value::Bytes(value) => ("bytes", Number::Whole(value)),
            Value::Ps(value) => ("ps", Number::Whole(value)),
            Value::Bps(value) => ("bps", Number::Whole(value)),
        });
        Self { name: parameter.name, kind, default, range, summary: parameter.summary }
    }
}

fn entry(name: &'static str, summary: &'static str, parameters: &[parameters::Parameter]) -> Entry {
    Entry { name, summary, parameters: parameters.iter().map(Parameter::from).collect() }
}

/// Every TCP variant.
#[pyfunction]
pub fn variants() -> Vec<Entry> {
    congestion::REGISTRY.iter().map(|rule| entry(rule.name, rule.summary, rule.parameters)).collect()
}

/// The TCP variants that react to the marks of queues, and so negotiate ECN whatever `tcp_ecn` is.
#[pyfunction]
pub fn ecn_variants() -> Vec<&'static str> {
    congestion::REGISTRY.iter().filter(|rule| rule.capabilities.needs_ecn).map(|rule| rule.name).collect()
}

/// Every queue discipline.
#[pyfunction]
pub fn queues() -> Vec<Entry> {
    queue::REGISTRY.iter().map(|queue| entry(queue.name, queue.summary, queue.parameters)).collect()
}

/// Every policy for controllers of a circuit.
#[pyfunction]
pub fn circuit_policies() -> Vec<Entry> {
    policies(|controls| matches!(controls, control::Controls::Circuit(_)))
}

/// Every policy for controllers of flows.
#[pyfunction]
pub fn flow_policies() -> Vec<Entry> {
    policies(|controls| matches!(controls, control::Controls::Flows(_)))
}

fn policies(are_wanted: impl Fn(&control::Controls) -> bool) -> Vec<Entry> {
    let wanted = control::REGISTRY.iter().filter(|policy| are_wanted(&policy.controls));
    wanted.map(|policy| entry(policy.name, policy.summary, policy.parameters)).collect()
}

/// The decisions of controllers, in the order of the numbers in table `control`.
#[pyfunction]
pub fn control_events() -> Vec<&'static str> {
    ControlEvent::ALL.iter().map(|event| event.name()).collect()
}

/// The downtime policies: of each its name, what happens to packets that arrive at a dark route ("lose", "hold" or
/// "old_path"), and to a queue when one of its gates closes ("empty", "keep", "drain" or "part").
#[pyfunction]
pub fn downtimes() -> Vec<(&'static str, &'static str, &'static str)> {
    let effects = Downtime::ALL.iter().map(|policy| policy.effect());
    effects.map(|effect| (effect.name, effect.at_route.name(), effect.at_gate.name())).collect()
}

/// The reasons for losses, in the order of the numbers in table `drops`: a name, and what the place is an index of
/// ("queue", "link" or "route_switch").
#[pyfunction]
pub fn drop_reasons() -> Vec<(&'static str, &'static str)> {
    let place = |reason: DropReason| match reason.place() {
        Place::Queue => "queue",
        Place::Link => "link",
        Place::RouteSwitch => "route_switch",
    };
    DropReason::ALL.iter().map(|&reason| (reason.name(), place(reason))).collect()
}
