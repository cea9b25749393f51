"""The grid: all scenarios, rates and RTTs with CUBIC, each moved by the paper's rule."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from daybreak.metrics import transient
from daybreak.studies.lightpath.measured import Evidence, Measurements
from daybreak.studies.lightpath.settings import STACKS, Scale, grid
from daybreak.studies.scoreboard import Scoreboard

RISE = 1.6
"""Ratio of the rate after to before the move in scenario A: 1.667, less the effect of serialisation."""
SMALL, LARGE = 0.2, 0.8
"""Reductions of section 4: B and C are below, D above."""


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """The set-up, and the three kinds of behaviour."""
    for stack, name in STACKS.items():
        cells = [evidence[setting] for setting in grid(scale, stack)]
        _judge_set_up(board, cells, stack, name)
        of_a = [one for one in cells if one.setting.scenario == "A"]
        rising = [one for one in of_a if rises(one)]
        board.shape(
            "A.one_kind", len(rising) == len(of_a), float(len(rising)), suffix=stack, cell=name,
            note=_others("not so", of_a, rising),
        )  # fmt: skip
        of_kind = [one for one in cells if is_of_its_kind(one)]
        board.shape(
            "kinds", len(of_kind) == len(cells), float(len(of_kind)), suffix=stack, cell=name,
            note=_others(f"of {len(cells)}; not so", cells, of_kind),
        )  # fmt: skip
        small = [one for one in cells if one.setting.scenario in ("B", "C1")]
        worst = max(small, key=lambda one: one.reduction)
        note = f"in {worst.setting.cell}"
        board.shape("BC.small", worst.reduction < SMALL, 100 * worst.reduction, suffix=stack, cell=name, note=note)
        times = {one.setting.cell: one.recovery_s(one.before_mbps) for one in small}
        known = [time for time in times.values() if time is not None]
        never = ", ".join(cell for cell, time in times.items() if time is None)
        is_short = not never and max(known) < 30
        note = f"not within the run: {never}" if never else ""
        board.shape("BC.short", is_short, None if never else max(known), suffix=stack, cell=name, note=note)
        of_d = [one for one in cells if one.setting.scenario == "D"]
        collapsed = [one for one in of_d if is_of_its_kind(one)]
        board.shape(
            "other_numbers", len(collapsed) == len(of_d), float(len(collapsed)), suffix=stack, cell=name,
            note=_others(f"of {len(of_d)}; not so", of_d, collapsed),
        )  # fmt: skip
        least = min(of_d, key=lambda one: one.reduction)
        note = "; ".join(f"{one.setting.cell}: {100 * one.reduction:.0f} %" for one in of_d)
        board.shape("D.large", least.reduction > LARGE, 100 * least.reduction, suffix=stack, cell=name, note=note)


def _judge_set_up(board: Scoreboard, cells: list[Measurements], stack: str, name: str) -> None:
    reached = [one for one in cells if one.setting.reaches_limit]
    met = [one for one in reached if one.before_mbps >= 0.97 * one.setting.rate_mbps]
    board.shape(
        "setup.move", len(met) == len(cells), float(len(met)), suffix=stack, cell=name,
        note=_others(f"of {len(cells)}; below the limit in the last second before the move", cells, met),
    )  # fmt: skip
    for key, path, span in (("setup.rtt_base", 1.0, (-1.0, 0.0)), ("setup.rtt_optical", 0.6, (-5.0, 0.0))):
        # After the move the last seconds of the run, when queues of the move are gone.
        ratios = [least_rtt_ms(one, *span, at_end=path < 1) / (path * one.setting.rtt_ms) for one in cells]
        known = [ratio for ratio in ratios if ratio > 0]
        # No RTT is below that of its path, and a flow without queueing has it except for serialisation.
        board.shape(key, min(known) >= 0.999 and min(known) < 1.02, min(known), suffix=stack, cell=name)


def least_rtt_ms(measured: Measurements, from_s: float, to_s: float, *, at_end: bool) -> float:
    """Least smoothed RTT in a span before the move or before the end of the run."""
    end = float(measured.windows["time_s"].max() or 0.0) if at_end else 0.0  # type: ignore[arg-type]
    part = measured.windows.filter((pl.col("time_s") >= end + from_s) & (pl.col("time_s") <= end + to_s))
    return float(part["srtt_ms"].min() or 0.0)  # type: ignore[arg-type]


def rises(measured: Measurements) -> bool:
    """Whether it behaves like scenario A: means of ten seconds rise by the ratio of the RTTs, and nothing is lost."""
    seconds = measured.bins(1000)
    before = transient.mean_between(seconds, "mbps", -2.0, 0.0)
    after = transient.mean_between(seconds, "mbps", 10.0, 20.0)
    return after / before >= RISE and measured.lost_anywhere() == 0


def is_of_its_kind(measured: Measurements) -> bool:
    """Sections 4 and 5: A rises; C2 rises; B and C1 dip slightly or not; D collapses with loss."""
    match measured.setting.scenario:
        case "A":
            return rises(measured)
        case "C2":
            return measured.peak_mbps > 1.2 * measured.before_mbps
        case "B" | "C1":
            return measured.reduction < SMALL
        case _:
            return measured.reduction > LARGE and measured.lost("receiver", 0, 1) > 0


def _others(said: str, cells: Iterable[Measurements], found: list[Measurements]) -> str:
    names = [one.setting.cell for one in cells if one not in found]
    return f"{said}: {', '.join(names)}" if names else ""
