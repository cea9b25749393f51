"""The sender's window over time: the data in flight as the sender counts it, without SACKed segments and those marked
as lost."""

from __future__ import annotations

import polars as pl

from daybreak.metrics.errors import check_columns, positive
from daybreak.metrics.series import on_time_axis


def series(window: pl.DataFrame, flows: pl.DataFrame, *, bin_ns: int, end_ns: int, by: str = "group") -> pl.DataFrame:
    """Largest window of each bin over time: columns ``by``, ``time_s`` (start of the bin), ``kilobytes``.

    A bin without a sample repeats the sample before it, since a sender that neither sends nor receives anything, such
    as one that waits for a timeout, keeps its window. Before a flow's first and after its last sample the window is 0.
    The windows of the flows of a group are summed.
    """
    positive("bin_ns", bin_ns)
    positive("end_ns", end_ns)
    sampled = (
        named(window, flows, by=by)
        .sort("flow", "time_ns")
        .with_columns((pl.col("time_ns") // bin_ns).alias("slot"))
        .group_by("flow", by, "slot", maintain_order=True)
        .agg(pl.col("bytes_in_flight").max(), pl.col("bytes_in_flight").last().alias("after"))
    )
    slots = sampled.group_by("flow", by).agg(pl.int_range(pl.col("slot").min(), pl.col("slot").max() + 1).alias("slot"))
    held = (
        slots.explode("slot")
        .sort("slot")
        .join_asof(sampled.sort("slot"), on="slot", by=["flow", by], coalesce=False, check_sortedness=False)
        .select(
            "flow",
            by,
            "slot",
            bytes_in_flight=pl.when(pl.col("slot") == pl.col("slot_right")).then("bytes_in_flight").otherwise("after"),
        )
    )
    summed = held.group_by(by, "slot").agg(pl.col("bytes_in_flight").sum())
    value = (pl.col("bytes_in_flight").fill_null(0) / 1e3).alias("kilobytes")
    return on_time_axis(summed, flows, by=by, bin_ns=bin_ns, end_ns=end_ns, value=value)


def peaks(
    window: pl.DataFrame, flows: pl.DataFrame, *, cycle_ns: int, from_ns: int, to_ns: int, by: str = "group"
) -> pl.DataFrame:
    """Largest and smallest window in every whole cycle of ``[from_ns, to_ns)``.

    Cycles are counted from time 0. Columns ``by``, ``cycle``, ``peak_kilobytes``, ``valley_kilobytes``.
    """
    positive("cycle_ns", cycle_ns)
    first, last = -(-from_ns // cycle_ns), to_ns // cycle_ns
    return (
        named(window, flows, by=by)
        .with_columns((pl.col("time_ns") // cycle_ns).alias("cycle"))
        .filter((pl.col("cycle") >= first) & (pl.col("cycle") < last))
        .group_by(by, "cycle")
        .agg(
            (pl.col("bytes_in_flight").max() / 1e3).alias("peak_kilobytes"),
            (pl.col("bytes_in_flight").min() / 1e3).alias("valley_kilobytes"),
        )
        .sort(by, "cycle")
    )


def largest(window: pl.DataFrame, flows: pl.DataFrame, *, by: str = "group") -> pl.DataFrame:
    """Largest window of each group in the whole run: columns ``by`` and ``kilobytes``."""
    return (
        named(window, flows, by=by)
        .group_by(by, maintain_order=True)
        .agg((pl.col("bytes_in_flight").max() / 1e3).alias("kilobytes"))
    )


def named(window: pl.DataFrame, flows: pl.DataFrame, *, by: str) -> pl.DataFrame:
    """The samples, with the column ``by`` of their flow."""
    check_columns("window", window, ("flow", "time_ns", "bytes_in_flight"))
    check_columns("flows", flows, ("flow", by))
    names = flows.select(pl.col("flow").cast(pl.Int64), by)
    samples = window.select(
        pl.col("flow").cast(pl.Int64), pl.col("time_ns").cast(pl.Int64), pl.col("bytes_in_flight").cast(pl.Int64)
    )
    return samples.join(names, on="flow", how="inner", maintain_order="left")
