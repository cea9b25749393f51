"""One-way delays from the engine's histograms, whose buckets are at most 1/16 wide (relative)."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from daybreak.metrics.errors import check_columns


def percentiles(
    latency: pl.DataFrame, flows: pl.DataFrame, *, at: Sequence[float] = (50.0, 99.0, 99.9), by: str = "group"
) -> pl.DataFrame:
    """Percentiles of each group: columns ``by``, ``percentile``, ``microseconds``, ``packets``.

    The value is the upper edge of the bucket that holds the percentile's packet, so it is never too small
    and at most 1/16 too large.
    """
    check_columns("latency", latency, ("flow", "from_ns", "to_ns", "packets"))
    check_columns("flows", flows, ("flow", by))
    for percent in at:
        if not 0 < percent <= 100:
            raise ValueError(f"at: percentile {percent} is not in (0, 100]")
    names = flows.select(pl.col("flow").cast(pl.Int64), by)
    pooled = (
        latency.with_columns(pl.col("flow").cast(pl.Int64))
        .join(names, on="flow", how="inner")
        .group_by(by, "from_ns", "to_ns")
        .agg(pl.col("packets").cast(pl.Int64).sum())
        .sort(by, "from_ns")
        .with_columns(pl.col("packets").cum_sum().over(by).alias("seen"), pl.col("packets").sum().over(by).alias("all"))
    )
    rows = [
        pooled.filter(pl.col("seen") >= pl.col("all") * (percent / 100) - 1e-9)
        .group_by(by, maintain_order=True)
        .agg(pl.col("to_ns").first(), pl.col("all").first())
        .select(
            by,
            pl.lit(float(percent)).alias("percentile"),
            (pl.col("to_ns") / 1e3).alias("microseconds"),
            pl.col("all").alias("packets"),
        )
        for percent in at
    ]
    return pl.concat(rows).sort(by, "percentile", maintain_order=True)
