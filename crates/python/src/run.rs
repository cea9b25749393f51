//! Runs a plan: the one place where the GIL is released.

use std::fs::File;
use std::io::BufWriter;

use daybreak_engine::{Progress, Records, Simulation};
use daybreak_plan::Plan;
use daybreak_plan::benchmarks::{BENCHMARKS, Benchmark, find};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{engine_error, output_error, unknown_name};
use crate::plan::parse;
use crate::tables;

/// Events between two checks of progress and Ctrl-C: some tens of milliseconds.
const CHUNK: u64 = 1 << 19;

/// Runs a plan to its end.
///
/// `capture` is the file for the packets of the plan's captured links. `progress` is called periodically with the
/// simulated time, its end (both in ps), the number of events so far, of complete flows and of flows of limited size;
/// an exception that it raises ends the run, as does Ctrl-C in the main thread.
///
/// Returns the columns by table, and the totals of the run.
#[pyfunction]
#[pyo3(signature = (plan, capture=None, progress=None))]
pub fn run<'py>(
    py: Python<'py>,
    plan: &[u8],
    capture: Option<&str>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    let plan = parse(plan)?;
    let simulation = py.detach(|| prepare(&plan, capture))?;
    let records = to_the_end(py, simulation, progress)?;
    let totals = totals(py, &records)?;
    Ok((tables::columns(py, records.tables)?, totals))
}

/// Every benchmark: its name and a one-line description.
#[pyfunction]
pub fn benchmarks() -> Vec<(&'static str, &'static str)> {
    BENCHMARKS.iter().map(|benchmark| (benchmark.name, benchmark.summary)).collect()
}

/// The plan of a benchmark, as JSON.
#[pyfunction]
pub fn benchmark_plan(name: &str) -> PyResult<String> {
    let plan = known(name)?.plan();
    Ok(serde_json::to_string(&plan).expect("a plan is numbers, texts and lists"))
}

/// Runs a benchmark and returns its totals; `progress` as in `run`, called before the first event as well.
#[pyfunction]
#[pyo3(signature = (name, progress=None))]
pub fn run_benchmark<'py>(
    py: Python<'py>,
    name: &str,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let benchmark = known(name)?;
    let simulation = py.detach(|| prepare(&benchmark.plan(), None))?;
    let records = to_the_end(py, simulation, progress)?;
    totals(py, &records)
}

fn known(name: &str) -> PyResult<&'static Benchmark> {
    find(name).ok_or_else(|| {
        let known: Vec<_> = BENCHMARKS.iter().map(|benchmark| benchmark.name).collect();
        unknown_name(format!("benchmark \"{name}\" is not known; known are {}", known.join(", ")))
    })
}

fn to_the_end(py: Python<'_>, mut simulation: Simulation, progress: Option<&Bound<'_, PyAny>>) -> PyResult<Records> {
    // No event yet: callers that measure time start here.
    let mut now = simulation.step(0);
    loop {
        py.check_signals()?;
        if let Some(progress) = progress {
            progress.call1(numbers(&now))?;
        }
        if now.done {
            break;
        }
        now = py.detach(|| simulation.step(CHUNK));
    }
    py.detach(|| simulation.finish()).map_err(engine_error)
}

fn prepare(plan: &Plan, capture: Option<&str>) -> PyResult<Simulation> {
    let Some(path) = capture else { return Simulation::new(plan).map_err(engine_error) };
    let file = File::create(path).map_err(|error| output_error(path, &error))?;
    Simulation::with_capture(plan, Box::new(BufWriter::new(file))).map_err(engine_error)
}

fn numbers(progress: &Progress) -> (u64, u64, u64, u32, u32) {
    (progress.now.as_ps(), progress.end.as_ps(), progress.events, progress.flows_complete, progress.flows_limited)
}

fn totals<'py>(py: Python<'py>, records: &Records) -> PyResult<Bound<'py, PyDict>> {
    let totals = PyDict::new(py);
    totals.set_item("packet_hops", records.packet_hops)?;
    totals.set_item("events", records.events)?;
    totals.set_item("ended_ns", records.ended.as_ns())?;
    Ok(totals)
}
