"""Figure 5: the window over time of the flows of figure 4, and of a flow alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

import polars as pl

from daybreak.metrics import concurrency, phases
from daybreak.metrics.confidence import interval
from daybreak.metrics.series import mean_height
from daybreak.studies.migration.measured import BIN_NS, Evidence, Measurements
from daybreak.studies.migration.settings import PAIR_PERIODS, Scale, pair, single
from daybreak.studies.migration.testbed import SEPARATE
from daybreak.studies.scoreboard import Scoreboard


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Peaks at 60 % of the baseline at 50 ms, smaller and flatter windows at shorter periods."""
    alone = evidence[single(scale, "cubic", 0)]
    largest = alone.windows.group_by("run").agg(pl.col("kilobytes", "outstanding").max()).sort("run")
    board.value("fig5.largest", largest["kilobytes"].to_list())
    baseline, all_outstanding = (interval(largest[column].to_list()).mean for column in ("kilobytes", "outstanding"))

    runs = {period: evidence[pair(scale, "cubic", "cubic", period)] for period in PAIR_PERIODS}
    outstanding = interval(cycle_peaks(runs[50], "outstanding")).mean / all_outstanding
    board.value(
        "fig5.peaks",
        [peak / baseline for peak in cycle_peaks(runs[50], "kilobytes")],
        note=f"of what is outstanding, lost and SACKed segments included: {outstanding:.2f}",
    )
    # The first half of the cycle is on separate links, the second on the shared one.
    folded = by_phase(runs[50], parts=10)
    before, at, after = folded[4:7]
    peak = max(before, at)
    note = "by phase of the cycle in tenths: " + ", ".join(f"{value:.0f}" for value in folded) + " KB"
    board.shape("fig5.valleys", peak == max(folded) and after < peak, peak - after, note=note)
    part = before / max(folded)
    board.shape("fig5.peaks_before", part >= 0.99 and at < before, part, note=note)

    means = {period: concurrency.means(migrated(one), "migrated", "kilobytes") for period, one in runs.items()}
    sizes = {period: interval(values).mean for period, values in means.items()}
    board.shape("fig5.smaller", decreasing(sizes.values()), means[1], note=kilobytes(sizes))
    # Windows of equal length make the periods comparable.
    heights = {
        period: mean_height(migrated(one), "kilobytes", bin_ns=BIN_NS, window_ns=100 * BIN_NS)
        for period, one in runs.items()
    }
    by_cycle = {period: folded_height(measured) for period, measured in runs.items()}
    note = f"{kilobytes(heights)}; of the mean over all cycles by phase {kilobytes(by_cycle)}"
    board.shape("fig5.flatter", decreasing(heights.values()), heights[1], note=note)
    ratios = {period: ramp(one) / interval(cycle_peaks(one, "kilobytes")).mean for period, one in runs.items()}
    note = ", ".join(f"{value:.2f} at {period} ms" for period, value in ratios.items())
    board.shape("fig5.rampup", all(value >= 1.5 for value in ratios.values()), min(ratios.values()), note=note)


def migrated(measured: Measurements) -> pl.DataFrame:
    """The migrated flow's window while both flows run."""
    return measured.while_both(measured.windows).filter(pl.col("group") == "migrated")


def cycles(measured: Measurements) -> pl.DataFrame:
    """The cycles of both states. In the first of them the window still grows from nothing."""
    return phases.cycles(measured.phases, phase=SEPARATE)


def cycle_peaks(measured: Measurements, column: str) -> list[float]:
    """Mean of the peaks of complete cycles in KB, one value per run; ``column`` is a column of ``windows``."""
    return phases.peaks(migrated(measured), cycles(measured), column, bin_ns=BIN_NS)


def by_phase(measured: Measurements, *, parts: int) -> list[float]:
    """Mean window in each part of the cycle in KB, over all cycles and runs."""
    return phases.folded(migrated(measured), cycles(measured), "kilobytes", parts=parts)


def folded_height(measured: Measurements) -> float:
    """Valley-to-peak height in KB of the mean window by phase of the cycle: the part that repeats with
    reconfigurations."""
    folded = by_phase(measured, parts=2 * measured.setting.period_ms)
    return max(folded) - min(folded) if folded else 0.0


def ramp(measured: Measurements) -> float:
    """Largest window of the migrated flow after the main flow's end in KB, mean over the runs that have one."""
    ends = measured.flows.filter(pl.col("group") == "main").select("run", "end_s")
    later = measured.windows.filter(pl.col("group") == "migrated").join(ends, on="run")
    largest = later.filter(pl.col("time_s") >= pl.col("end_s")).group_by("run").agg(pl.col("kilobytes").max())
    return interval(largest["kilobytes"].to_list()).mean if largest.height else 0.0


def decreasing(values: Iterable[float]) -> bool:
    """Whether each value is below the previous one."""
    return all(a > b for a, b in pairwise(values))


def kilobytes(values: Mapping[int, float]) -> str:
    """Values by period, as text for notes."""
    return ", ".join(f"{value:.0f} KB at {period} ms" for period, value in values.items())
