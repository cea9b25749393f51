"""A sweep as a table with intervals, and as the section of a page."""

from __future__ import annotations

import base64
from typing import Any

from daybreak.errors import PlotError
from daybreak.figures.style import rendered
from daybreak.metrics import measures
from daybreak.metrics.units import TIMES, digits, over, unit_of
from daybreak.plots import sweeps
from daybreak.sweeps import Results

from .html import Markup, element, table, text

_MOST_ROWS = 500


def columns(results: Results, most: int) -> tuple[tuple[str, ...], list[tuple[str, ...]], int]:
    """Headings, cells (the first ``most`` rows) and number of label columns of a table with one row per point and
    group."""
    found = results.summary()
    labels = [axis.name for axis in results.axes] + (["group"] if found["group"].n_unique() > 1 else [])
    scale, unit = unit_of((value for name in ("fct.mean", "fct.p99") for value in found[name].drop_nulls()), TIMES)
    # The goodput of flows with an end says no more than their FCT.
    rate = ["Gbit/s"] if found["goodput.mean"].count() and results.flows["bytes"].null_count() else []
    is_endless = not results.flows["bytes"].count()
    times = [] if is_endless else ["complete", f"FCT [{unit}]", f"FCT p99 [{unit}]", "slowdown p99"]
    cells = [
        (
            *(str(row[name]) for name in labels), str(row["runs"]),
            *([] if is_endless else _times(row, scale)),
            *(_mean(row, "goodput.mean", 1.0) for _ in rate), _mean(row, "retransmits", 1.0), _mean(row, "rtos", 1.0),
        )
        for row in found.head(most).iter_rows(named=True)
    ]  # fmt: skip
    return (*labels, "runs", *times, *rate, "resent", "RTOs"), cells, len(labels)


def _times(row: dict[str, Any], scale: float) -> list[str]:
    """The cells about completion times."""
    complete = f"{row['complete']} of {row['limited']}" if row["limited"] else "-"
    return [complete, _mean(row, "fct.mean", scale), _mean(row, "fct.p99", scale), _mean(row, "slowdown.p99", 1.0)]


def rows(results: Results) -> int:
    """Number of rows of the whole table."""
    return results.flows.select("point", "group").unique().height


def few_flows(results: Results) -> str | None:
    """A sentence about percentiles that are only the greatest value of a run's flows; None if there are none."""
    limited = results.flows.filter(results.flows["bytes"].is_not_null())
    return measures.few_flows(limited.group_by("point", "seed", "group").len()["len"], [99])


def section(results: Results) -> Markup:
    """The part of the page: the grid, a figure over the axes, and the table."""
    headings, cells, labels = columns(results, _MOST_ROWS)
    total = rows(results)
    document = results.document
    facts = {
        "points": f"{document.get('points', '-')}", "runs": f"{document.get('runs', '-')}",
        "failures": str(len(document.get("failures", []))),
        "axes": "; ".join(f"{axis.name}: {', '.join(map(str, axis.values[:12]))}" for axis in results.axes),
    }  # fmt: skip
    said = f"The first {_MOST_ROWS} of {total} rows. " if total > _MOST_ROWS else ""
    few, unfinished = few_flows(results), results.unfinished
    return text(
        element("p", f"{unfinished[:1].upper()}{unfinished[1:]}.") if unfinished else "",
        element("dl", [text(element("dt", name), element("dd", value)) for name, value in facts.items()]),
        element("h3", "Over the axes"), _figure(results),
        element("h3", "Points"), element("p", f"{said}Means over the runs with 95 % intervals."),
        table(headings, cells, numeric=headings[labels:]),
        element("p", f"{few[:1].upper()}{few[1:]}.") if few else "",
    )  # fmt: skip


def _figure(results: Results) -> Markup:
    try:
        figure = sweeps.draw(results).figure
    except PlotError as error:
        return element("p", f"There is no figure of all axes together: {error}.")
    image = base64.b64encode(rendered(figure, "png", dpi=130)).decode("ascii")
    picture = element("img", alt="Mean completion time over the axes", src=f"data:image/png;base64,{image}")
    return element("figure", picture)


def _mean(row: dict[str, Any], name: str, scale: float) -> str:
    mean, low, high = (over(row[one], scale) for one in (name, f"{name} low", f"{name} high"))
    if mean is None or low is None or high is None or low == high:
        return digits(mean)
    return f"{digits(mean)} ± {digits((high - low) / 2, 2)}"
