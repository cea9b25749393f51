"""Link utilisation: bytes carried, with framing, relative to the rate."""

from __future__ import annotations

import polars as pl

from daybreak.metrics.errors import check_columns, positive


def of_links(bins: pl.DataFrame, *, rate_bps: int, from_ns: int, to_ns: int) -> pl.DataFrame:
    """Utilisation of each binned link over ``[from_ns, to_ns)``: columns ``link`` and ``utilisation`` (0 to 1).

    All links are assumed to have the rate ``rate_bps``; bins of scope ``link`` are used. A bin counts by its start, so
    the ends of the interval should be edges of bins.
    """
    check_columns("bins", bins, ("scope", "id", "start_ns", "bytes"))
    positive("rate_bps", rate_bps)
    positive("to_ns - from_ns", to_ns - from_ns)
    capacity_bytes = rate_bps * (to_ns - from_ns) / 8e9
    links = bins.filter(pl.col("scope") == "link")
    within = (pl.col("start_ns") >= from_ns) & (pl.col("start_ns") < to_ns)
    return (
        links.group_by("id")
        .agg((pl.when(within).then(pl.col("bytes")).otherwise(0).sum() / capacity_bytes).alias("utilisation"))
        .sort("id")
        .rename({"id": "link"})
    )


def over_run(links: pl.DataFrame, capacity: pl.DataFrame) -> pl.DataFrame:
    """Utilisation of each link over a whole run: ``link_name``, ``open_share`` and ``utilisation``, in their order.

    ``links`` is the table of a run, ``capacity`` has ``link``, ``open_share`` (the part of the run in which the link
    had a queue to serve, below 1 for a circuit) and ``capacity_bytes``, what it could have carried in that time. The
    utilisation of a link that was never open is null. A packet that was being sent when the run ended, or a gate
    closed, counts in full.
    """
    check_columns("links", links, ("link", "link_name", "bytes"))
    check_columns("capacity", capacity, ("link", "open_share", "capacity_bytes"))
    both = links.join(capacity, on="link", how="left", maintain_order="left")
    used = pl.when(pl.col("capacity_bytes") > 0).then(pl.col("bytes") / pl.col("capacity_bytes"))
    return both.select("link_name", "open_share", used.alias("utilisation"))


def over_time(bins: pl.DataFrame, *, rate_bps: int, bin_ns: int) -> pl.DataFrame:
    """Utilisation of each binned link over time: ``link``, ``time_s``, ``utilisation``; empty bins are left out."""
    check_columns("bins", bins, ("scope", "id", "start_ns", "bytes"))
    positive("rate_bps", rate_bps)
    positive("bin_ns", bin_ns)
    return (
        bins.filter(pl.col("scope") == "link")
        .with_columns((pl.col("start_ns") // bin_ns).alias("slot"))
        .group_by("id", "slot")
        .agg(pl.col("bytes").sum())
        .sort("id", "slot")
        .select(
            pl.col("id").alias("link"),
            (pl.col("slot") * bin_ns / 1e9).alias("time_s"),
            (pl.col("bytes") * 8e9 / (rate_bps * bin_ns)).alias("utilisation"),
        )
    )
