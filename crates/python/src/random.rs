//! The engine's random streams for the scenario layer, so that both draw in the same way.

use daybreak_units as units;
use pyo3::prelude::*;

use crate::errors::PlanError;

/// One component's own sequence of random numbers, named by the run's seed and the component's path.
#[pyclass(module = "daybreak._native")]
pub struct Stream(units::Stream);

#[pymethods]
impl Stream {
    #[new]
    fn new(seed: u64, path: &str) -> Self {
        Self(units::Stream::new(seed, path))
    }
    /// A number uniform over 0 to 2^64 - 1.
    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
    /// A number uniform in `range(bound)`, without bias.
    fn below(&mut self, bound: u64) -> PyResult<u64> {
        if bound == 0 {
            return Err(PlanError::new_err("a random number below 0 was asked for: expected a bound of at least 1"));
        }
        Ok(self.0.below(bound))
    }
    /// A number uniform in [0, 1), with 53 random bits.
    fn unit(&mut self) -> f64 {
        self.0.unit()
    }
}
