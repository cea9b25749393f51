"""Selects parts of curves by the flows that run: while all of them do, and after the others have ended.

``series`` has one row per run, group and bin (``run, group, time_s``, the start of the bin, and a value); ``flows`` is
the result of `fct.table` with ``run``. A bin counts if all of it lies in the span.
"""

from __future__ import annotations

import polars as pl

from daybreak.metrics.errors import check_columns, positive

_FLOWS = ("run", "group", "start_ns", "end_s")


def while_all_run(series: pl.DataFrame, flows: pl.DataFrame, *, bin_ns: int) -> pl.DataFrame:
    """The bins (of width ``bin_ns``) between the last start and the first end of the flows of a run."""
    check_columns("series", series, ("run", "time_s"))
    check_columns("flows", flows, _FLOWS)
    positive("bin_ns", bin_ns)
    bounds = flows.group_by("run").agg(
        (pl.col("start_ns").max() / 1e9).alias("from_s"), pl.col("end_s").min().alias("to_s")
    )
    inside = (pl.col("time_s") >= pl.col("from_s")) & (pl.col("time_s") + bin_ns / 1e9 <= pl.col("to_s"))
    return series.join(bounds, on="run", maintain_order="left").filter(inside).drop("from_s", "to_s")


def after_others(
    series: pl.DataFrame, flows: pl.DataFrame, group: str, *, bin_ns: int, delay_s: float = 0.0
) -> pl.DataFrame:
    """A group's bins from the last end of the other groups (plus ``delay_s``) to its own last end."""
    check_columns("series", series, ("run", "group", "time_s"))
    check_columns("flows", flows, _FLOWS)
    positive("bin_ns", bin_ns)
    own = flows.filter(pl.col("group") == group).group_by("run").agg(pl.col("end_s").max().alias("own_s"))
    others = flows.filter(pl.col("group") != group).group_by("run").agg(pl.col("end_s").max().alias("others_s"))
    inside = (pl.col("time_s") >= pl.col("others_s") + delay_s) & (pl.col("time_s") + bin_ns / 1e9 <= pl.col("own_s"))
    mine = series.filter(pl.col("group") == group)
    joined = mine.join(own, on="run", maintain_order="left").join(others, on="run", maintain_order="left")
    return joined.filter(inside).drop("own_s", "others_s")


def means(series: pl.DataFrame, group: str, value: str) -> list[float]:
    """Mean of the column ``value`` over a group's bins: one number per run that has any, in the order of the runs."""
    check_columns("series", series, ("run", "group", value))
    mine = series.filter(pl.col("group") == group)
    return mine.group_by("run").agg(pl.col(value).mean()).sort("run")[value].to_list()


def part_below(series: pl.DataFrame, group: str, other: str, value: str, *, bin_ns: int) -> float:
    """Share of the bins of width ``bin_ns``, over all runs, in which the mean ``value`` of a group is below another
    one's."""
    check_columns("series", series, ("run", "group", "time_s", value))
    positive("bin_ns", bin_ns)
    slot = ((pl.col("time_s") * 1e9).round().cast(pl.Int64) // bin_ns).alias("slot")
    wide = series.group_by("run", "group", slot).agg(pl.col(value).mean())
    both = wide.filter(group=group).join(wide.filter(group=other), on=["run", "slot"], suffix="_other")
    return float(both.select((pl.col(value) < pl.col(f"{value}_other")).mean()).item()) if both.height else 0.0
