//! Parses the text of a plan, and describes its format.

use daybreak_engine::Simulation;
use daybreak_plan::Plan;
use pyo3::prelude::*;

use crate::errors::{PlanError, engine_error};

/// Parses a plan's text. Raises PlanError if it is not in this engine's format.
pub fn parse(plan: &[u8]) -> PyResult<Plan> {
    serde_json::from_slice(plan).map_err(|error| PlanError::new_err(format!("the plan cannot be read: {error}")))
}

/// Raises PlanError unless the plan can be run.
#[pyfunction]
pub fn check_plan(plan: &[u8]) -> PyResult<()> {
    let plan = parse(plan)?;
    Simulation::with_capture(&plan, Box::new(std::io::sink())).map(drop).map_err(engine_error)
}

/// The JSON Schema of a plan, from which its Python types are made.
#[pyfunction]
pub fn plan_schema() -> String {
    schemars::schema_for!(Plan).to_value().to_string()
}
