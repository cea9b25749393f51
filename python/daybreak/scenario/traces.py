"""Traces of links: their rate, delay and loss over time, in the scenario or in a CSV file beside it."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from daybreak.errors import ScenarioError

from .model import Model, Names, Tagged
from .quantities import Loss, Rate, Span, reject
from .workloads.rows import read_lines

_HEADING = re.compile(r"(time|rate|delay|loss)(?:\s*\((.+)\))?")


class TraceRow(Model):
    """The links' properties from a time of the trace on. Those that are not given stay unchanged."""

    time: Span
    """Time after the start of the trace."""
    rate: Rate | None = None
    """Rate."""
    delay: Span | None = None
    """Propagation delay."""
    loss: Loss | None = None
    """Probability that a packet is lost."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.rate is None and self.delay is None and self.loss is None:
            raise reject("expected a rate, a delay or a loss")
        return self


class LinkTrace(Tagged):
    """Sets the rate, delay and loss of links from a trace, like the actions `set_rate`, `set_delay` and `set_loss` at
    the time of each row."""

    kind: Literal["trace"] = "trace"
    """The kind of timeline."""
    name: str | None = None
    """Unique name; by default "trace-0" ..."""
    links: Names = Field(min_length=1)
    """Links (each of one direction), which all change alike: names, or groups of links such as "senders[*]->left" or
    "circuits[0][*]" (see `records`)."""
    rows: tuple[TraceRow, ...] = ()
    """The links' properties over time, in chronological order. Before the first row they have their own."""
    file: str | None = None
    """CSV file instead of `rows`, relative to the scenario's: a column time and any of rate, delay and loss. A heading
    may end with the unit of plain numbers, as in `delay (ms)`; an empty cell leaves the property unchanged."""
    start: Span = Span(0)
    """Start of the trace."""
    period: Span | None = Field(default=None, gt=0)
    """Period after which the trace repeats. By default the last row stays in force."""

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.file is not None:
            raise reject(
                f'has file = "{self.file}": expected rows; a file is read only where the scenario file names it, not '
                "in a change such as --set or in Python"
            )
        if not self.rows:
            raise reject("expected rows, or a file with them")
        for before, row in pairwise(self.rows):
            if row.time <= before.time:
                raise reject(f"has a row at {row.time} behind one at {before.time}: expected times that rise")
        if self.period is not None and self.rows[-1].time >= self.period:
            raise reject(
                f"has a row at {self.rows[-1].time}: expected a time before the end of the period of {self.period}"
            )
        return self


def put_traces(document: dict[str, Any], folder: Path) -> None:
    """Replaces names of files in traces by the files' rows; invalid entries are left for validation."""
    timelines = document.get("timelines")
    for i, entry in enumerate(timelines if isinstance(timelines, list) else ()):
        is_trace = isinstance(entry, dict) and entry.get("kind") == "trace" and "rows" not in entry
        if is_trace and isinstance(entry.get("file"), str):
            entry["rows"] = _read(folder / entry.pop("file"), f"timelines[{i}].file")


def _read(path: Path, field: str) -> list[dict[str, str]]:
    """The rows of a CSV file. Raises ScenarioError."""
    headings, lines = read_lines(path, field)
    columns = [_HEADING.fullmatch(heading) for heading in headings]
    names = [column[1] for column in columns if column]
    if None in columns or "time" not in names or len(names) < 2 or len(set(names)) < len(names):
        raise ScenarioError(
            f'{field} = "{path}": has the columns {", ".join(headings) or "none"}: expected time and any of rate, '
            'delay and loss, each with the unit of plain numbers behind it if need be, such as "delay (ms)"',
            field,
        )
    units = [f" {column[2]}" if column and column[2] else "" for column in columns]
    return [
        {name: _value(cell, unit) for name, cell, unit in zip(names, cells, units, strict=True) if cell}
        for cells in lines
    ]


def _value(cell: str, unit: str) -> str:
    return cell + unit if cell[-1].isdigit() else cell
