"""A figure of `plots` as data for the page's script: the same rows, curves and shading."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from daybreak.figures.curves import Panel
from daybreak.figures.shading import Shading
from daybreak.figures.stacked import Facet, Row
from daybreak.figures.style import Dash
from daybreak.plots import FigureContent

_DIGITS = 5
"""Significant digits of a value: more than a screen can show."""
_MOST_SPANS = 4000
"""With more days or nights than this none are shaded."""


def documents(shown: FigureContent) -> list[dict[str, Any]]:
    """The script's input for each facet that has rows: times in seconds, values in the unit of their row."""
    return [_document(facet, shown.xlabel) for facet in shown.facets if facet.rows]


def _document(facet: Facet, xlabel: str) -> dict[str, Any]:
    first = facet.rows[0].panel
    # Names are escaped for matplotlib, which reads formulas between dollar signs.
    title = facet.title.replace(r"\$", "$").removeprefix("\N{ZERO WIDTH SPACE}")
    return {
        "title": title, "xlabel": xlabel, "start": first.start_s, "end": first.until(),
        "ended": first.run_ended_s or None,
        "shading": _shading(first.shading, first), "rows": [_row(row) for row in facet.rows],
    }  # fmt: skip


def _row(row: Row) -> dict[str, Any]:
    label, _, unit = row.ylabel.partition("\n")
    panel = row.panel
    curves = [_curve(name, table, *panel.look(name, at)) for at, (name, table) in enumerate(panel.curves.items())]
    return {"title": panel.title, "label": label, "unit": unit.strip("[]"), "own": row.has_names, "curves": curves}


def _curve(name: str, table: pl.DataFrame, tone: str, line: Dash) -> dict[str, Any]:
    found: dict[str, Any] = {
        # Names are escaped for matplotlib, which reads formulas between dollar signs.
        "name": name.replace(r"\$", "$").removeprefix("\N{ZERO WIDTH SPACE}"), "colour": tone,
        "time": _numbers(table["time_s"], _DIGITS + 5), "value": _numbers(table["mean"]),
    }  # fmt: skip
    if not isinstance(line, str):
        found["dash"] = " ".join(f"{length:g}" for length in line[1])
    if table["low"].count():
        found |= {"low": _numbers(table["low"]), "high": _numbers(table["high"])}
    return found


def _numbers(values: pl.Series, digits: int = _DIGITS) -> list[float | None]:
    """The values, null where there is none."""
    known = values.cast(pl.Float64).to_list()
    return [None if value is None or not math.isfinite(value) else float(f"{value:.{digits}g}") for value in known]


def _shading(shading: Shading | None, panel: Panel) -> list[dict[str, Any]]:
    if shading is None:
        return []
    spans = (
        ("day", shading.label, shading.bands(panel.until(), panel.start_s)),
        ("night", "night", shading.nights(panel.until(), panel.start_s)),
    )
    return [
        {"kind": kind, "name": name.replace(r"\$", "$"), "spans": found}
        for kind, name, found in spans
        if 0 < len(found) <= _MOST_SPANS
    ]
