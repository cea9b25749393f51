//! Record tables as NumPy arrays that own the engine's memory: nothing is copied.

use daybreak_trace::{Column, Table};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The columns of each table, by its name.
pub fn columns(py: Python<'_>, tables: Vec<Table>) -> PyResult<Bound<'_, PyDict>> {
    let by_table = PyDict::new(py);
    for table in tables {
        let by_name = PyDict::new(py);
        for (name, column) in table.columns {
            match column {
                Column::U8(values) => by_name.set_item(name, values.into_pyarray(py))?,
                Column::U32(values) => by_name.set_item(name, values.into_pyarray(py))?,
                Column::U64(values) => by_name.set_item(name, values.into_pyarray(py))?,
            }
        }
        by_table.set_item(table.name, by_name)?;
    }
    Ok(by_table)
}
