"""Reordering and duplication as the receiver saw them."""

from __future__ import annotations

import polars as pl

from daybreak.metrics.errors import check_columns

COUNTS = ("segments", "reordered", "duplicates", "dup_acks")


def table(flows: pl.DataFrame, *, by: str = "group") -> pl.DataFrame:
    """Sums of each group (and run, if there is a ``run``) with the ratios to the segments sent.

    ``reordered_ratio``: segments that came out of order (a hole before them, by loss or by a shorter path).
    ``duplicate_ratio``: segments that came twice, so needless retransmissions.
    """
    check_columns("flows", flows, (by, *COUNTS))
    keys = [key for key in ("run", by) if key in flows.columns]
    sent = pl.col("segments") > 0
    return (
        flows.group_by(keys, maintain_order=True)
        .agg(pl.col(name).cast(pl.Int64).sum() for name in COUNTS)
        .with_columns(
            pl.when(sent).then(pl.col("reordered") / pl.col("segments")).otherwise(0.0).alias("reordered_ratio"),
            pl.when(sent).then(pl.col("duplicates") / pl.col("segments")).otherwise(0.0).alias("duplicate_ratio"),
        )
    )
