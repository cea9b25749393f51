"""Fairness between flows or groups: Jain's index (Jain, Chiu, Hawe 1984) and shares."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import polars as pl

from daybreak.metrics.errors import check_columns


def jain(rates: Iterable[float]) -> float:
    """Jain's index: (sum x)^2 / (n * sum x^2), from 1/n (one has all) to 1 (all have the same)."""
    values = [float(rate) for rate in rates]
    if any(value < 0 for value in values):
        raise ValueError(f"rates: {min(values)} is negative")
    squares = math.fsum(value * value for value in values)
    if squares == 0:
        return math.nan
    return math.fsum(values) ** 2 / (len(values) * squares)


def by_run(rates: pl.DataFrame, *, by: Sequence[str] = (), value: str = "gbps") -> pl.DataFrame:
    """Jain's index of each run and group of ``by``: ``run``, ``by`` and ``jain``, null where all are 0."""
    check_columns("rates", rates, ("run", *by, value))
    squares = (pl.col(value) ** 2).sum()
    index = pl.when(squares > 0).then(pl.col(value).sum() ** 2 / (pl.len() * squares))
    return rates.group_by("run", *by, maintain_order=True).agg(index.alias("jain"))


def shares(rates: pl.DataFrame, *, value: str = "gbps") -> pl.DataFrame:
    """The table with ``share``: each row's part of the sum of ``value`` (of its run, if there is a ``run``)."""
    check_columns("rates", rates, (value,))
    total = pl.col(value).sum()
    if "run" in rates.columns:
        total = total.over("run")
    return rates.with_columns(pl.when(total > 0).then(pl.col(value) / total).alias("share"))
