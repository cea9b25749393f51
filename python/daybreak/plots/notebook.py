"""A run as displayed in a notebook: its facts, its flows, its tables, and a figure."""

from __future__ import annotations

import base64
from html import escape

from daybreak.errors import PlotError
from daybreak.figures.style import rendered
from daybreak.metrics import fct
from daybreak.runs import Run

from .draw import draw
from .view import text

MOST_ROWS = 10
_COLUMNS = ("flow_name", "group", "variant", "src", "dst", "delivered_bytes", "fct_s", "retransmits", "rtos")


def as_html(run: Run) -> str:
    """The run as self-contained HTML."""
    ended = text(int(run.manifest["totals"]["ended_ns"]))
    facts = f"{run.manifest['engine']}, seed {run.seed}, ended at {ended}"
    tables = ", ".join(f"{escape(name)} ({rows:,} rows)" for name, rows in run.manifest["tables"].items())
    return (
        f"<p><strong>{escape(str(run.manifest['name']))}</strong></p><p>{escape(facts)}</p>"
        f"{_flows(run)}<p>Tables: {tables}</p>{_figure(run)}"
    )


def _flows(run: Run) -> str:
    flows = fct.table(run.flows).select(_COLUMNS)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in flows.head(MOST_ROWS).rows()
    )
    head = "".join(f"<th>{escape(name)}</th>" for name in flows.columns)
    more = f"<p>and {len(flows) - MOST_ROWS:,} more flows</p>" if len(flows) > MOST_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return (
        f"{value:.6g}" if isinstance(value, float) else escape(f"{value:,}" if isinstance(value, int) else str(value))
    )


def _figure(run: Run) -> str:
    try:
        drawn = draw([run])
    except PlotError as error:
        return f"<p>{escape(str(error))}</p>"
    image = base64.b64encode(rendered(drawn.figure, "png", dpi=110)).decode("ascii")
    notes = "".join(f"<li>{escape(note)}</li>" for note in drawn.notes)
    return f'<img alt="What the run shows over time" src="data:image/png;base64,{image}"/><ul>{notes}</ul>'
