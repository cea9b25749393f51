"""Sums over the flows of a group, and ratios of them."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from daybreak.metrics.errors import check_columns


def sums(flows: pl.DataFrame, counts: Sequence[str], *, by: str) -> pl.DataFrame:
    """The sums of the columns `counts` of each group (and run, if there is a ``run``)."""
    check_columns("flows", flows, (by, *counts))
    keys = [key for key in ("run", by) if key in flows.columns]
    return flows.group_by(keys, maintain_order=True).agg(pl.col(name).cast(pl.Int64).sum() for name in counts)


def ratio(part: str, whole: str) -> pl.Expr:
    """Column ``part`` over column ``whole``, 0 where ``whole`` is 0."""
    return pl.when(pl.col(whole) > 0).then(pl.col(part) / pl.col(whole)).otherwise(0.0)
