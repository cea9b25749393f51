"""The summary of flows that `daybreak run` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daybreak.report import summary

from .tables import print_table
from .terminal import say
from .usage import counted

# Up to this number of flows in one run each gets a row; beyond it each group.
_SHOWN = 40


def print_runs(runs: Sequence[dict[str, Any]]) -> None:
    """Prints one row per flow for a single run, or per group for many flows or runs; then the place of the records."""
    if len(runs) == 1 and runs[0]["flows"].height <= _SHOWN:
        columns, cells = summary.flow_columns(runs[0]["flows"], is_one_run=True)
        print_table(columns, cells, numeric=columns[columns.index("size") :])
    else:
        _print_groups(runs)
    if len(runs) > 1 and all(_is_alike(run, runs[0]) for run in runs):
        say(
            f"the flows of all {len(runs)} runs are the same: nothing that is random in this scenario (starts, sizes, "
            "loss and such) changed them"
        )
    places = [run["out"] for run in runs if run["out"]]
    if places:
        say(f"records: {places[0]}" + (f" ... {places[-1]}" if len(places) > 1 else ""))


def _print_groups(runs: Sequence[dict[str, Any]]) -> None:
    flows = [run["flows"] for run in runs]
    say(f"{counted(len(runs), 'run')}, all flows of a group together:")
    rows = summary.group_rows(flows)
    columns, cells = summary.group_columns(rows)
    print_table(columns, cells, numeric=columns[2:])
    if few := summary.few_flows(rows):
        say(few)
    sizes = summary.size_rows(flows)
    if len({row["over_bytes"] for row in sizes}) > 1:
        say("slowdown (FCT over that of the flow alone on its path) by size:")
        columns, cells = summary.size_columns(sizes)
        print_table(columns, cells, numeric=columns[3:])


def _is_alike(run: dict[str, Any], other: dict[str, Any]) -> bool:
    return bool(run["totals"] == other["totals"] and run["flows"].drop("seed").equals(other["flows"].drop("seed")))
