"""The common time axis of curves over time."""

from __future__ import annotations

import polars as pl

from daybreak.metrics.confidence import over_runs
from daybreak.metrics.errors import check_columns, positive


def on_time_axis(
    summed: pl.DataFrame, flows: pl.DataFrame, *, by: str, bin_ns: int, end_ns: int, value: pl.Expr
) -> pl.DataFrame:
    """Spreads ``summed`` (``by``, ``slot``, quantities) over the time axis: one row for every name of ``flows`` and
    every bin of ``bin_ns`` up to ``end_ns``, with the columns ``by``, ``time_s`` (start of the bin) and the expression
    ``value``, which sees null in bins that ``summed`` lacks.
    """
    slots = pl.DataFrame({"slot": pl.Series(range(-(-end_ns // bin_ns)), dtype=pl.Int64)})
    names = flows.select(by).unique(maintain_order=True)
    return (
        names.join(slots, how="cross", maintain_order="left_right")
        .join(summed, on=[by, "slot"], how="left", maintain_order="left")
        .select(by, (pl.col("slot") * bin_ns / 1e9).alias("time_s"), value)
    )


def mean_curve(
    series: pl.DataFrame, group: str, value: str, *, bin_ns: int, recorded_ns: int, end_s: float
) -> pl.DataFrame:
    """A group's mean curve over the runs in wider bins, with its 95 % interval: ``time_s, mean, low, high, runs``.

    ``series`` has one row per bin of ``recorded_ns`` and run; ``bin_ns`` is a multiple of that, ``end_s`` the end of
    the curve. ``time_s`` is the middle of a bin. A run that has ended counts as 0, so the curve falls as flows end.
    """
    check_columns("series", series, ("run", "group", "time_s", value))
    positive("bin_ns", bin_ns)
    slots = -(-round(end_s * 1e9 / recorded_ns) // (bin_ns // recorded_ns))
    mine = series.filter(pl.col("group") == group)
    wide = (
        mine.with_columns(((pl.col("time_s") * 1e9).round().cast(pl.Int64) // bin_ns).alias("slot"))
        .group_by("run", "slot")
        .agg(pl.col(value).sum() / (bin_ns / recorded_ns))
    )
    grid = pl.DataFrame({"slot": pl.Series(range(slots), dtype=pl.Int64)})
    dense = (
        mine.select("run").unique().sort("run")
        .join(grid, how="cross")
        .join(wide, on=["run", "slot"], how="left")
        .with_columns(pl.col(value).fill_null(0.0), ((pl.col("slot") + 0.5) * bin_ns / 1e9).alias("time_s"))
    )  # fmt: skip
    return over_runs(dense.sort("slot", "run"), ["time_s"], value)


def mean_height(series: pl.DataFrame, value: str, *, bin_ns: int, window_ns: int) -> float:
    """Mean distance from valley to peak of the mean curve over the runs in windows of ``window_ns``.

    The mean over the runs is taken first, up to the end of the shortest, as in a figure. Left out are the first window
    and windows of which less than nine tenths is covered.
    """
    check_columns("series", series, ("run", "time_s", value))
    positive("window_ns", window_ns)
    shortest = series.group_by("run").agg(pl.col("time_s").max()).select(pl.col("time_s").min()).item()
    if shortest is None:
        return 0.0
    mean = series.filter(pl.col("time_s") <= shortest).group_by("time_s").agg(pl.col(value).mean())
    slot = ((pl.col("time_s") * 1e9).round().cast(pl.Int64) // window_ns).alias("slot")
    height = (pl.col(value).max() - pl.col(value).min()).alias("height")
    windows = mean.group_by(slot).agg(pl.len().alias("bins"), height).sort("slot")
    whole = windows.filter((pl.col("slot") > 0) & (pl.col("bins") * bin_ns >= 0.9 * window_ns))
    return float(whole.select(pl.col("height").mean().fill_null(0.0)).item())
