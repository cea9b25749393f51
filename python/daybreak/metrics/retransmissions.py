"""What loss recovery cost: retransmissions, timeouts, probes and recoveries by flow."""

from __future__ import annotations

import polars as pl

from daybreak.metrics.errors import check_columns
from daybreak.metrics.totals import ratio, sums

COUNTS = ("segments", "retransmits", "rtos", "tlps", "fast_recoveries", "spurious")


def table(flows: pl.DataFrame, *, by: str = "group") -> pl.DataFrame:
    """Sums of the counters of each group (and run, if there is a ``run``) with ``retransmit_ratio``.

    The ratio is retransmissions over all data segments sent, 0 for a group that sent nothing.
    """
    return sums(flows, COUNTS, by=by).with_columns(ratio("retransmits", "segments").alias("retransmit_ratio"))


def losses(drops: pl.DataFrame, *, by: str = "reason") -> pl.DataFrame:
    """Packets and bytes lost for each value of ``by``: columns ``by``, ``packets``, ``bytes``."""
    check_columns("drops", drops, (by, "bytes"))
    return (
        drops.group_by(by, maintain_order=True)
        .agg(pl.len().cast(pl.Int64).alias("packets"), pl.col("bytes").cast(pl.Int64).sum())
        .sort(by)
    )
