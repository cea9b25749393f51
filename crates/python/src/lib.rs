//! `daybreak._native`: the engine, its registries and its random streams, as Python sees them.
//! A thin layer: no decisions are made here.

mod errors;
mod plan;
mod random;
mod registries;
mod replay;
mod run;
mod tables;

use pyo3::prelude::*;

/// The engine of Daybreak, its registries and its random streams.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::plan::{check_plan, plan_schema};
    #[pymodule_export]
    use super::random::Stream;
    #[pymodule_export]
    use super::registries::{
        Entry, Parameter, circuit_policies, control_events, downtimes, drop_reasons, ecn_variants, flow_policies,
        queues, variants,
    };
    #[pymodule_export]
    use super::replay::replay;
    #[pymodule_export]
    use super::run::{benchmark_plan, benchmarks, run, run_benchmark};
    #[pymodule_export]
    use super::tables::tables;
}
