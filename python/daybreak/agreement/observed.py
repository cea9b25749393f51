"""What is stored of a run: its flows, and three curves in bins of one width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from daybreak.runs import Run
from daybreak.sweeps import Reduction, Tables

FLOW_COLUMNS = (
    "flow_name", "group", "variant", "bytes", "start_ns", "end_ns", "fct_ns", "segments", "retransmits", "rtos",
)  # fmt: skip
CURVES = ("delivered", "in_flight", "queue")
"""Bytes delivered in a bin by flow; bytes in flight at a sample by flow; packets waiting at a sample by queue."""
SCHEMA = {"curve": pl.String, "of": pl.String, "slot": pl.Int64, "value": pl.Float64}


@dataclass(frozen=True)
class Observation:
    """One run: ``flows`` has `FLOW_COLUMNS`, ``curves`` has ``curve, of, slot, value``; empty bins are left out."""

    flows: pl.DataFrame
    curves: pl.DataFrame


def of_run(run: Run) -> Observation:
    """Reduces a run to what is compared, in bins of the width that its scenario records."""
    bins = run.scenario.records.bin_width
    assert bins is not None
    bin_ns = int(bins) // 1000
    slot = (pl.col("time_ns").cast(pl.Int64) // bin_ns).alias("slot")
    delivered = run.bins.filter(pl.col("scope") == "delivered").select(
        of=pl.col("name"), slot=pl.col("start_ns").cast(pl.Int64) // bin_ns, value=pl.col("bytes")
    )
    in_flight = run.window.select("flow_name", slot, value=pl.col("bytes_in_flight"))
    queue = run.queues.select("queue_name", slot, value=pl.col("packets"))
    curves = [
        delivered.group_by("of", "slot", maintain_order=True).agg(pl.col("value").sum()),
        _last(in_flight, "flow_name"),
        _last(queue, "queue_name"),
    ]
    return Observation(
        run.flows.select(FLOW_COLUMNS),
        pl.concat(
            table.select(
                pl.lit(name).alias("curve"), "of", "slot", pl.col("value").cast(pl.Float64)
            ).cast(SCHEMA)  # type: ignore[arg-type]
            for name, table in zip(CURVES, curves, strict=True)
        ),
    )  # fmt: skip


def _tables(run: Run) -> Tables:
    observed = of_run(run)
    return {"flows": observed.flows, "curves": observed.curves}


REDUCTION = Reduction("agreement", 2, _tables)
"""The reduction of each run."""


def grouped(runs: Sequence[Observation], curve: str) -> dict[str, list[dict[int, float]]]:
    """A curve of each run as slot -> value, summed by the flows' group, or over all queues."""
    found: dict[str, list[dict[int, float]]] = {}
    for number, run in enumerate(runs):
        table = run.curves.filter(pl.col("curve") == curve)
        if curve == "queue":
            named = table.with_columns(pl.lit("").alias("group"))
        else:
            named = table.join(run.flows.select("flow_name", "group"), left_on="of", right_on="flow_name")
        summed = named.group_by("group", "slot").agg(pl.col("value").sum()).sort("group", "slot")
        for group, slot, value in summed.iter_rows():
            found.setdefault(group, [{} for _ in runs])[number][slot] = value
    return found


def _last(samples: pl.DataFrame, name: str) -> pl.DataFrame:
    return samples.group_by(pl.col(name).alias("of"), "slot", maintain_order=True).agg(pl.col("value").last())
