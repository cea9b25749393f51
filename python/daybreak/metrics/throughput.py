"""Throughput from byte bins.

What a bin counts depends on its scope: ``tap`` is the bytes on the wire with framing, as a tap on a link sees them,
``arrived`` the payload as it reaches the receiver, ``delivered`` the payload handed to the receiving application in
order, ``link`` everything on a link. Bins that the engine left out are empty and count as zero.
"""

from __future__ import annotations

import polars as pl

from daybreak.metrics.errors import check_columns, positive
from daybreak.metrics.series import on_time_axis

OF_FLOWS = ("arrived", "delivered", "tap")
"""The scopes that count flows."""


def series(
    bins: pl.DataFrame,
    flows: pl.DataFrame,
    *,
    bin_ns: int,
    end_ns: int,
    by: str = "group",
    scope: str = "tap",
) -> pl.DataFrame:
    """Throughput over time: columns ``by``, ``time_s`` (start of the bin) and ``gbps``.

    ``bin_ns`` is the width of the output bins, a multiple of the recorded width; every bin from 0 to
    ``end_ns`` has a row for every value of ``by`` (a column of ``flows``: ``group``, ``flow_name`` ...).
    """
    positive("bin_ns", bin_ns)
    positive("end_ns", end_ns)
    named = of_flows(bins, flows, by=by, scope=scope)
    summed = (
        named.with_columns((pl.col("start_ns") // bin_ns).cast(pl.Int64).alias("slot"))
        .group_by(by, "slot")
        .agg(pl.col("bytes").sum().cast(pl.Int64))
    )
    value = (pl.col("bytes").fill_null(0) * 8 / bin_ns).alias("gbps")
    return on_time_axis(summed, flows, by=by, bin_ns=bin_ns, end_ns=end_ns, value=value)


def mean_between(
    bins: pl.DataFrame,
    flows: pl.DataFrame,
    *,
    from_ns: int,
    to_ns: int,
    by: str = "group",
    scope: str = "tap",
) -> pl.DataFrame:
    """Mean throughput of the bins that start in ``[from_ns, to_ns)``: columns ``by`` and ``gbps``."""
    positive("to_ns - from_ns", to_ns - from_ns)
    named = of_flows(bins, flows, by=by, scope=scope)
    summed = (
        named.filter((pl.col("start_ns") >= from_ns) & (pl.col("start_ns") < to_ns))
        .group_by(by)
        .agg(pl.col("bytes").sum().cast(pl.Int64))
    )
    names = flows.select(by).unique(maintain_order=True)
    return names.join(summed, on=by, how="left", maintain_order="left").select(
        by, (pl.col("bytes").fill_null(0) * 8 / (to_ns - from_ns)).alias("gbps")
    )


def time_to_reach(table: pl.DataFrame, *, gbps: float) -> float | None:
    """End of the first bin of a ``series`` with at least ``gbps``, in seconds; ``None`` if there is none."""
    check_columns("series", table, ("time_s", "gbps"))
    times = table["time_s"].unique().sort()
    if len(times) < 2:
        return None
    width = float(times[1] - times[0])
    reached = table.filter(pl.col("gbps") >= gbps).select(pl.col("time_s").min().cast(pl.Float64)).item()
    return None if reached is None else float(reached) + width


def ramps_s(table: pl.DataFrame, flows: pl.DataFrame, *, gbps: float, bin_ns: int) -> list[float | None]:
    """Seconds from the start of a run's first flow to the end of the first bin with at least ``gbps``.

    ``table`` and ``flows`` are of several runs. One number per run, in order; None for a run without such a bin.
    """
    check_columns("series", table, ("run", "time_s", "gbps"))
    check_columns("flows", flows, ("run", "start_ns"))
    starts = flows.group_by("run").agg((pl.col("start_ns").min() / 1e9).alias("start_s"))
    reached = (
        table.filter(pl.col("gbps") >= gbps).group_by("run").agg((pl.col("time_s").min() + bin_ns / 1e9).alias("s"))
    )
    joined = starts.join(reached, on="run", how="left").sort("run")
    return joined.select(pl.col("s") - pl.col("start_s")).to_series().to_list()


def of_flows(bins: pl.DataFrame, flows: pl.DataFrame, *, by: str, scope: str) -> pl.DataFrame:
    """The bins of one ``scope``, with the column ``by`` of each bin's flow."""
    check_columns("bins", bins, ("scope", "id", "start_ns", "bytes"))
    check_columns("flows", flows, ("flow", by))
    if scope not in OF_FLOWS:
        raise ValueError(f"scope: {scope!r} does not count flows; expected one of {', '.join(OF_FLOWS)}")
    names = flows.select(pl.col("flow").cast(pl.Int64), by)
    return (
        bins.filter(pl.col("scope") == scope)
        .with_columns(
            pl.col("id").cast(pl.Int64),
            pl.col("start_ns").cast(pl.Int64),
            pl.col("bytes").cast(pl.Int64),
        )
        .join(names, left_on="id", right_on="flow", how="inner", maintain_order="left")
    )
