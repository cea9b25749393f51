//! Replays the ACKs of a capture, given as columns.

use std::array::from_fn;

use daybreak_engine::replay::{
    COLUMNS, Captured, Dialogue, NoSegment, Replayed, Sent, answer as answer_flow, replay as replay_flow,
};
use daybreak_tcp::SackBlock;
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{PlanError, engine_error};
use crate::plan::parse;

/// Feeds what a sender has heard into the model's sender of a flow, and compares what both have sent.
///
/// `sent` and `heard` are columns by name, each of one array of 64-bit numbers. Returns the columns of what the model
/// has sent, and how far it is the same.
#[pyfunction]
pub fn replay<'py>(
    py: Python<'py>,
    plan: &[u8],
    flow: usize,
    sent: &Bound<'py, PyDict>,
    heard: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    let plan = parse(plan)?;
    let dialogue = Dialogue { sent: segments("sent", sent)?, heard: segments("heard", heard)? };
    let found = py.detach(|| replay_flow(&plan, flow, &dialogue)).map_err(engine_error)?;
    Ok((columns(py, &found)?, summary(py, &found)?))
}

/// Feeds what a receiver has heard into the model's receiver of a flow, and compares what both have answered.
///
/// Columns as in `replay`. Returns the columns of what the model has answered, and how far it is the same.
#[pyfunction]
pub fn answer<'py>(
    py: Python<'py>,
    plan: &[u8],
    flow: usize,
    sent: &Bound<'py, PyDict>,
    heard: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    let plan = parse(plan)?;
    let dialogue = Dialogue { sent: segments("sent", sent)?, heard: segments("heard", heard)? };
    let found = py.detach(|| answer_flow(&plan, flow, &dialogue)).map_err(engine_error)?;
    let columns = PyDict::new(py);
    let of = |value: fn(&Captured) -> u64| found.sent.iter().map(value).collect::<Vec<u64>>().into_pyarray(py);
    columns.set_item("time_ns", of(|sent| sent.at.as_ns()))?;
    columns.set_item("seq", of(|sent| sent.segment.seq))?;
    columns.set_item("ack", of(|sent| sent.segment.ack))?;
    columns.set_item("window", of(|sent| sent.segment.window.into()))?;
    columns.set_item("ts_ecr", of(|sent| sent.segment.ts_ecr.into()))?;
    columns.set_item("flags", of(|sent| sent.segment.flags.0.into()))?;
    for i in 0..4 {
        let of = |value: fn(&SackBlock) -> u64| {
            let block = |sent: &Captured| sent.segment.sacks().get(i).map_or(0, value);
            found.sent.iter().map(block).collect::<Vec<u64>>().into_pyarray(py)
        };
        columns.set_item(format!("sack_start_{i}"), of(|block| block.start))?;
        columns.set_item(format!("sack_end_{i}"), of(|block| block.end))?;
    }
    let summary = PyDict::new(py);
    summary.set_item("segments", found.theirs)?;
    summary.set_item("same", found.same)?;
    summary.set_item("other_time", found.other_time)?;
    summary.set_item("is_identical", found.is_identical())?;
    Ok((columns, summary))
}

fn columns<'py>(py: Python<'py>, found: &Replayed) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let of = |value: fn(&Sent) -> u64| found.sent.iter().map(value).collect::<Vec<u64>>().into_pyarray(py);
    columns.set_item("time_ns", of(|sent| sent.at.as_ns()))?;
    columns.set_item("seq", of(|sent| sent.seq))?;
    columns.set_item("len", of(|sent| sent.len.into()))?;
    columns.set_item("is_pushed", of(|sent| sent.is_pushed.into()))?;
    columns.set_item("is_retransmission", of(|sent| sent.is_retransmission.into()))?;
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
