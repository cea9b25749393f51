//! Reads the text of a plan.

use daybreak_engine::{Plan, Simulation};
use pyo3::prelude::*;

use crate::errors::{PlanError, engine_error};

/// Reads a plan's text. Raises PlanError when it is not of this engine's format.
pub fn parse(plan: &str) -> PyResult<Plan> {
    serde_json::from_str(plan).map_err(|error| PlanError::new_err(format!("the plan cannot be read: {error}")))
}

/// Raises PlanError unless a run can be made of the plan.
#[pyfunction]
pub fn check_plan(plan: &str) -> PyResult<()> {
    let plan = parse(plan)?;
    Simulation::with_capture(&plan, Box::new(std::io::sink())).map(drop).map_err(engine_error)
}
