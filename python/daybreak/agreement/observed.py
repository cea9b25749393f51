"""What is kept of a run: its flows, and three curves in bins of one width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from daybreak.metrics.fct import NEVER_NS
from daybreak.runs import Run

FLOW_COLUMNS = (
    "flow_name", "group", "variant", "bytes", "start_ns", "end_ns", "fct_ns", "segments", "retransmits", "rtos",
)  # fmt: skip
CURVES = ("delivered", "in_flight", "queue")
"""Bytes delivered in a bin by flow; bytes in flight at a sample by flow; packets waiting at a sample by queue."""
SCHEMA = {"curve": pl.String, "of": pl.String, "slot": pl.Int64, "value": pl.Float64}


@dataclass(frozen=True)
class Observed:
    """One run: ``flows`` has `FLOW_COLUMNS`, ``curves`` has ``curve, of, slot, value``; empty bins are left out."""

    flows: pl.DataFrame
    curves: pl.DataFrame


def of_run(run: Run, bin_ns: int) -> Observed:
    """Reduces a run to what is compared."""
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
    return Observed(
        run.flows.select(FLOW_COLUMNS),
        pl.concat(
            table.select(
                pl.lit(name).alias("curve"), "of", "slot", pl.col("value").cast(pl.Float64)
            ).cast(SCHEMA)  # type: ignore[arg-type]
            for name, table in zip(CURVES, curves, strict=True)
        ),
    )  # fmt: skip


def grouped(runs: Sequence[Observed], curve: str, bin_ns: int) -> dict[str, list[dict[int, float]]]:
    """A curve of each run as slot -> value: by the flows' group, or all queues together.

    What is in flight is sampled by one engine at the next ACK only, so a sample holds until the next one or until the
    flow's end.
    """
    found: dict[str, list[dict[int, float]]] = {}
    for number, run in enumerate(runs):
        table = run.curves.filter(pl.col("curve") == curve)
        if curve == "queue":
            named = table.with_columns(pl.lit("").alias("group"))
        else:
            held = _held(table, run.flows, bin_ns) if curve == "in_flight" else table
            named = held.join(run.flows.select("flow_name", "group"), left_on="of", right_on="flow_name")
        summed = named.group_by("group", "slot").agg(pl.col("value").sum()).sort("group", "slot")
        for group, slot, value in summed.iter_rows():
            found.setdefault(group, [{} for _ in runs])[number][slot] = value
    return found


def _held(samples: pl.DataFrame, flows: pl.DataFrame, bin_ns: int) -> pl.DataFrame:
    """The samples of each flow with the bins in between filled, up to that in which the flow ends."""
    ends = dict(flows.select("flow_name", "end_ns").iter_rows())
    rows: list[tuple[str, str, int, float]] = []
    for (name,), mine in samples.sort("slot").group_by("of", maintain_order=True):
        values = dict(mine.select("slot", "value").iter_rows())
        end = ends[name]
        last = max(values) if end == NEVER_NS else max(end // bin_ns, *values)
        held = 0.0
        for slot in range(min(values), last + 1):
            held = values.get(slot, held)
            rows.append(("in_flight", str(name), slot, held))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _last(samples: pl.DataFrame, name: str) -> pl.DataFrame:
    return samples.group_by(pl.col(name).alias("of"), "slot", maintain_order=True).agg(pl.col("value").last())
