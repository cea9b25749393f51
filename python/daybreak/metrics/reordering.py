"""Reordering and duplication at the receiver."""

from __future__ import annotations

import polars as pl

from daybreak.metrics.totals import ratio, sums

COUNTS = ("segments", "reordered", "duplicates", "dup_acks")


def table(flows: pl.DataFrame, *, by: str = "group") -> pl.DataFrame:
    """Sums of each group (and run, if there is a ``run``) with the ratios to the segments sent.

    ``reordered_ratio``: segments that arrived out of order (after a hole, by loss or by a shorter path).
    ``duplicate_ratio``: segments that arrived twice, that is spurious retransmissions.
    """
    return sums(flows, COUNTS, by=by).with_columns(
        ratio("reordered", "segments").alias("reordered_ratio"),
        ratio("duplicates", "segments").alias("duplicate_ratio"),
    )
