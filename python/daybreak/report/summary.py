"""Summaries of flows and groups over runs, formatted with one unit for each quantity of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from daybreak.metrics import confidence, fairness, fct, measures, slowdown
from daybreak.metrics.units import RATES, TIMES, digits, in_one_unit, over, size, span, unit_of
from daybreak.runs import Run

_COLUMNS = (
    "flow_name", "group", "variant", "bytes", "delivered_bytes", "fct_s", "slowdown", "goodput_gbps", "retransmits",
    "rtos",
)  # fmt: skip
PERCENTILES = (50, 90, 99)
OF_SLOWDOWN = (50, 99)
_BY = ("group", "variant")


def flow_table(run: Run) -> pl.DataFrame:
    """Each flow's summary, with the run's ``seed``. A flow that did not end has no FCT; its goodput is averaged over
    its time in the run."""
    ended = pl.lit(run.manifest["totals"]["ended_ns"]).alias(fct.RUN_ENDED)
    flows = slowdown.table(fct.table(run.flows.with_columns(ended)))
    return flows.select(pl.lit(run.seed, dtype=pl.UInt64).alias("seed"), *_COLUMNS, "ideal_fct_ns")


def flow_rows(flows: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows of a `flow_table`, for machines."""
    return flows.select(_COLUMNS).to_dicts()


def group_rows(runs: Iterable[pl.DataFrame]) -> list[dict[str, Any]]:
    """Each group's summary over all runs, given the `flow_table` of each run.

    ``fct_s`` is the mean over the runs of each run's mean, with its 95 % confidence interval (``low_s``, ``high_s``;
    null with one run); null if a flow did not end. The percentiles are over all flows of all runs. ``jain`` is Jain's
    index of the goodputs of a run's flows, averaged over the runs.
    """
    flows = pl.concat(list(runs), how="vertical")
    completed = pl.col("fct_s").is_not_null()
    whole = flows.group_by(_BY, maintain_order=True).agg(
        pl.len().alias("flows"), completed.sum().alias("complete"),
        pl.col("bytes").is_not_null().sum().alias("limited"),
        pl.col("goodput_gbps").mean(), pl.col("retransmits").sum(),
        pl.when(pl.col("rtos").is_not_null().all()).then(pl.col("rtos").sum()),
    )  # fmt: skip
    of_run = flows.filter(pl.col("bytes").is_not_null()).group_by("seed", *_BY, maintain_order=True)
    means = of_run.agg(pl.when(completed.all()).then(pl.col("fct_s").mean()).alias("fct_s"))
    intervals = {row[:2]: confidence.of_all(row[2]) for row in means.group_by(_BY).agg("fct_s").iter_rows()}
    parts = fct.percentiles(flows, by=_BY, at=PERCENTILES)
    slow = slowdown.summary(flows, by=_BY, at=OF_SLOWDOWN).drop("flows", "complete")
    fair = fairness.by_run(flows.rename({"seed": "run"}), by=_BY, value="goodput_gbps")
    fair = fair.group_by(_BY, maintain_order=True).agg(pl.col("jain").mean())
    rows = whole
    for more in (parts, slow, fair):
        rows = rows.join(more, on=_BY, how="left", maintain_order="left")
    found = rows.to_dicts()
    for row in found:
        over_runs = intervals.get((row["group"], row["variant"]))
        known = over_runs is not None and over_runs.runs > 1
        row["fct_s"] = over_runs.mean if over_runs else None
        row["low_s"], row["high_s"] = (over_runs.low, over_runs.high) if over_runs and known else (None, None)
    return found


def size_rows(runs: Iterable[pl.DataFrame]) -> list[dict[str, Any]]:
    """Slowdowns by size, over the flows of all runs: see `slowdown.by_size`."""
    return slowdown.by_size(pl.concat(list(runs), how="vertical"), by=_BY, at=OF_SLOWDOWN).to_dicts()


