"""What `daybreak run` shows of the flows."""

from __future__ import annotations

from typing import Any

import polars as pl

from daybreak.metrics import fct
from daybreak.runs import Run
from daybreak.scenario import Size

from .terminal import out, print_table

_SHOWN = 40
_COLUMNS = (
    "flow_name", "group", "variant", "bytes", "delivered_bytes", "fct_s", "goodput_gbps", "retransmits", "rtos",
)  # fmt: skip


def flow_rows(run: Run) -> list[dict[str, Any]]:
    """Each flow's numbers. A flow that did not end has no FCT; its goodput is that of its time in the run."""
    lasted_ns = (pl.lit(run.manifest["totals"]["ended_ns"]) - pl.col("start_ns").cast(pl.Int64)).clip(1)
    so_far = pl.col("delivered_bytes") * 8 / lasted_ns
    flows = fct.table(run.flows).with_columns(pl.coalesce("goodput_gbps", so_far).alias("goodput_gbps"))
    return flows.select(_COLUMNS).to_dicts()


def print_flows(runs: list[dict[str, Any]]) -> None:
    """A table of all flows of all runs, or of the first ones."""
    rows = [(run["seed"], flow) for run in runs for flow in run["flows"]]
    columns = ("seed", "flow", "group", "variant", "size", "FCT (s)", "Gbit/s", "retransmits", "timeouts")
    texts = [
        (
            str(seed),
            flow["flow_name"],
            flow["group"],
            flow["variant"],
            str(Size(flow["bytes"])) if flow["bytes"] else "unlimited",
            f"{flow['fct_s']:.6f}" if flow["fct_s"] is not None else "-",
            f"{flow['goodput_gbps']:.3f}",
            str(flow["retransmits"]),
            str(flow["rtos"]),
        )
        for seed, flow in rows[:_SHOWN]
    ]
    print_table(columns, texts, numeric=columns[4:])
    if len(rows) > _SHOWN:
        out.print(f"... and {len(rows) - _SHOWN} more flows")
    places = [run["out"] for run in runs if run["out"]]
    if places:
        out.print(f"records: {places[0]}" + (f" ... {places[-1]}" if len(places) > 1 else ""))
