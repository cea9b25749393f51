"""Fits the gap of a move to one printed number, and tests it on the other cells."""

from __future__ import annotations

from importlib.resources import files
from typing import cast, get_args

import polars as pl

from daybreak.figures import fct as fct_figures
from daybreak.figures.fct import Bar
from daybreak.figures.sweeps import Line, Sweep, sweeps
from daybreak.metrics.confidence import interval, of_all
from daybreak.studies.published import PublishedValues, load_published
from daybreak.studies.scoreboard import within
from daybreak.studies.space_switch import settings as grids
from daybreak.studies.space_switch.claims import changes
from daybreak.studies.space_switch.measured import Evidence, Metric
from daybreak.studies.space_switch.plots import ELEPHANTS, Figures, Frames
from daybreak.studies.space_switch.settings import FITTED_CELL, FITTED_MS, GAPS_MS, SCHEMES, Scale, Setting, one

WORDS = {3: "three turns an epoch", 1: "one turn an epoch"}


def draw(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """The fitted cell over the gap, its distance from the printed number, and the other cells with the fitted gap."""
    rows = table(evidence, scale, published)
    lines: dict[str, list[Line]] = {"elephant_mbps": [], "loss_percent": []}
    for shares, words in WORDS.items():
        cells = grids.gaps(scale, shares)
        means = {gap / 1e3: evidence[cell].interval("elephant", "throughput") for gap, cell in cells.items()}
        printed = _printed(published, next(iter(cells.values())))
        lines["elephant_mbps"].append(Line(words, list(means.items()), [(FITTED_MS[shares] / 1e3, printed)]))
        losses = rows.filter(shares=shares, fitted=True).select("gap_s", "loss_percent").iter_rows()
        lines["loss_percent"].append(Line(words, [(gap, interval([loss])) for gap, loss in losses]))
    transfers, scheme = FITTED_CELL
    panels = [
        Sweep(f"Elephants, {transfers} transfers,\n{SCHEMES[scheme]} [Mbit/s]", lines["elephant_mbps"]),
        Sweep("Difference from\nthe printed mean [%]", lines["loss_percent"]),
    ]
    bars = [
        Bar(
            f"{cell.transfers}, {SCHEMES[cell.scheme]}", f"{WORDS[shares]}, {FITTED_MS[shares] / 1e3:g} s",
            evidence[cell].interval("elephant", "throughput"), _printed(published, cell),
        )
        for shares in WORDS
        for cell in grids.others(scale, shares)
    ]  # fmt: skip
    changed = [
        Bar(
            f"{cell.transfers}, {SCHEMES[cell.scheme]}", f"{WORDS[shares]}, {FITTED_MS[shares] / 1e3:g} s",
            interval(sign * one for one in _changes(evidence, scale, cell, "throughput") if one is not None),
            sign * _printed_change(published, cell, "throughput"),
        )
        for shares in WORDS
        for cell in grids.others(scale, shares)
        for sign in [-1 if cell.scheme == "ut" else 1]
    ]  # fmt: skip
    return {
        "gap": sweeps(panels, xlabel="Gap at each move [s]"),
        "gap-others": fct_figures.bars(bars, ylabel=ELEPHANTS, xlabel="Transfers, scheme"),
        "gap-effects": fct_figures.bars(
            changed, ylabel="Throughput that UT costs\nand DT gives [%]", xlabel="Transfers, scheme"
        ),
    }


def table(evidence: Evidence, scale: Scale, published: PublishedValues) -> pl.DataFrame:
    """Elephants' mean throughput in each of these cells beside the printed one."""
    rows = []
    for shares in GAPS_MS:
        for fitted, cells in ((True, grids.gaps(scale, shares).values()), (False, grids.others(scale, shares))):
            for cell in cells:
                ours, printed = evidence[cell].mean("elephant", "throughput"), _printed(published, cell)
                rows.append(
                    {
                        "shares": shares, "gap_s": cell.night_us / 1e6, "transfers": cell.transfers,
                        "scheme": cell.scheme, "fitted": fitted, "elephant_mbps": ours, "printed_mbps": printed,
                        "loss_percent": 100 * abs(ours / printed - 1), "rtos": evidence[cell].count("elephant", "rtos"),
                    }
                )  # fmt: skip
    return pl.DataFrame(rows)


def effects(evidence: Evidence, scale: Scale, published: PublishedValues) -> pl.DataFrame:
    """What UT and DT change of elephants' means in the cells that nothing was fitted to, with each number of turns an
    epoch and its gap, judged by the tolerance of these effects."""
    rows = []
    for shares in GAPS_MS:
        for cell in grids.others(scale, shares):
            for number, metric in enumerate(get_args(Metric), start=1):
                entry = published[f"effect{number}.{cell.scheme}.{cell.transfers}"]
                found, printed = (
                    of_all(_changes(evidence, scale, cell, metric)),
                    _printed_change(published, cell, metric),
                )
                rows.append(
                    {
                        "shares": shares, "gap_s": cell.night_us / 1e6, "transfers": cell.transfers,
                        "scheme": cell.scheme, "metric": metric, "printed_percent": printed,
                        "change_percent": found.mean if found else None,
                        "met": found is not None and within(entry.tolerance, printed, found.mean),
                    }
                )  # fmt: skip
    return pl.DataFrame(rows)


def tables(evidence: Evidence, scale: Scale) -> Frames:
    """The numbers of the figures."""
    published = load_published(files(__package__).joinpath("published.csv"))
    return {"gap": table(evidence, scale, published), "gap-effects": effects(evidence, scale, published)}


def _changes(evidence: Evidence, scale: Scale, cell: Setting, metric: Metric) -> list[float | None]:
    return changes(evidence[cell], evidence[one(scale, cell.transfers, "no_direct_link")], metric)


def _printed_change(published: PublishedValues, cell: Setting, metric: Metric) -> float:
    number = 1 + get_args(Metric).index(metric)
    return cast("float", published[f"effect{number}.{cell.scheme}.{cell.transfers}"].value)


def _printed(published: PublishedValues, cell: Setting) -> float:
    return float(published[f"table1.{cell.scheme}.{cell.transfers}.mean"].printed)
