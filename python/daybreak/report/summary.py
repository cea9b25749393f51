"""Each flow's and each group's numbers over runs, and times and rates as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from daybreak.metrics import confidence, fct
from daybreak.runs import Run

_COLUMNS = (
    "flow_name", "group", "variant", "bytes", "delivered_bytes", "fct_s", "goodput_gbps", "retransmits", "rtos",
)  # fmt: skip
PERCENTILES = (50, 90, 99)
_RATES = ((1e3, "Tbit/s"), (1.0, "Gbit/s"), (1e-3, "Mbit/s"), (1e-6, "kbit/s"), (1e-9, "bit/s"))
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def flow_rows(run: Run) -> list[dict[str, Any]]:
    """Each flow's numbers. A flow that did not end has no FCT; its goodput is that of its time in the run."""
    lasted_ns = (pl.lit(run.manifest["totals"]["ended_ns"]) - pl.col("start_ns").cast(pl.Int64)).clip(1)
    so_far = pl.col("delivered_bytes") * 8 / lasted_ns
    flows = fct.table(run.flows).with_columns(pl.coalesce("goodput_gbps", so_far).alias("goodput_gbps"))
    return flows.select(_COLUMNS).to_dicts()


def group_rows(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each group's numbers over all runs.

    ``fct_s`` is the mean over the runs of each run's mean, with its 95 % confidence interval (``low_s``, ``high_s``;
    null of one run); null if a flow did not end. The percentiles are those of all flows of all runs.
    """
    flows = _table(runs)
    by = ("group", "variant")
    completed = pl.col("fct_s").is_not_null()
    whole = flows.group_by(by, maintain_order=True).agg(
        pl.len().alias("flows"), completed.sum().alias("complete"),
        pl.col("bytes").is_not_null().sum().alias("limited"),
        pl.col("goodput_gbps").mean(), pl.col("retransmits").sum(), pl.col("rtos").sum(),
    )  # fmt: skip
    of_run = flows.filter(pl.col("bytes").is_not_null()).group_by("seed", *by, maintain_order=True)
    means = of_run.agg(pl.when(completed.all()).then(pl.col("fct_s").mean()).alias("fct_s"))
    intervals = {row[:2]: confidence.of_all(row[2]) for row in means.group_by(by).agg("fct_s").iter_rows()}
    parts = fct.percentiles(flows, by=by, at=PERCENTILES)
    rows = whole.join(parts, on=by, how="left", maintain_order="left").to_dicts()
    for row in rows:
        found = intervals.get((row["group"], row["variant"]))
        known = found is not None and found.runs > 1
        row["fct_s"] = found.mean if found else None
        row["low_s"], row["high_s"] = (found.low, found.high) if found and known else (None, None)
    return rows


def rate(gbps: float) -> str:
    """A rate with the unit that reads best."""
    return _scaled(gbps, _RATES)


def time(seconds: float | None) -> str:
    """A time with the unit that reads best."""
    return "-" if seconds is None else _scaled(seconds, _TIMES)


def _table(runs: Sequence[dict[str, Any]]) -> pl.DataFrame:
    schema = {
        "seed": pl.UInt64, "flow_name": pl.String, "group": pl.String, "variant": pl.String, "bytes": pl.UInt64,
        "delivered_bytes": pl.UInt64, "fct_s": pl.Float64, "goodput_gbps": pl.Float64, "retransmits": pl.UInt64,
        "rtos": pl.UInt64,
    }  # fmt: skip
    return pl.DataFrame([{"seed": run["seed"]} | flow for run in runs for flow in run["flows"]], schema=schema)


def _scaled(value: float, units: Sequence[tuple[float, str]]) -> str:
    size, unit = next(((size, unit) for size, unit in units if abs(value) >= size), units[-1])
    return f"{value / size:.4g} {unit}" if value else f"0 {unit}"
