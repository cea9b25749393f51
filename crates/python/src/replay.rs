//! Replays the segments that one end of a captured conversation received, given as columns.

use std::array::from_fn;

use daybreak_engine::replay::{COLUMNS, Captured, Dialogue, NoSegment, Replayed, Side, replay as replay_flow};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{PlanError, engine_error};
use crate::plan::parse;

/// Feeds the segments that one end of a flow received to the model's end, and compares what both sent.
///
/// `client` is true for the end that opens the connection. `sent` and `received` map a column's name to an array of
/// 64-bit numbers, one per segment. Returns the columns of what the model sent, and a summary of the comparison.
#[pyfunction]
pub fn replay<'py>(
    py: Python<'py>,
    plan: &[u8],
    flow: usize,
    client: bool,
    sent: &Bound<'py, PyDict>,
    received: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    let plan = parse(plan)?;
    let side = if client { Side::Client } else { Side::Server };
    let dialogue = Dialogue { sent: segments("sent", sent)?, received: segments("received", received)? };
    let found = py.detach(|| replay_flow(&plan, flow, side, &dialogue)).map_err(engine_error)?;
    Ok((columns(py, &found.sent)?, summary(py, &found)?))
}

fn columns<'py>(py: Python<'py>, sent: &[Captured]) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let rows: Vec<[u64; COLUMNS.len()]> = sent.iter().map(Captured::row).collect();
    for (at, name) in COLUMNS.iter().enumerate() {
        columns.set_item(name, rows.iter().map(|row| row[at]).collect::<Vec<u64>>().into_pyarray(py))?;
    }
    Ok(columns)
}

fn summary<'py>(py: Python<'py>, found: &Replayed) -> PyResult<Bound<'py, PyDict>> {
    let summary = PyDict::new(py);
    summary.set_item("segments", found.theirs)?;
    summary.set_item("retransmissions", found.their_retransmissions)?;
    summary.set_item("same", found.same)?;
    summary.set_item("other_push", found.other_push)?;
    summary.set_item("other_time", found.other_time)?;
    summary.set_item("is_identical", found.is_identical())?;
    Ok(summary)
}

fn segments(name: &str, columns: &Bound<'_, PyDict>) -> PyResult<Vec<Captured>> {
    let length = column(name, columns, "time_ns")?.len()?;
    let of = |key: &str| -> PyResult<Vec<u64>> {
        let values = column(name, columns, key)?.as_array().to_vec();
        if values.len() == length {
            return Ok(values);
        }
        let count = values.len();
        Err(PlanError::new_err(format!("{name}[\"{key}\"] has {count} numbers: expected {length}, as in \"time_ns\"")))
    };
    let columns: Vec<Vec<u64>> = COLUMNS.iter().map(|key| of(key)).collect::<PyResult<_>>()?;
    let segment = |i: usize| {
        Captured::from_row(&from_fn(|column| columns[column][i])).map_err(|error| {
            let NoSegment { column, value, problem } = error;
            PlanError::new_err(format!("{name}[\"{column}\"][{i}] is {value}: {problem}"))
        })
    };
    (0..length).map(segment).collect()
}

fn column<'py>(name: &str, columns: &Bound<'py, PyDict>, key: &str) -> PyResult<PyReadonlyArray1<'py, u64>> {
    let Some(values) = columns.get_item(key)? else {
        return Err(PlanError::new_err(format!("{name} has no column \"{key}\"")));
    };
    values.extract().map_err(|_| PlanError::new_err(format!("{name}[\"{key}\"] is not an array of uint64")))
}
