"""The page of the record tables: what a row is, and every column with its type, unit and meaning.

Meanings are the comments of crates/trace/src/rows.rs; columns.toml adds what these lack.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import Any

import polars as pl

from daybreak._native import tables as described
from daybreak.engines import run
from daybreak.runs.naming import empty
from daybreak.scenario import Scenario

from .scenario import text

_UNITS = {"_ns": "ns", "_bps": "bit/s", "bytes": "bytes", "packets": "packets"}
"""Units by the suffix of a column's name."""
_KEYS = (
    "flow", "of_flow", "is_reversed", "src_port", "dst_port", "link", "queue", "timeline", "step", "place", "id",
    "data", "controller", "path", "exchange", "packet",
)  # fmt: skip
"""Numbers that name something."""
_EVERY_TABLE: dict[str, Any] = {
    "name": "every table",
    "duration": "1 us",
    "topology": {"kind": "dumbbell", "rate": "1 Gbit/s", "delay": "1 us", "queue": "1 packet"},
    "flows": [
        {"from": "sender-0", "to": "receiver-0", "application": application}
        for application in (
            {"kind": "request_response", "request": "1 kB", "response": "1 kB"},
            {"kind": "constant_rate", "rate": "1 Mbit/s", "payload": "1 kB"},
        )
    ],
}


@dataclass(frozen=True)
class Column:
    """One column of a run's table. ``linux`` states what is different with real Linux."""

    name: str
    type: str
    unit: str
    meaning: str
    linux: str


@dataclass(frozen=True)
class Table:
    """A table. ``record`` is the key of `records` that fills it; without one it always is."""

    name: str
    meaning: str
    record: str
    columns: tuple[Column, ...]


def tables() -> list[Table]:
    """All tables, with the columns that a run has. Raises KeyError if a column has no unit or no meaning."""
    meant = {name: (meaning, {column[0]: column[2] for column in columns}) for name, meaning, columns in described()}
    # The schema of a run gives columns and types, including the names.
    shown = run(Scenario.parse(_EVERY_TABLE))
    frames = dict(shown.tables())
    # Only real Linux runs programs.
    frames |= {name: frame for name, frame in empty().items() if name not in frames}
    return [_table(name, frame.schema, *meant[name]) for name, frame in frames.items()]


def page() -> str:
    """The page as Markdown."""
    parts = [_HEAD, *(_section(table) for table in tables()), text("captures.md")]
    return "\n".join(parts)


def facts() -> dict[str, dict[str, str]]:
    """The content of columns.toml, by section."""
    return tomllib.loads(text("columns.toml"))


_HEAD = """# Tables

A run fills these tables, with either engine. `run.flows`, `run.window` ... are polars frames; `daybreak run -o DIR`
writes each as a Parquet file, and `daybreak.read` reads them again. Times are from the start of the run. What is not
known is null. Where real Linux fills a column in another way than the model, the last column says how.
"""


def _table(name: str, schema: pl.Schema, meaning: str, meanings: dict[str, str]) -> Table:
    said = facts()
    columns = []
    for column, kind in schema.items():
        key = f"{name}.{column}"
        columns.append(
            Column(
                column,
                _TYPES[kind.base_type()],
                _unit(key, column, kind, said["units"]),
                " ".join((said["meanings"].get(key) or said["meanings"].get(column) or meanings[column]).split()),
                said["linux"].get(key, ""),
            )
        )
    return Table(name, meaning, said["records"].get(name, ""), tuple(columns))


_TYPES: dict[Any, str] = {
    pl.UInt8: "integer", pl.UInt32: "integer", pl.UInt64: "integer", pl.Int64: "integer", pl.Boolean: "true or false",
    pl.String: "text",
}  # fmt: skip


def _unit(key: str, column: str, kind: pl.DataType, units: dict[str, str]) -> str:
    if kind in (pl.String, pl.Boolean) or column in _KEYS:
        return ""
    said = units.get(key) or units.get(column)
    return said or next((unit for ending, unit in _UNITS.items() if column.endswith(ending)), "") or units[key]


def _section(table: Table) -> str:
    filled = f"Filled if `records.{table.record}` is set." if table.record else "Always filled."
    refused = facts()["without_linux"].get(table.name, "")
    lines = [f"## {table.name}", "", " ".join([table.meaning, filled, refused]).rstrip(), ""]
    has_linux = any(column.linux for column in table.columns)
    lines += ["| column | type | unit | meaning |" + (" real Linux |" if has_linux else "")]
    lines += ["|---|---|---|---|" + ("---|" if has_linux else "")]
    for column in table.columns:
        cells = [f"`{column.name}`", column.type, column.unit, column.meaning]
        cells += [column.linux] if has_linux else []
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])
