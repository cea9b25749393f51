//! The file that passes the tables to the host: one line of JSON that describes the columns, then the columns in order
//! as little-endian numbers.

use std::io::{self, Write};

use daybreak_trace::{Column, Table};
use serde_json::json;

/// Version of the format.
const FORMAT: u32 = 1;

/// Totals of a run, beside its tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Packets that arrived at the end of a link, counted at every link.
    pub packet_hops: u64,
    /// Events in the fabric.
    pub events: u64,
    /// Virtual time at the end.
    pub ended_ps: u64,
}

/// Writes the tables.
pub fn write(output: &mut impl Write, tables: &[Table], totals: Totals) -> io::Result<()> {
    let described: Vec<_> = tables
        .iter()
        .map(|table| {
            let columns: Vec<_> = table.columns.iter().map(|(name, column)| json!([name, kind(column)])).collect();
            let rows = table.columns.first().map_or(0, |(_, column)| length(column));
            json!({ "name": table.name, "rows": rows, "columns": columns })
        })
        .collect();
    let Totals { packet_hops, events, ended_ps } = totals;
    let totals = json!({ "packet_hops": packet_hops, "events": events, "ended_ps": ended_ps });
    writeln!(output, "{}", json!({ "format": FORMAT, "totals": totals, "tables": described }))?;
    for (_, column) in tables.iter().flat_map(|table| &table.columns) {
        match column {
            Column::U8(values) => output.write_all(values)?,
            Column::U32(values) => values.iter().try_for_each(|value| output.write_all(&value.to_le_bytes()))?,
            Column::U64(values) => values.iter().try_for_each(|value| output.write_all(&value.to_le_bytes()))?,
        }
    }
    output.flush()
}

/// The numpy type of a column.
fn kind(column: &Column) -> &'static str {
    match column {
        Column::U8(_) => "u1",
        Column::U32(_) => "<u4",
        Column::U64(_) => "<u8",
    }
}

fn length(column: &Column) -> usize {
    match column {
        Column::U8(values) => values.len(),
        Column::U32(values) => values.len(),
        Column::U64(values) => values.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_is_in_it() {
        let table = Table {
            name: "circuits",
            columns: vec![("time_ns", Column::U64(vec![1, 2])), ("step", Column::U32(vec![3, 0x0102_0304]))],
        };
        let mut bytes = Vec::new();
        write(&mut bytes, &[table], Totals { packet_hops: 5, events: 6, ended_ps: 7 }).unwrap();
        let end = bytes.iter().position(|&byte| byte == b'\n').unwrap();
        let head: serde_json::Value = serde_json::from_slice(&bytes[..end]).unwrap();
        assert_eq!(head["tables"][0]["columns"][1], json!(["step", "<u4"]));
        assert_eq!(head["tables"][0]["rows"], 2);
        assert_eq!(head["totals"]["ended_ps"], 7);
        assert_eq!(bytes[end + 1..], [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 4, 3, 2, 1]);
    }
}
