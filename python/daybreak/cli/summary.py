"""What `daybreak run` shows of the flows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from daybreak.metrics import confidence, fct
from daybreak.runs import Run
from daybreak.scenario import Size

from .terminal import print_table, say

# Of so many flows in one run each has its row; else each group has one.
_SHOWN = 40
_COLUMNS = (
    "flow_name", "group", "variant", "bytes", "delivered_bytes", "fct_s", "goodput_gbps", "retransmits", "rtos",
)  # fmt: skip
_PERCENTILES = (50, 90, 99)
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
    parts = fct.percentiles(flows, by=by, at=_PERCENTILES)
    rows = whole.join(parts, on=by, how="left", maintain_order="left").to_dicts()
    for row in rows:
        found = intervals.get((row["group"], row["variant"]))
        known = found is not None and found.runs > 1
        row["fct_s"] = found.mean if found else None
        row["low_s"], row["high_s"] = (found.low, found.high) if found and known else (None, None)
    return rows


def print_runs(runs: Sequence[dict[str, Any]]) -> None:
    """A row a flow of one run, or a row a group of many flows or runs; then where the records are."""
    if len(runs) == 1 and len(runs[0]["flows"]) <= _SHOWN:
        _print_flows(runs[0])
    else:
        _print_groups(runs)
    if len(runs) > 1 and all(_shown_of(run) == _shown_of(runs[0]) for run in runs):
        say(f"all {len(runs)} runs are the same: nothing in this scenario is random (starts, sizes, loss and such)")
    places = [run["out"] for run in runs if run["out"]]
    if places:
        say(f"records: {places[0]}" + (f" ... {places[-1]}" if len(places) > 1 else ""))


def rate(gbps: float) -> str:
    """A rate with the unit that reads best."""
    return _scaled(gbps, _RATES)


def time(seconds: float | None) -> str:
    """A time with the unit that reads best."""
    return "-" if seconds is None else _scaled(seconds, _TIMES)


def _print_flows(run: dict[str, Any]) -> None:
    columns = ("seed", "flow", "group", "variant", "size", "FCT", "goodput", "retransmits", "timeouts")
    texts = [
        (
            str(run["seed"]),
            flow["flow_name"],
            flow["group"],
            flow["variant"],
            str(Size(flow["bytes"])) if flow["bytes"] else "unlimited",
            time(flow["fct_s"]),
            rate(flow["goodput_gbps"]),
            str(flow["retransmits"]),
            str(flow["rtos"]),
        )
        for flow in run["flows"]
    ]
    print_table(columns, texts, numeric=columns[4:])


def _print_groups(runs: Sequence[dict[str, Any]]) -> None:
    columns = (
        "group", "variant", "flows", "complete", "mean FCT", "95 % interval", *(f"p{p}" for p in _PERCENTILES),
        "goodput", "retransmits", "timeouts",
    )  # fmt: skip
    texts = [
        (
            row["group"],
            row["variant"],
            str(row["flows"]),
            f"{row['complete']} of {row['limited']}" if row["limited"] else "-",
            time(row["fct_s"]),
            f"{time(row['low_s'])} to {time(row['high_s'])}" if row["low_s"] is not None else "-",
            *(time(row[f"p{p}_s"]) for p in _PERCENTILES),
            rate(row["goodput_gbps"]),
            str(row["retransmits"]),
            str(row["rtos"]),
        )
        for row in group_rows(runs)
    ]
    say(f"{len(runs)} run{'s' if len(runs) > 1 else ''}, all flows of a group together:")
    print_table(columns, texts, numeric=columns[2:])


def _table(runs: Sequence[dict[str, Any]]) -> pl.DataFrame:
    schema = {
        "seed": pl.UInt64, "flow_name": pl.String, "group": pl.String, "variant": pl.String, "bytes": pl.UInt64,
        "delivered_bytes": pl.UInt64, "fct_s": pl.Float64, "goodput_gbps": pl.Float64, "retransmits": pl.UInt64,
        "rtos": pl.UInt64,
    }  # fmt: skip
    return pl.DataFrame([{"seed": run["seed"]} | flow for run in runs for flow in run["flows"]], schema=schema)


def _shown_of(run: dict[str, Any]) -> Any:
    return run["totals"], run["flows"]


def _scaled(value: float, units: Sequence[tuple[float, str]]) -> str:
    size, unit = next(((size, unit) for size, unit in units if abs(value) >= size), units[-1])
    return f"{value / size:.4g} {unit}" if value else f"0 {unit}"
