//! The registries: every name that a scenario may use, with a line about each.

use daybreak_fabric::queue;
use daybreak_tcp::congestion;
use pyo3::prelude::*;

/// Every TCP variant: its name and a line about it.
#[pyfunction]
pub fn variants() -> Vec<(&'static str, &'static str)> {
    congestion::REGISTRY.iter().map(|entry| (entry.name, entry.summary)).collect()
}

/// Every queue discipline: its name and a line about it.
#[pyfunction]
pub fn queues() -> Vec<(&'static str, &'static str)> {
    queue::REGISTRY.to_vec()
}
