"""Figure 5: the window over time of the flows of figure 4, and of a flow alone."""

from __future__ import annotations

from itertools import pairwise

import polars as pl

from daybreak.metrics.confidence import interval
from daybreak.studies.migration.measured import Evidence, Measured, means, while_both
from daybreak.studies.migration.settings import PAIR_PERIODS, Scale, pair, single
from daybreak.studies.migration.testbed import BIN_MS
from daybreak.studies.scoreboard import Scoreboard


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Peaks at 60 % of the baseline at 50 ms, smaller and flatter windows at shorter periods."""
    alone = evidence[single(scale, "cubic", 0)]
    largest = alone.windows.group_by("run").agg(pl.col("kilobytes", "outstanding").max()).sort("run")
    board.value("fig5.largest", "largest window of one CUBIC flow that never migrates", largest["kilobytes"].to_list())
    baseline, all_outstanding = (interval(largest[column].to_list()).mean for column in ("kilobytes", "outstanding"))

    runs = {period: evidence[pair(scale, "cubic", "cubic", period)] for period in PAIR_PERIODS}
    peaks = cycle_peaks(runs[50])
    board.value(
        "fig5.peaks",
        "peaks of the migrated flow's window over the baseline's, 50 ms",
        [peak / baseline for peak in peaks],
        note="of what is outstanding, lost and SACKed segments included: "
        f"{interval(cycle_peaks(runs[50], 'outstanding')).mean / all_outstanding:.2f}",
    )
    folded = of_phase(runs[50])
    before, at, after = around_change(folded)
    board.shape(
        "fig5.valleys",
        "fall of the migrated flow's mean window on the shared link, from its peak, 50 ms",
        max(before, at) == max(folded) and after < max(before, at),
        ours=max(before, at) - after,
        note="by phase of the cycle in tenths: " + ", ".join(f"{value:.0f}" for value in folded) + " KB",
    )

    sizes = {period: interval(means(migrated(measured), "migrated", "kilobytes")) for period, measured in runs.items()}
    board.shape(
        "fig5.smaller",
        "mean window of the migrated flow, 50 ms to 1 ms",
        decreasing([size.mean for size in sizes.values()]),
        ours=sizes[1],
        note=", ".join(f"{size.mean:.0f} KB at {period} ms" for period, size in sizes.items()),
    )
    heights = {period: height(measured) for period, measured in runs.items()}
    board.shape(
        "fig5.flatter",
        "height from valley to peak of the mean curve, 50 ms to 1 ms",
        decreasing(list(heights.values())),
        ours=heights[1],
        note=", ".join(f"{value:.0f} KB at {period} ms" for period, value in heights.items())
        + "; of the mean over all cycles by phase "
        + ", ".join(f"{folded_height(measured):.0f} KB at {period} ms" for period, measured in runs.items()),
    )
    ratios = {period: ramp(measured, sizes[period].mean) for period, measured in runs.items()}
    board.shape(
        "fig5.rampup",
        "largest window after the main flow's end over the mean before it, least of the periods",
        all(value >= 1.5 for value in ratios.values()),
        ours=min(ratios.values()),
        note=", ".join(f"{value:.2f} at {period} ms" for period, value in ratios.items()),
    )


def migrated(measured: Measured) -> pl.DataFrame:
    """The migrated flow's window while both flows run."""
    return while_both(measured, measured.windows).filter(pl.col("group") == "migrated")


def cycle_peaks(measured: Measured, column: str = "kilobytes") -> list[float]:
    """Mean of the peaks of the whole cycles of both states in KB, one value a run; ``column`` is one of the windows'.

    The first cycle is left out: in it the window still grows from nothing.
    """
    period = measured.setting.period_ms
    at = (pl.col("time_s") * 1000).round(3)
    cycles = (
        migrated(measured)
        .with_columns((at // (2 * period)).cast(pl.Int64).alias("cycle"))
        .group_by("run", "cycle")
        .agg(pl.len().alias("bins"), pl.col(column).max())
    )
    whole = cycles.filter((pl.col("bins") == 2 * period // BIN_MS) & (pl.col("cycle") > 0))
    return whole.group_by("run").agg(pl.col(column).mean()).sort("run")[column].to_list()


def of_phase(measured: Measured, parts: int = 10) -> list[float]:
    """Mean window in each part of the cycle in KB, over all cycles but the first and all runs.

    The first half of the parts is on separate links, the second on the shared one.
    """
    cycle = 2 * measured.setting.period_ms
    at = (pl.col("time_s") * 1000).round(3)
    table = migrated(measured).filter(at >= cycle)
    phase = (at % cycle * parts // cycle).cast(pl.Int64).alias("phase")
    return table.group_by(phase).agg(pl.col("kilobytes").mean()).sort("phase")["kilobytes"].to_list()


def around_change(folded: list[float]) -> tuple[float, float, float]:
    """The last part on separate links, the first on the shared one, and the one after it."""
    half = len(folded) // 2
    return folded[half - 1], folded[half], folded[half + 1]


def height(measured: Measured) -> float:
    """Mean over cycles of the mean curve's distance from valley to peak in KB, in windows of 100 ms.

    Windows of one length make the periods comparable; the mean over runs is taken first, as the figure shows it.
    """
    at = (pl.col("time_s") * 1000).round(3)
    table = migrated(measured)
    shortest = table.group_by("run").agg(pl.col("time_s").max())["time_s"].min()
    if shortest is None:
        return 0.0
    curve = table.filter(pl.col("time_s") <= shortest).group_by("time_s").agg(pl.col("kilobytes").mean())
    windows = curve.with_columns((at // 100).cast(pl.Int64).alias("slot")).filter(pl.col("slot") > 0)
    spread = windows.group_by("slot").agg(pl.len(), (pl.col("kilobytes").max() - pl.col("kilobytes").min()).alias("h"))
    value = spread.filter(pl.col("len") >= 90)["h"].mean()
    return float(value) if isinstance(value, int | float) else 0.0


def folded_height(measured: Measured) -> float:
    """From valley to peak of the mean window by phase of the cycle, in KB: what repeats with the reconfigurations."""
    folded = of_phase(measured, parts=2 * measured.setting.period_ms)
    return max(folded) - min(folded) if folded else 0.0


def ramp(measured: Measured, before: float) -> float:
    """Largest window of the migrated flow after the main flow's end over ``before``, mean over runs."""
    ends = measured.flows.filter(pl.col("group") == "main").select("run", "end_s")
    later = measured.windows.filter(pl.col("group") == "migrated").join(ends, on="run")
    later = later.filter(pl.col("time_s") >= pl.col("end_s"))
    largest = later.group_by("run").agg(pl.col("kilobytes").max())["kilobytes"].to_list()
    return interval(largest).mean / before if largest and before > 0 else 0.0


def decreasing(values: list[float]) -> bool:
    """Whether each value is below the one before."""
    return all(a > b for a, b in pairwise(values))
