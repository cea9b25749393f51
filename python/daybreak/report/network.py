"""How much of the network runs used: the utilisation of its links, and what waited in its queues."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from daybreak import plots
from daybreak.metrics import occupancy, units
from daybreak.metrics.units import digits
from daybreak.runs import Run

from .html import Markup, element, table, text

_MOST_ROWS = 10


def section(runs: Sequence[Run]) -> Markup:
    """The tables of links and of queues, over all runs; each is left out where nothing is known."""
    return text(_links(runs), _queues(runs))


def _links(runs: Sequence[Run]) -> Markup:
    found = plots.link_use(runs)
    if found is None:
        return Markup("")
    used = found.filter(pl.col("utilisation") > 0).sort("utilisation", descending=True, maintain_order=True)
    shown = used.head(_MOST_ROWS)
    if not shown.height:
        return Markup("")
    said = (
        f"Bytes with framing over what the link could carry while it was open, in {simulated_time(runs)}"
        f"{_of_all(shown, used, 'links that carried packets, the most used')}."
    )
    columns = ("link", "open [%]", "utilisation [%]")
    rows = [(name, f"{100 * part:.1f}", f"{100 * use:.1f}") for name, part, use in shown.iter_rows()]
    return text(element("h3", "Utilisation of links"), element("p", said), table(columns, rows, numeric=columns[1:]))


def _queues(runs: Sequence[Run]) -> Markup:
    samples = [run.queues for run in runs if run.queues.height]
    if not samples:
        return Markup("")
    found = occupancy.summary(pl.concat(samples)).filter(pl.col("max_packets") > 0)
    order = ["p99_packets", "mean_packets", "max_packets"]
    shown = found.sort(order, descending=True, maintain_order=True).head(_MOST_ROWS)
    if not shown.height:
        return Markup("")
    said = (
        "Packets waiting, over the samples of the run; the greatest is that at any time"
        f"{_of_all(shown, found, 'queues in which packets waited, the fullest')}."
    )
    columns = ("queue", "mean", "p50", "p99", "greatest")
    rows = [(name, digits(mean, 3), *map(str, counts)) for name, mean, *counts in shown.iter_rows()]
    return text(element("h3", "Occupancy of queues"), element("p", said), table(columns, rows, numeric=columns[1:]))


def simulated_time(runs: Sequence[Run]) -> str:
    """How long the runs are, such as "50 ms" or "50 to 60 ms"."""
    ends = [run.manifest["totals"]["ended_ns"] / 1e9 for run in runs]
    return " to ".join(dict.fromkeys(units.time(end) for end in (min(ends), max(ends))))


def _of_all(shown: pl.DataFrame, found: pl.DataFrame, what: str) -> str:
    return "" if shown.height == found.height else f"; {shown.height} of {found.height} {what}"
