//! Record tables as NumPy arrays that own the engine's memory: nothing is copied.

use daybreak_trace::{Column, Table};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The columns of each table, by name.
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

/// Name, type and meaning of a column.
type DescribedColumn = (&'static str, &'static str, String);

/// Every record table: its name, what a row is, and its columns with their types and meanings.
#[pyfunction]
pub fn tables() -> Vec<(&'static str, String, Vec<DescribedColumn>)> {
    let text = |lines: &[&str]| lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    let described = |table: &daybreak_trace::Description| {
        let columns = table.columns.iter().map(|(name, ty, meaning)| (*name, *ty, text(meaning))).collect();
        (table.name, text(table.meaning), columns)
    };
    daybreak_trace::TABLES.iter().map(described).collect()
}
