"""What `daybreak run` shows of the flows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daybreak.report.summary import PERCENTILES, group_rows, rate, time
from daybreak.scenario import Size

from .terminal import print_table, say

# Up to this number of flows in one run each has its row; beyond it each group has one.
_SHOWN = 40


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
        "group", "variant", "flows", "complete", "mean FCT", "95 % interval", *(f"p{p}" for p in PERCENTILES),
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
            *(time(row[f"p{p}_s"]) for p in PERCENTILES),
            rate(row["goodput_gbps"]),
            str(row["retransmits"]),
            str(row["rtos"]),
        )
        for row in group_rows(runs)
    ]
    say(f"{len(runs)} run{'s' if len(runs) > 1 else ''}, all flows of a group together:")
    print_table(columns, texts, numeric=columns[2:])


def _shown_of(run: dict[str, Any]) -> Any:
    return run["totals"], run["flows"]
