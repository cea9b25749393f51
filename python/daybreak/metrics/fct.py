"""Flow completion times.

The FCT of a flow runs from the opening of its connection to the acknowledgement of its last payload
byte at the sender. A flow that did not end within the run has no FCT (null).
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from daybreak.metrics.errors import check_columns

RUN_ENDED = "run_ended_ns"
"""The column with the time at which a flow's run ended, which `table` may be given."""


def table(flows: pl.DataFrame) -> pl.DataFrame:
    """The flows with ``fct_s``, ``end_s`` and ``goodput_gbps`` (size over FCT); null where a flow did not end.

    With a column ``run_ended_ns`` the goodput of a flow that did not end is what was delivered over its time there.
    """
    check_columns("flows", flows, ("bytes", "start_ns", "end_ns", "fct_ns"))
    goodput = pl.col("bytes") * 8 / pl.col("fct_ns")
    if RUN_ENDED in flows.columns:
        lasted_ns = (pl.col(RUN_ENDED).cast(pl.Int64) - pl.col("start_ns").cast(pl.Int64)).clip(1)
        goodput = pl.coalesce(goodput, pl.col("delivered_bytes") * 8 / lasted_ns)
    return flows.with_columns(
        (pl.col("fct_ns") / 1e9).alias("fct_s"),
        (pl.col("end_ns") / 1e9).alias("end_s"),
        goodput.alias("goodput_gbps"),
    )


def by_run(flows: pl.DataFrame, *, by: str = "group") -> pl.DataFrame:
    """Mean FCT of each group in each run: columns ``run``, ``by`` and ``fct_s``.

    Null for a group with a flow that did not end, since its mean would be too low.
    """
    check_columns("flows", flows, ("run", by))
    return (
        table(flows)
        .group_by("run", by, maintain_order=True)
        .agg(pl.when(pl.col("fct_s").is_null().any()).then(None).otherwise(pl.col("fct_s").mean()).alias("fct_s"))
    )


def percentiles(flows: pl.DataFrame, *, by: Sequence[str], at: Sequence[float]) -> pl.DataFrame:
    """Percentiles of the FCT over all flows of limited size of each group of ``by``: ``by``, then ``p50_s`` and so on.

    The p-th percentile is the smallest FCT that at least p percent of the flows do not exceed. A flow that did not end
    counts as longer than every other one: a percentile that falls on such a flow is null. ``flows`` is the result of
    `table`.
    """
    check_columns("flows", flows, (*by, "bytes", "fct_s"))
    for percent in at:
        if not 0 < percent <= 100:
            raise ValueError(f"at: percentile {percent} is not above 0 and at most 100")
    limited = flows.filter(pl.col("bytes").is_not_null())
    ordered = pl.col("fct_s").sort(nulls_last=True)
    return limited.group_by(by, maintain_order=True).agg(
        ordered.get((pl.len() * percent / 100).ceil().cast(pl.Int64) - 1).alias(f"p{percent:g}_s") for percent in at
    )


def ended_by(flows: pl.DataFrame, *, part: float) -> float | None:
    """The time in seconds by which the share ``part`` of the runs has ended, each with its last flow; None if they have
    not.

    ``flows`` is the result of `table` for several runs.
    """
    check_columns("flows", flows, ("run", "end_s"))
    ends = flows.group_by("run").agg(pl.col("end_s").max())
    found = ends.select(pl.col("end_s").quantile(part, "higher")).item()
    return None if found is None else float(found)


def prolongation(flows: pl.DataFrame, *, migrated: str = "migrated", main: str = "main") -> pl.DataFrame:
    """FCT of the migrated group minus that of the main group in each run: ``run``, ``prolongation_s``."""
    means = by_run(flows)
    groups = set(means["group"].to_list())
    for name in (migrated, main):
        if name not in groups:
            raise ValueError(f"group: {name!r} is not in the flows (there are: {', '.join(sorted(groups))})")
    left = means.filter(pl.col("group") == migrated).select("run", pl.col("fct_s").alias("migrated_s"))
    right = means.filter(pl.col("group") == main).select("run", pl.col("fct_s").alias("main_s"))
    return left.join(right, on="run", maintain_order="left").select(
        "run", (pl.col("migrated_s") - pl.col("main_s")).alias("prolongation_s")
    )


def group_throughput(flows: pl.DataFrame, *, by: str = "group") -> pl.DataFrame:
    """Three readings of "average throughput" of a group in each run, in Gb/s.

    ``mean_goodput``: size over FCT of each flow, averaged over the flows (what one flow sees).
    ``pooled_goodput``: all bytes over the sum of the FCTs (the mean goodput weighted by time).
    ``group_goodput``: all bytes over the time from the first start to the last end (what the group sees).
    """
    check_columns("flows", flows, ("run", by))
    ended = table(flows)
    return (
        ended.group_by("run", by, maintain_order=True)
        .agg(
            pl.col("goodput_gbps").mean().alias("mean_goodput"),
            (pl.col("bytes").sum() * 8 / pl.col("fct_s").sum() / 1e9).alias("pooled_goodput"),
            (pl.col("bytes").sum() * 8 / (pl.col("end_s").max() - pl.col("start_ns").min() / 1e9) / 1e9).alias(
                "group_goodput"
            ),
            pl.col("fct_s").is_null().any().alias("unfinished"),
        )
        .with_columns(
            pl.when(pl.col("unfinished")).then(None).otherwise(pl.col(name)).alias(name)
            for name in ("mean_goodput", "pooled_goodput", "group_goodput")
        )
        .drop("unfinished")
    )
