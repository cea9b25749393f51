"""Queue occupancy: its distribution over time."""

from __future__ import annotations

import polars as pl

from daybreak.metrics.errors import check_columns


def distribution(queues: pl.DataFrame) -> pl.DataFrame:
    """Cumulative distribution: the share of samples with at most ``packets`` waiting: ``queue_name, packets, share``.

    ``queues`` is the table of a run: samples at even intervals, so a share of samples is a share of time. One row per
    occupancy that occurred, ordered by queue and occupancy.
    """
    check_columns("queues", queues, ("queue_name", "packets"))
    counted = queues.group_by("queue_name", "packets").agg(pl.len().alias("samples")).sort("queue_name", "packets")
    order = queues.select("queue_name").unique(maintain_order=True).with_row_index("order")
    share = (pl.col("samples").cum_sum() / pl.col("samples").sum()).over("queue_name")
    found = counted.with_columns(share.alias("share")).join(order, on="queue_name", maintain_order="left")
    return found.sort("order", "packets").select("queue_name", pl.col("packets").cast(pl.Int64), "share")


def summary(queues: pl.DataFrame) -> pl.DataFrame:
    """One row per queue: ``queue_name``, ``mean_packets``, the percentiles ``p50_packets`` and ``p99_packets`` over the
    samples, and ``max_packets``, the maximum at any time."""
    check_columns("queues", queues, ("queue_name", "packets", "max_packets"))
    ordered = pl.col("packets").sort()
    return queues.group_by("queue_name", maintain_order=True).agg(
        pl.col("packets").mean().alias("mean_packets"),
        *(
            ordered.get((pl.len() * percent / 100).ceil().cast(pl.Int64) - 1).alias(f"p{percent}_packets")
            for percent in (50, 99)
        ),
        pl.col("max_packets").max(),
    )
