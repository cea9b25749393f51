//! Reads the text of a plan.

use daybreak_engine::Plan;
use pyo3::prelude::*;

use crate::errors::PlanError;

/// Reads a plan's text. Raises PlanError when it is not of this engine's format.
pub fn parse(plan: &str) -> PyResult<Plan> {
    serde_json::from_str(plan).map_err(|error| PlanError::new_err(format!("the plan cannot be read: {error}")))
}

/// Raises PlanError unless the engine understands every word of the plan.
#[pyfunction]
pub fn check_plan(plan: &str) -> PyResult<()> {
    parse(plan).map(drop)
}
