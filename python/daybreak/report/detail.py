"""What a figure of the page shows when one zooms in: curves with shorter steps, and each flow.

It is compressed beside the figure, and the page's script reads it at the first zoom: a page of
100,000 flows opens as fast as one of ten.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from daybreak import plots
from daybreak.metrics import slowdown, under_way, units
from daybreak.metrics.over_time import Edges
from daybreak.plots import FigureContent
from daybreak.runs import Run

from . import figure
from .html import Markup, element

MOST_FLOWS = 200_000
"""Beyond this number the page has no single flows."""
_MOST_VALUES = 400_000
"""Approximate limit on the values of all finer curves."""
_FINEST = 32
_STEPS = 600
_TONE = "#4d4d4d"


def finer(runs: Sequence[Run], documents: Sequence[Mapping[str, Any]], **options: Any) -> list[dict[str, Any]]:
    """For each of a figure's documents its rows with shorter steps; an empty one where there are none."""
    values = sum(len(curve["time"]) for one in documents for row in one["rows"] for curve in row["curves"])
    times = min(_FINEST, _MOST_VALUES // max(values, 1))
    if times < 2:
        return [{} for _ in documents]
    shown: FigureContent = plots.figure_content(runs, finer=times, **options)
    return [{"rows": one["rows"]} for one in figure.documents(shown)]


def with_flows(document: dict[str, Any], run: Run) -> dict[str, Any]:
    """A figure's document with a row of the flows that are under way, if it has fewer curves than the run has flows."""
    names = {curve["name"] for row in document["rows"] if row["own"] for curve in row["curves"]}
    if run.flows.height <= len(names):
        return document
    start_s, end_s = document["start"], document["ended"] or document["end"]
    edges = np.linspace(start_s * 1e9, end_s * 1e9, _STEPS + 1).round().astype(np.int64)
    return document | {"rows": [*document["rows"], _row(run, np.unique(edges))]}


def _row(run: Run, edges: Edges) -> dict[str, Any]:
    ended = int(run.manifest["totals"]["ended_ns"])
    step = units.time(float(np.diff(edges).max()) / 1e9)
    counts = under_way.under_way(run.flows, edges, end_ns=ended)
    # After the last step there is no value: the run may have ended before the figure does.
    curve = {
        "name": "under way", "colour": _TONE, "time": [float(f"{one / 1e9:.10g}") for one in edges],
        "value": [*(float(f"{one:.5g}") for one in counts), None],
    }  # fmt: skip
    return {
        "title": f"Flows under way, mean of each {step}, seed {run.seed}; each flow when few are in view",
        "label": "Flows under way", "unit": "flows", "own": False, "kind": "flows", "curves": [curve],
    }  # fmt: skip


def flows(run: Run) -> dict[str, Any]:
    """The flows of a run in the order of their starts, for the script: times in nanoseconds, each start as the
    difference from the one before."""
    if run.flows.height > MOST_FLOWS:
        return {}
    found = slowdown.table(run.flows).sort("start_ns", "flow")
    return {
        "flows": {
            "name": found["flow_name"].to_list(),
            "start": found["start_ns"].cast(pl.Int64).diff().fill_null(found["start_ns"].cast(pl.Int64)).to_list(),
            "fct": found["fct_ns"].to_list(),
            "bytes": found["bytes"].to_list(),
            "slowdown": [None if one is None else float(f"{one:.4g}") for one in found["slowdown"]],
        }
    }


def block(content: Mapping[str, Any]) -> Markup:
    """The detail of a figure as a block that the script unpacks; none if there is nothing."""
    if not content:
        return Markup("")
    packed = zlib.compress(json.dumps(content, separators=(",", ":"), allow_nan=False).encode(), 9)
    return element("script", base64.b64encode(packed).decode(), type="text/plain", class_="detail")
