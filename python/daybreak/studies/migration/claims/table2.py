"""Table II: groups of flows of random sizes that arrive in pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

import polars as pl

from daybreak.metrics import fct
from daybreak.metrics.confidence import interval, of_all
from daybreak.studies.migration.measured import GROUPS, Evidence, Measurements
from daybreak.studies.migration.settings import GROUP_PERIODS, READINGS, Scale, exchanges, groups
from daybreak.studies.scoreboard import Scoreboard

POOLED = READINGS[1]
"""The reading that is shown beside the judged one."""
LONGER_MS = 5
"""An overhead per transfer that the notes try. No claim uses it, since nothing printed supports it."""


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Six averages, and how they change with the period."""
    measured = {period: evidence[groups(scale, period)] for period in GROUP_PERIODS}
    _judge(board, measured, "table2", scale.reading, slower)
    for period, one in measured.items():
        for group in GROUPS:
            board.value(f"table2-pooled.{group}", averages(one, group, POOLED), suffix=f"{period}ms", period=period)


def judge_exchanges(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Judges the averages of requested transfers, beside those of plain transfers of equal sizes."""

    def besides(measured: Measurements, group: str) -> str:
        pushed = evidence[groups(scale, measured.setting.period_ms)]
        pairs = list(zip(*(averages(one, group, scale.reading) for one in (pushed, measured)), strict=True))
        gain = interval(asked - sent for sent, asked in pairs if sent is not None and asked is not None)
        before = interval(float("nan") if sent is None else sent for sent, _ in pairs)
        return (
            f"bulk transfers with the same draws {before.mean:.3g} Gb/s, so that asking changes it by {gain.mean:+.2g} "
            f"+- {gain.high - gain.mean:.2g}"
        )

    measured = {period: evidence[exchanges(scale, period)] for period in GROUP_PERIODS}
    _judge(board, measured, "table2-exchanges", scale.reading, besides)


def _judge(
    board: Scoreboard,
    evidence: Mapping[int, Measurements],
    key: str,
    reading: str,
    besides: Callable[[Measurements, str], str],
) -> None:
    """``evidence`` is by the period in ms; ``besides`` goes into the note of each average."""
    found: dict[str, dict[int, float]] = {group: {} for group in GROUPS}
    for period, measured in evidence.items():
        for group, averaged in found.items():
            values = averages(measured, group, reading)
            averaged[period] = interval(float("nan") if v is None else v for v in values).mean
            readings = {name: of_all(averages(measured, group, name)) for name in READINGS if name != reading}
            others = ", ".join(f"{name.replace('_', ' ')} {one.mean:.3g}" for name, one in readings.items() if one)
            note = f"other readings: {others} Gb/s; {besides(measured, group)}" if others else ""
            board.value(f"{key}.{group}", values, suffix=f"{period}ms", period=period, note=note)
    migrated, main = (list(averaged.values()) for averaged in found.values())
    note = ", ".join(f"{value:.4g} at {period} ms" for period, value in found["migrated"].items())
    note += f"; with the same draws of sizes {changes(evidence, 'migrated', reading)}"
    board.shape(f"{key}.falls", migrated[0] > migrated[1] > migrated[2], migrated[2], note=note)
    centre = sum(main) / len(main)
    spread = max(abs(value / centre - 1) for value in main) * 100
    note = ", ".join(f"{value:.4g} Gb/s at {period} ms" for period, value in found["main"].items())
    note += f"; with the same draws of sizes {changes(evidence, 'main', reading)}"
    board.shape(f"{key}.constant", spread < 2, spread, note=note)
    gaps = [a - b for a, b in zip(migrated, main, strict=True)]
    note = ", ".join(f"{gap:+.3f} Gb/s at {period} ms" for period, gap in zip(evidence, gaps, strict=True))
    board.shape(f"{key}.above", all(gap > 0 for gap in gaps), min(gaps), note=note)


def slower(measured: Measurements, group: str) -> str:
    """The average if each transfer took longer by a possible overhead of client and server that the study lacks."""
    by_run = measured.flows.filter(group=group).group_by("run")
    longer = by_run.agg((pl.col("bytes") * 8 / (pl.col("fct_ns") + LONGER_MS * 1e6)).mean().alias("gbps"))
    return f"{interval(longer['gbps']).mean:.3g} Gb/s if each transfer took {LONGER_MS} ms more"


def changes(evidence: Mapping[int, Measurements], group: str, reading: str) -> str:
    """Gain of the average from each period to the next, run by run: equal seeds draw equal sizes."""
    parts: list[str] = []
    for before, after in pairwise(evidence):
        pairs = zip(*(averages(evidence[period], group, reading) for period in (before, after)), strict=True)
        gain = interval(b - a for a, b in pairs if a is not None and b is not None)
        parts.append(f"{gain.mean:+.2g} +- {gain.high - gain.mean:.2g} from {before} to {after} ms")
    return ", ".join(parts)


def averages(measured: Measurements, group: str, reading: str) -> list[float | None]:
    """Average throughput of a group in Gb/s, one value per run."""
    return fct.group_throughput(measured.flows).filter(group=group).sort("run")[reading].to_list()
