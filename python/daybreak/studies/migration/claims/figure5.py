"""Figure 5: the window over time of the flows of figure 4, and of a flow alone."""

from __future__ import annotations

from itertools import pairwise

import polars as pl

from daybreak.metrics.confidence import interval
from daybreak.studies.migration.measured import BIN_MS, Evidence, Measured, means, while_both
from daybreak.studies.migration.settings import PAIR_PERIODS, Scale, pair, single
from daybreak.studies.scoreboard import Scoreboard


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Peaks at 60 % of the baseline at 50 ms, smaller and flatter windows at shorter periods."""
    alone = evidence[single(scale, "cubic", 0)]
    largest = alone.windows.group_by("run").agg(pl.col("kilobytes").max()).sort("run")["kilobytes"].to_list()
    board.value("fig5.largest", "largest window of one CUBIC flow that never migrates", largest)
    baseline = interval(largest).mean

    runs = {period: evidence[pair(scale, "cubic", "cubic", period)] for period in PAIR_PERIODS}
    cycles = of_cycles(runs[50])
    peaks = cycles.group_by("run").agg(pl.col("peak").mean()).sort("run")["peak"].to_list()
    board.value(
        "fig5.peaks",
        "peaks of the migrated flow's window over the baseline's, 50 ms",
        [peak / baseline for peak in peaks],
    )
    ratio = float(cycles.select((pl.col("valley") / pl.col("peak")).mean()).item())
    shared = float(cycles.select((pl.col("valley_state") == 1).mean()).item())
    board.shape(
        "fig5.valleys",
        "valley over peak of the migrated flow's window, 50 ms",
        ratio < 0.6 and shared > 0.5,
        ours=ratio,
        note=f"the valley is in the shared interval in {100 * shared:.0f} % of the cycles",
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
        note=", ".join(f"{value:.0f} KB at {period} ms" for period, value in heights.items()),
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


def of_cycles(measured: Measured) -> pl.DataFrame:
    """Peak and valley of each whole cycle of both states, and the state in which the valley was.

    The first cycle is left out: in it the window still grows from nothing.
    """
    period = measured.setting.period_ms
    at = (pl.col("time_s") * 1000).round(3)
    cycles = (
        migrated(measured)
        .with_columns((at // (2 * period)).cast(pl.Int64).alias("cycle"), ((at // period) % 2).alias("state"))
        .sort("run", "time_s")
        .group_by("run", "cycle", maintain_order=True)
        .agg(
            pl.len().alias("bins"),
            pl.col("kilobytes").max().alias("peak"),
            pl.col("kilobytes").min().alias("valley"),
            pl.col("state").gather(pl.col("kilobytes").arg_min()).first().alias("valley_state"),
        )
    )
    return cycles.filter((pl.col("bins") == 2 * period // BIN_MS) & (pl.col("cycle") > 0))


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
