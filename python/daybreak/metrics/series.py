"""The time axis that curves over time share."""

from __future__ import annotations

import polars as pl


def on_time_axis(
    summed: pl.DataFrame, flows: pl.DataFrame, *, by: str, bin_ns: int, end_ns: int, value: pl.Expr
) -> pl.DataFrame:
    """``summed`` (``by``, ``slot``, quantities) as curves: a row for every name of ``flows`` and every bin up to
    ``end_ns``, with the columns ``by``, ``time_s`` (start of the bin) and ``value``. Quantities are null in bins that
    ``summed`` lacks; ``value`` says what that means.
    """
    slots = pl.DataFrame({"slot": pl.Series(range(-(-end_ns // bin_ns)), dtype=pl.Int64)})
    names = flows.select(by).unique(maintain_order=True)
    return (
        names.join(slots, how="cross", maintain_order="left_right")
        .join(summed, on=[by, "slot"], how="left", maintain_order="left")
        .select(by, (pl.col("slot") * bin_ns / 1e9).alias("time_s"), value)
    )