def counted(number: int | None) -> str:
    """A count; unknown for programs' connections in runs of earlier versions."""
    return "-" if number is None else str(number)


def flow_columns(flows: pl.DataFrame, *, is_one_run: bool) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Headings and cells of a table with one row per flow. Columns that repeat the name of each flow are left out."""
    times, time_unit = in_one_unit(flows["fct_s"], TIMES)
    rates, rate_unit = in_one_unit(flows["goodput_gbps"], RATES)
    columns: dict[str, list[str]] = {} if is_one_run else {"seed": [str(seed) for seed in flows["seed"]]}
    columns["flow"] = flows["flow_name"].to_list()
    if columns["flow"] != flows["group"].to_list():
        columns["group"] = flows["group"].to_list()
    columns |= {
        "variant": flows["variant"].to_list(), "size": [size(one) for one in flows["bytes"]],
        f"FCT [{time_unit}]": times, "slowdown": [digits(one, 3) for one in flows["slowdown"]],
        rate_unit: rates, "resent": [str(one) for one in flows["retransmits"]],
        "RTOs": [counted(one) for one in flows["rtos"]],
    }  # fmt: skip
    return with_values(columns)


def group_columns(rows: Sequence[dict[str, Any]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Headings and cells of a table of `group_rows`."""
    fcts = [row[name] for row in rows for name in ("fct_s", *(f"p{p}_s" for p in PERCENTILES))]
    scale, time_unit = unit_of(fcts, TIMES)
    rates, rate_unit = in_one_unit([row["goodput_gbps"] for row in rows], RATES)
    columns = {
        "group": [row["group"] for row in rows],
        "variant": [row["variant"] for row in rows],
        "flows": [str(row["flows"]) for row in rows],
        "complete": [f"{row['complete']} of {row['limited']}" if row["limited"] else "-" for row in rows],
        f"FCT [{time_unit}]": [_mean(row, scale) for row in rows],
        **{f"p{p} [{time_unit}]": [digits(over(row[f"p{p}_s"], scale)) for row in rows] for p in PERCENTILES},
        **{f"slowdown p{p}": [digits(row[f"p{p}_slowdown"], 3) for row in rows] for p in OF_SLOWDOWN},
        rate_unit: rates,
        "Jain": [digits(row["jain"], 3) for row in rows],
        "resent": [str(row["retransmits"]) for row in rows],
        "RTOs": [counted(row["rtos"]) for row in rows],
    }
    return with_values(columns)


def with_values(columns: dict[str, list[str]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Headings and cells; a column whose cells have no value is left out, such as the FCT of unlimited flows."""
    known = {name: cells for name, cells in columns.items() if not cells or any(cell != "-" for cell in cells)}
    return tuple(known), list(zip(*known.values(), strict=True))


def few_flows(rows: Sequence[dict[str, Any]]) -> str | None:
    """A sentence about the percentiles of `group_rows` that are only the greatest value; None if there are none."""
    return measures.few_flows([row["limited"] for row in rows], PERCENTILES)


def size_columns(rows: Sequence[dict[str, Any]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Headings and cells of a table of `size_rows`."""
    headings = ("group", "variant", "size", "flows", "complete", *(f"slowdown p{p}" for p in OF_SLOWDOWN), "mean")
    cells = [
        (
            row["group"], row["variant"], span(row["over_bytes"], row["upto_bytes"]), str(row["flows"]),
            str(row["complete"]), *(digits(row[f"p{p}_slowdown"], 3) for p in OF_SLOWDOWN),
            digits(row["mean_slowdown"], 3),
        )
        for row in rows
    ]  # fmt: skip
    return headings, cells


def _mean(row: dict[str, Any], scale: float) -> str:
    """The mean FCT with the half width of its interval."""
    mean = digits(over(row["fct_s"], scale))
    if row["low_s"] is None:
        return mean
    return f"{mean} ± {digits((row['high_s'] - row['low_s']) / 2 / scale, 2)}"
