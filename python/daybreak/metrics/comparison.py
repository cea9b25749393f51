"""Compares two variants: paired differences between their runs with the same seed, with confidence intervals.

Runs with one seed draw the same start times and sizes (common random numbers), so that the mean of their differences is
known better than the difference of two means.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import polars as pl

from daybreak.metrics import measures
from daybreak.metrics.confidence import interval
from daybreak.metrics.errors import check_columns
from daybreak.metrics.fct import RUN_ENDED

VALUES = {
    "fct_s": "fct.mean", "fct_p99_s": "fct.p99", "slowdown": "slowdown.mean", "goodput_gbps": "goodput.mean",
    "retransmits": "retransmits", "rtos": "rtos",
}  # fmt: skip
"""The quantities compared for each group, with the measure of each: see `measures`."""
_APPLIES = {"fct_s": "bytes", "fct_p99_s": "bytes", "slowdown": "ideal_fct_ns"}
"""The column of table `flows` that each needs, if other than its own."""
_MOST_LISTED = 6


def paired(first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    """Compares table `flows` of two variants, each with a column ``run`` (the seed), over their common seeds.

    One row per common group and value of `VALUES`: ``group, value, runs, first, second`` (means), ``difference``
    (second minus first), ``low``, ``high`` (its 95 % interval; null with fewer than two runs), ``is_different``
    (whether the interval excludes 0; null if unknown) and ``unfinished``: the number of runs in which the value is
    unknown for either variant, such as the mean FCT where a flow did not end. If there are any, the difference is null,
    and where the value is of one variant alone, such as the slowdown beside flows without an ideal FCT.
    Flows without a size have no FCT, hence no such row, but one of their goodput if the tables have ``run_ended_ns``.
    Raises ValueError if there is no common group, or none with a common seed.
    """
    tables = [_by_run(flows) for flows in (first, second)]
    check_groups(first["group"], second["group"])
    both = tables[0].join(tables[1], on=["run", "group"], suffix="_second", maintain_order="left")
    if not both.height:
        raise ValueError("runs: the two have no group with a common seed")
    rows = []
    for (group,), some in both.partition_by("group", as_dict=True, maintain_order=True).items():
        for value in VALUES:
            of = _APPLIES.get(value, value)
            applies = [_applies(of, flows.filter(pl.col("group") == group)) for flows in (first, second)]
            if any(applies):
                compared = _compared(some[value], some[f"{value}_second"])
                # What one of the variants cannot have is not unfinished.
                rows.append((str(group), value, *(compared if all(applies) else (*compared[:-1], 0))))
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def check_groups(first: Iterable[str], second: Iterable[str]) -> None:
    """Raises ValueError if two variants have no common group of flows."""
    groups = [sorted(set(one)) for one in (first, second)]
    if set(groups[0]).isdisjoint(groups[1]):
        raise ValueError(f"group: the first has {_listed(groups[0])}, the other {_listed(groups[1])}")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(f'"{name}"' for name in names[:_MOST_LISTED]) + more if names else "none"


def _applies(column: str, flows: pl.DataFrame) -> bool:
    """Whether flows have a value; the goodput of flows with an end says no more than their FCT."""
    if column == "goodput_gbps":
        return RUN_ENDED in flows.columns and flows["bytes"].null_count() > 0
    return flows[column].count() > 0


_SCHEMA = {
    "group": pl.String, "value": pl.String, "runs": pl.Int64, "first": pl.Float64, "second": pl.Float64,
    "difference": pl.Float64, "low": pl.Float64, "high": pl.Float64, "is_different": pl.Boolean,
    "unfinished": pl.Int64,
}  # fmt: skip


def _by_run(flows: pl.DataFrame) -> pl.DataFrame:
    check_columns("flows", flows, ("run", "group", "retransmits", "rtos"))
    keys = ["run", "group"]
    found = flows.select(keys).unique(maintain_order=True)
    for value, name in VALUES.items():
        of_runs = measures.of_runs(flows, name, by=keys).rename({"value": value})
        found = found.join(of_runs, on=keys, maintain_order="left")
    return found


def _compared(first: pl.Series, second: pl.Series) -> tuple[object, ...]:
    """The columns of a row after its value, from one value per run of each variant."""
    means = [None if one.null_count() else one.mean() for one in (first, second)]
    unfinished = int((first.is_null() | second.is_null()).sum())
    if unfinished:
        return first.len(), *means, None, None, None, None, unfinished
    found = interval((second - first).to_list())
    if math.isnan(found.low):
        return found.runs, *means, found.mean, None, None, None, 0
    return found.runs, *means, found.mean, found.low, found.high, not found.contains(0.0), 0
