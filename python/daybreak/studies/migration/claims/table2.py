"""Table II: groups of flows of random sizes that arrive in pairs."""

from __future__ import annotations

from itertools import pairwise

import polars as pl

from daybreak.metrics import fct
from daybreak.metrics.confidence import interval
from daybreak.studies.migration.measured import Evidence, Measured
from daybreak.studies.migration.settings import GROUP_PERIODS, Scale, groups
from daybreak.studies.scoreboard import Scoreboard

READING = "mean_goodput"
"""Which reading of "average throughput" is judged; see `daybreak.metrics.fct.group_throughput`."""


LONGER_MS = 5
"""An overhead of each transfer that the notes try. It is in no claim: nothing that is printed says it."""


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Six averages, and how they change with the period."""
    found: dict[str, dict[int, float]] = {"migrated": {}, "main": {}}
    for period in GROUP_PERIODS:
        measured = evidence[groups(scale, period)]
        for group, averaged in found.items():
            values = averages(measured, group)
            averaged[period] = interval(float("nan") if v is None else v for v in values).mean
            readings = {name: averages(measured, group, name) for name in ("pooled_goodput", "group_goodput")}
            others = ", ".join(
                f"{name.replace('_', ' ')} {interval(v for v in values_of if v is not None).mean:.3g}"
                for name, values_of in readings.items()
                if None not in values_of
            )
            board.value(
                f"table2.{group}",
                f"average throughput of the {group} flows, {period} ms",
                values,
                suffix=f"{period}ms",
                printed=board.published[f"table2.{group}"].values[f"{period}ms"],
                note=f"other readings: {others} Gb/s; {slower(measured, group)}" if others else "",
            )
    migrated, main = ([found[group][period] for period in GROUP_PERIODS] for group in ("migrated", "main"))
    numbers = ", ".join(f"{value:.4g} at {period} ms" for period, value in found["migrated"].items())
    numbers += f"; with the same draws of sizes {changes(evidence, scale, 'migrated')}"
    board.shape(
        "table2.falls",
        "migrated flows' average throughput from 50 ms to 10 ms",
        migrated[0] > migrated[1] > migrated[2],
        ours=migrated[2],
        note=numbers,
    )
    centre = sum(main) / len(main)
    spread = max(abs(value / centre - 1) for value in main) * 100
    board.shape(
        "table2.constant",
        "variation of the main flows' average throughput",
        spread < 2,
        ours=spread,
        note=", ".join(f"{value:.4g} Gb/s at {period} ms" for period, value in found["main"].items())
        + f"; with the same draws of sizes {changes(evidence, scale, 'main')}",
    )
    gaps = [a - b for a, b in zip(migrated, main, strict=True)]
    board.shape(
        "table2.above",
        "migrated less main flows' average throughput, least of the periods",
        all(gap > 0 for gap in gaps),
        ours=min(gaps),
    )


def slower(measured: Measured, group: str) -> str:
    """The average if each transfer took longer by what a client or server may take that the study does not have."""
    by_run = measured.flows.filter(group=group).group_by("run")
    longer = by_run.agg((pl.col("bytes") * 8 / (pl.col("fct_ns") + LONGER_MS * 1e6)).mean().alias("gbps"))
    return f"{interval(longer['gbps']).mean:.3g} Gb/s if each transfer took {LONGER_MS} ms more"


def changes(evidence: Evidence, scale: Scale, group: str) -> str:
    """What the average gains from each period to the next, run by run: runs of one seed draw the same sizes."""
    parts: list[str] = []
    for before, after in pairwise(GROUP_PERIODS):
        pairs = zip(*(averages(evidence[groups(scale, period)], group) for period in (before, after)), strict=True)
        gain = interval(b - a for a, b in pairs if a is not None and b is not None)
        parts.append(f"{gain.mean:+.2g} +- {gain.high - gain.mean:.2g} from {before} to {after} ms")
    return ", ".join(parts)


def averages(measured: Measured, group: str, reading: str = READING) -> list[float | None]:
    """Average throughput of a group in Gb/s, one value a run."""
    return fct.group_throughput(measured.flows).filter(group=group).sort("run")[reading].to_list()
