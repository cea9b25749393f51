"""Curves over time by flow or group, aggregated between given times.

``edges_ns`` are times in nanoseconds in rising order; slot i goes from edge i to the next one. Every function returns
a table with one row per name and slot: the name, ``slot``, ``time_s`` (the slot's start) and ``value``. Names are the
values of the column ``by`` of ``flows``, in their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from daybreak.metrics import throughput as binned
from daybreak.metrics.errors import check_columns, positive

Edges = np.ndarray[Any, np.dtype[np.int64]]
Values = np.ndarray[Any, np.dtype[np.float64]]


def throughput(
    bins: pl.DataFrame,
    flows: pl.DataFrame,
    edges_ns: Edges,
    *,
    bin_ns: int,
    end_ns: int,
    by: str = "group",
    scope: str = "arrived",
) -> pl.DataFrame:
    """Throughput in bit/s. Where an edge cuts a bin of width ``bin_ns``, its bytes are spread evenly over it; the last
    bin ends with the run, at ``end_ns``."""
    positive("bin_ns", bin_ns)
    counted = binned.of_flows(bins, flows, by=by, scope=scope).group_by(by, "start_ns").agg(pl.col("bytes").sum())
    named = {str(key[0]): table.sort("start_ns") for key, table in counted.group_by(by)}
    seconds = np.diff(edges_ns) / 1e9

    def rates(name: str) -> Values:
        if name not in named:
            return np.zeros(len(seconds))
        starts = named[name]["start_ns"].to_numpy()
        # An empty bin is left out, so each has its own start and end here.
        ends = np.maximum(np.minimum(starts + bin_ns, end_ns), starts + 1)
        corners = np.stack([starts, ends], axis=1).ravel()
        total = np.cumsum(named[name]["bytes"].to_numpy(), dtype=np.float64)
        reached = np.stack([np.append(0, total[:-1]), total], axis=1).ravel()
        rate: Values = np.diff(np.interp(edges_ns, corners, reached)) * 8 / seconds
        return rate

    return _table({name: rates(name) for name in _names(flows, by)}, by, edges_ns)


def sampled(
    window: pl.DataFrame, flows: pl.DataFrame, edges_ns: Edges, column: str, *, by: str = "group", mean: bool = False
) -> pl.DataFrame:
    """A ``column`` of table ``window`` at the end of each slot: the last sample until then.

    The flows of a group are summed, or averaged with ``mean``. The value is null before a flow's first sample, and
    from the slot after that of its last one on.
    """
    held = _held(window, flows, edges_ns, column, by=by)
    of_group = pl.col(column).mean() if mean else pl.col(column).sum()
    merged = held.group_by(by, "slot").agg(
        pl.when(pl.col(column).is_not_null().any()).then(of_group).alias("value").cast(pl.Float64)
    )
    return _on_all_slots(merged, flows, edges_ns, by)


def retransmissions(window: pl.DataFrame, flows: pl.DataFrame, edges_ns: Edges, *, by: str = "group") -> pl.DataFrame:
    """Data segments sent again within each slot, as far as the samples of table ``window`` show them."""
    check_columns("window", window, ("flow", "time_ns", "retransmits"))
    counted = {name: np.zeros(len(edges_ns) - 1) for name in _names(flows, by)}
    names = dict(flows.select("flow", by).iter_rows())
    for (flow,), samples in window.sort("time_ns").group_by("flow"):
        times, counts = (samples[name].cast(pl.Int64).to_numpy() for name in ("time_ns", "retransmits"))
        if flow not in names:
            continue
        # A sample on an edge belongs to the slot before it.
        until = np.searchsorted(times, edges_ns, side="right")
        counted[names[flow]] += np.diff(np.append(0, counts)[until])
    return _table(counted, by, edges_ns)


def losses(drops: pl.DataFrame, flows: pl.DataFrame, edges_ns: Edges, *, by: str = "group") -> pl.DataFrame:
    """Packets lost within each slot, data and ACKs."""
    check_columns("drops", drops, ("time_ns", "flow"))
    check_columns("flows", flows, ("flow", by))
    named = drops.select("time_ns", pl.col("flow").cast(pl.Int64)).join(
        flows.select(pl.col("flow").cast(pl.Int64), by), on="flow"
    )
    times = {str(key[0]): table["time_ns"].to_numpy() for key, table in named.group_by(by)}
    counted = {
        name: np.diff(np.searchsorted(np.sort(times.get(name, np.zeros(0))), edges_ns)).astype(np.float64)
        for name in _names(flows, by)
    }
    return _table(counted, by, edges_ns)


def queues(queues: pl.DataFrame, edges_ns: Edges, *, interval_ns: int) -> pl.DataFrame:
    """Largest occupancy in packets of each queue (``queue_name``), over the sampling intervals that the slot overlaps.

    ``interval_ns`` is the length of a sampling interval. Null in a slot without samples.
    """
    check_columns("queues", queues, ("queue_name", "time_ns", "max_packets"))
    positive("interval_ns", interval_ns)
    found: dict[str, Values] = {}
    for (name,), samples in queues.sort("time_ns").group_by("queue_name", maintain_order=True):
        ends, most = (samples[column].cast(pl.Int64).to_numpy() for column in ("time_ns", "max_packets"))
        first = np.searchsorted(ends, edges_ns[:-1], side="right")
        last = np.searchsorted(ends - interval_ns, edges_ns[1:], side="left")
        found[str(name)] = np.array(
            [most[a:b].max() if a < b else np.nan for a, b in zip(first, last, strict=True)], dtype=np.float64
        )
    return _table(found, "queue_name", edges_ns)


def spread(table: pl.DataFrame) -> pl.DataFrame:
    """Aggregates the rows of each time: ``time_s``, ``mean``, and ``low`` and ``high``, the 10 % and 90 % quantiles
    (null for a single value)."""
    several = pl.col("value").count() > 1
    low, high = (
        pl.when(several).then(pl.col("value").quantile(part, interpolation="linear")).alias(name)
        for part, name in ((0.1, "low"), (0.9, "high"))
    )
    return table.group_by("time_s").agg(pl.col("value").mean().alias("mean"), low, high).sort("time_s")


def fold(table: pl.DataFrame, by: str, *, slots: int) -> pl.DataFrame:
    """Folds a table over successive weeks of ``slots`` slots each into one week.

    It gets the column ``week``, and ``slot`` and ``time_s`` count from the start of the week.
    """
    check_columns("table", table, (by, "slot", "time_s", "value"))
    if not table.height:
        return table.with_columns(pl.lit(0).alias("week"))
    times = table["time_s"].unique().sort()
    offsets = pl.DataFrame({"at": pl.Series(range(slots), dtype=pl.Int64), "time_s": times[:slots] - times[0]})
    return (
        table.drop("time_s")
        .with_columns((pl.col("slot") // slots).alias("week"), (pl.col("slot") % slots).alias("at"))
        .join(offsets, on="at", how="left", maintain_order="left")
        .drop("slot")
        .rename({"at": "slot"})
    )


def _held(window: pl.DataFrame, flows: pl.DataFrame, edges_ns: Edges, column: str, *, by: str) -> pl.DataFrame:
    check_columns("window", window, ("flow", "time_ns", column))
    check_columns("flows", flows, ("flow", by))
    samples = window.select(
        pl.col("flow").cast(pl.Int64), pl.col("time_ns").cast(pl.Int64), pl.col(column).cast(pl.Float64)
    ).sort("time_ns")
    grid = pl.DataFrame({"slot": np.arange(len(edges_ns) - 1), "start_ns": edges_ns[:-1], "end_ns": edges_ns[1:]})
    last = samples.group_by("flow").agg(pl.col("time_ns").max().alias("last_ns"))
    return (
        flows.select(pl.col("flow").cast(pl.Int64), by)
        .join(grid, how="cross")
        .join(last, on="flow", how="inner")
        .filter(pl.col("start_ns") <= pl.col("last_ns"))
        .sort("end_ns")
        .join_asof(samples, left_on="end_ns", right_on="time_ns", by="flow", check_sortedness=False)
    )


def _names(flows: pl.DataFrame, by: str) -> list[str]:
    check_columns("flows", flows, ("flow", by))
    return flows[by].unique(maintain_order=True).to_list()


def _on_all_slots(found: pl.DataFrame, flows: pl.DataFrame, edges_ns: Edges, by: str) -> pl.DataFrame:
    empty = _table({name: np.full(len(edges_ns) - 1, np.nan) for name in _names(flows, by)}, by, edges_ns)
    return empty.drop("value").join(found, on=[by, "slot"], how="left", maintain_order="left")


def _table(values: Mapping[str, Values], by: str, edges_ns: Edges) -> pl.DataFrame:
    """Values by name and slot; NaN is null."""
    slots = len(edges_ns) - 1
    return pl.DataFrame(
        {
            by: pl.Series([name for name in values for _ in range(slots)], dtype=pl.String),
            "slot": pl.Series(np.tile(np.arange(slots), len(values)), dtype=pl.Int64),
            "time_s": pl.Series(np.tile(edges_ns[:-1] / 1e9, len(values)), dtype=pl.Float64),
            "value": pl.Series(
                np.concatenate([np.asarray(one, dtype=np.float64) for one in values.values()]) if values else [],
                dtype=pl.Float64,
            ).fill_nan(None),
        }
    )
