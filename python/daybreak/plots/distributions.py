"""Figures of whole runs: slowdown by size, completion times, queue occupancy, link utilisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl
from matplotlib.figure import Figure

from daybreak.errors import PlotError
from daybreak.figures import distributions as figures
from daybreak.metrics import occupancy, slowdown, units

from .cases import CURVE, MOST_NAMES, Case, with_curves
from .network import link_use
from .view import text

MOST_LINKS = 30
"""The number of bars that fit. Of several cases each has one per link."""
FEWEST_LINKS = 6
MOST_QUEUES = 6
_PERCENTILES = (50, 99)


@dataclass(frozen=True)
class Distribution:
    """One kind of figure, and the function that draws it."""

    title: str
    draw: Callable[[Sequence[Case], str, list[str]], Figure]


def draw(
    name: str, found: Sequence[Case], *, by: str | None, flows: str | None, notes: list[str]
) -> Figure:  # fmt: skip
    """Draws one of `DISTRIBUTIONS`. Curves stand for groups, unless several cases are drawn. Raises PlotError."""
    named, _ = with_curves(found, by or ("group" if len(found) == 1 else None), flows, apart=False)
    title = ", ".join(case.name for case in named[:2]) + (" ..." if len(named) > 2 else "")
    runs = sum(len(case.runs) for case in named)
    of_runs = f", {runs} runs" if runs > 1 else f", seed {named[0].runs[0].seed}"
    return DISTRIBUTIONS[name].draw(named, f"{DISTRIBUTIONS[name].title}: {title}{of_runs}", notes)


def _flows(found: Sequence[Case], notes: list[str]) -> dict[str, pl.DataFrame]:
    """The flows of limited size for each curve, over all runs of its case."""
    table = pl.concat([slowdown.table(one) for case in found for one in case.flows])
    table = table.filter(pl.col("bytes").is_not_null())
    if not table.height:
        raise PlotError("no flow has a size: there is no completion time")
    parts = {str(name): part for (name,), part in table.group_by(CURVE, maintain_order=True)}
    if len(parts) > MOST_NAMES:
        notes.append(f"the first {MOST_NAMES} of {len(parts)} curves are drawn: choose fewer with --by, in Python by")
    return dict(list(parts.items())[:MOST_NAMES])


def _slowdown(found: Sequence[Case], title: str, notes: list[str]) -> Figure:
    parts = {name: table.filter(pl.col("ideal_fct_ns").is_not_null()) for name, table in _flows(found, notes).items()}
    tables = {
        name: slowdown.by_size(table, at=_PERCENTILES) for name, table in parts.items() if table.height
    }  # fmt: skip
    if not tables:
        raise PlotError(
            "slowdown: no flow has an ideal completion time (only bulk transfers of limited size have "
            "one, in runs of this version)"
        )
    starts = sorted({start for table in tables.values() for start in table["over_bytes"]})
    counts = pl.concat(tables.values()).group_by("over_bytes", "upto_bytes").agg(pl.col("flows").sum())
    spans = {start: (upto, flows) for start, upto, flows in counts.iter_rows()}
    bins = [f"{units.span(start, spans[start][0])}\n{spans[start][1]:,} flows" for start in starts]
    curves: dict[str, Mapping[str, Sequence[float | None]]] = {}
    for name, table in tables.items():
        by_start = {row["over_bytes"]: row for row in table.iter_rows(named=True)}
        curves[name] = {
            f"p{percent}": [
                by_start[start][f"p{percent}_slowdown"] if start in by_start else None for start in starts
            ]
            for percent in _PERCENTILES
        }  # fmt: skip
    return figures.by_bins(bins, curves, xlabel="Size of the flow", ylabel="Slowdown", title=title, level=1.0)


def _fct(found: Sequence[Case], title: str, notes: list[str]) -> Figure:
    parts = _flows(found, notes)
    scale, unit = units.unit_of(
        (value / 1e9 for table in parts.values() for value in table["fct_ns"].drop_nulls()), units.TIMES
    )
    curves = {}
    for name, table in parts.items():
        ended = table["fct_ns"].drop_nulls().sort().cast(pl.Float64) / 1e9 / scale
        share = pl.Series(range(1, len(ended) + 1), dtype=pl.Float64) / table.height
        curves[name] = pl.DataFrame({"value": ended, "share": share})
        if len(ended) < table.height:
            notes.append(f"{name}: {table.height - len(ended):,} of {table.height:,} flows did not end")
    known = {name: table for name, table in curves.items() if table.height}
    if not known:
        raise PlotError("fct: no flow has ended")
    return figures.cumulative(
        known, xlabel=f"Flow completion time [{unit}]", ylabel="Share of flows", title=title, log=True
    )


def _occupancy(found: Sequence[Case], title: str, notes: list[str]) -> Figure:
    curves: dict[str, pl.DataFrame] = {}
    for case in found:
        if not all(run.scenario.records.queues and run.queues.height for run in case.runs):
            raise PlotError(
                f'occupancy: the run of "{case.name}" has no samples of queues: set records.queues = "1 ms"'
            )
        samples = pl.concat([run.queues for run in case.runs])
        most = occupancy.summary(samples).sort("p99_packets", "mean_packets", descending=True, maintain_order=True)
        shown = most["queue_name"].head(MOST_QUEUES if len(found) == 1 else 1).to_list()
        if len(shown) < most.height:
            notes.append(f"{case.name}: {len(shown)} of {most.height} queues drawn, those with the greatest p99")
        table = occupancy.distribution(samples).rename({"packets": "value"})
        for queue in shown:
            label = queue if len(found) == 1 else f"{_label(case)} ({queue})"
            curves[label] = table.filter(pl.col("queue_name") == queue)
    return figures.cumulative(curves, xlabel="Packets waiting", ylabel="Share of the time", title=title)


def _utilisation(found: Sequence[Case], title: str, notes: list[str]) -> Figure:
    tables: dict[str, pl.DataFrame] = {}
    for case in found:
        of_links = link_use(case.runs)
        if of_links is None:
            raise PlotError(f'utilisation: the plan of "{case.name}" is not known to this version')
        tables[_label(case)] = of_links
    fullest = pl.concat(tables.values()).group_by("link_name", maintain_order=True).agg(pl.col("utilisation").max())
    used = fullest.filter(pl.col("utilisation") > 0).sort("utilisation", descending=True, maintain_order=True)
    places = used["link_name"].head(max(FEWEST_LINKS, MOST_LINKS // len(tables))).to_list()
    if not places:
        raise PlotError("utilisation: no link has carried a packet")
    if len(places) < fullest.height:
        notes.append(f"{len(places)} of {fullest.height} links are drawn, the fullest that carried packets")
    series = {}
    for name, table in tables.items():
        rows = {link: (used, share) for link, share, used in table.iter_rows()}
        series[name] = [_bar(*rows.get(place, (None, 1.0))) for place in places]
    ends = [int(run.manifest["totals"]["ended_ns"]) for case in found for run in case.runs]
    lengths = " to ".join(dict.fromkeys(text(end) for end in (min(ends), max(ends))))
    return figures.bars(
        places, series, xlabel=f"Bytes with framing over what the link can carry in the run's {lengths}", title=title
    )


def _bar(used: float | None, open_share: float) -> tuple[float | None, str]:
    return used, "" if open_share > 1 - 1e-9 else f"of the {open_share:.1%} of the time that it was open"


def _label(case: Case) -> str:
    return case.curves[0] if len(case.curves) == 1 else case.name


DISTRIBUTIONS: Mapping[str, Distribution] = {
    "slowdown": Distribution("Slowdown (FCT over that of the flow alone)", _slowdown),
    "fct": Distribution("Flow completion times", _fct),
    "occupancy": Distribution("What waits in queues", _occupancy),
    "utilisation": Distribution("Utilisation of links", _utilisation),
}
"""All distributions by name. They have no time axis, and each is a figure of its own."""
