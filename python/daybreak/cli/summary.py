"""What `daybreak run` shows of the flows."""

from __future__ import annotations

from typing import Any

import polars as pl

from daybreak.metrics import fct
from daybreak.scenario import Size

from .terminal import out, print_table

_SHOWN = 40
_COLUMNS = ("flow_name", "group", "variant", "bytes", "delivered_bytes", "fct_s", "goodput_gbps", "retransmits", "rtos")


def flow_rows(flows: pl.DataFrame) -> list[dict[str, Any]]:
    """Each flow's numbers; a flow that did not end has no FCT."""
    return fct.table(flows).select(_COLUMNS).to_dicts()


def print_flows(runs: list[dict[str, Any]]) -> None:
    """A table of all flows of all runs, or of the first ones."""
    rows = [(run["seed"], flow) for run in runs for flow in run["flows"]]
    columns = ("seed", "flow", "group", "variant", "size", "FCT", "goodput", "retransmits", "timeouts")
    texts = [
        (
            str(seed),
            flow["flow_name"],
            flow["group"],
            flow["variant"],
            str(Size(flow["bytes"])) if flow["bytes"] else "unlimited",
            f"{flow['fct_s']:.6f} s" if flow["fct_s"] is not None else "not finished",
            f"{flow['goodput_gbps']:.3f} Gbit/s" if flow["goodput_gbps"] else f"{Size(flow['delivered_bytes'])} in all",
            str(flow["retransmits"]),
            str(flow["rtos"]),
        )
        for seed, flow in rows[:_SHOWN]
    ]
    print_table(columns, texts, numeric=("seed", "size", "FCT", "goodput", "retransmits", "timeouts"))
    if len(rows) > _SHOWN:
        out.print(f"... and {len(rows) - _SHOWN} more flows")
    places = [run["out"] for run in runs if run["out"]]
    if places:
        out.print(f"records: {places[0]}" + (f" ... {places[-1]}" if len(places) > 1 else ""))
