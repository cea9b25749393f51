"""Slowdown of flows: completion time over the ideal one, which the flow would have alone on its path.

`plan.ideal` defines the ideal; table ``flows`` has it as ``ideal_fct_ns``. A flow that did not end has no slowdown and
counts as slower than every other one in percentiles, as in `fct.percentiles`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from daybreak.metrics.errors import check_columns

EDGES = (10_000, 100_000, 1_000_000, 10_000_000)
"""Edges of the bins in bytes: up to 10 kB, up to 100 kB ... (pFabric's small flows are those up to 100 kB, its
large ones those above 10 MB)."""


def table(flows: pl.DataFrame) -> pl.DataFrame:
    """The flows with ``slowdown``; null where a flow did not end, or has no ideal."""
    check_columns("flows", flows, ("fct_ns", "ideal_fct_ns"))
    return flows.with_columns((pl.col("fct_ns") / pl.col("ideal_fct_ns")).alias("slowdown"))


def summary(flows: pl.DataFrame, *, by: Sequence[str], at: Sequence[float] = (50, 99)) -> pl.DataFrame:
    """One row per group of ``by``, of the flows that have an ideal: ``flows``, ``complete``, ``mean_slowdown`` (null
    where a flow did not end) and the percentiles ``p50_slowdown`` and so on. ``flows`` is the result of `table`.
    """
    check_columns("flows", flows, (*by, "ideal_fct_ns", "slowdown"))
    for percent in at:
        if not 0 < percent <= 100:
            raise ValueError(f"at: percentile {percent} is not above 0 and at most 100")
    known = flows.filter(pl.col("ideal_fct_ns").is_not_null())
    ordered, ended = pl.col("slowdown").sort(nulls_last=True), pl.col("slowdown").is_not_null()
    found = [
        pl.len().cast(pl.Int64).alias("flows"),
        ended.sum().cast(pl.Int64).alias("complete"),
        pl.when(ended.all()).then(pl.col("slowdown").mean()).alias("mean_slowdown"),
        *(
            ordered.get((pl.len() * percent / 100).ceil().cast(pl.Int64) - 1).alias(f"p{percent:g}_slowdown")
            for percent in at
        ),
    ]
    return known.group_by(by, maintain_order=True).agg(found) if by else known.select(found)


def by_size(
    flows: pl.DataFrame, *, by: Sequence[str] = (), at: Sequence[float] = (50, 99), edges: Sequence[int] = EDGES
) -> pl.DataFrame:
    """`summary` in bins of size: above ``over_bytes``, up to ``upto_bytes`` (null: of any size above).

    ``edges`` are sizes in bytes, in rising order. Bins without a flow have no row.
    """
    if list(edges) != sorted(set(edges)) or min(edges, default=1) < 1:
        raise ValueError(f"edges: {list(edges)} are not sizes in rising order")
    check_columns("flows", flows, ("bytes",))
    sized = flows.filter(pl.col("bytes").is_not_null())
    number = np.searchsorted(np.array(edges, dtype=np.int64), sized["bytes"].cast(pl.Int64).to_numpy(), side="left")
    binned = sized.with_columns(
        pl.Series("over_bytes", [0, *edges], dtype=pl.Int64)[number],
        pl.Series("upto_bytes", [*edges, None], dtype=pl.Int64)[number],
    )
    # Groups in the order of their first flows.
    order = sized.select(by).unique(maintain_order=True).with_row_index("order") if by else None
    found = summary(binned, by=[*by, "over_bytes", "upto_bytes"], at=at)
    if order is None:
        return found.sort("over_bytes")
    return found.join(order, on=by).sort("order", "over_bytes").drop("order")
