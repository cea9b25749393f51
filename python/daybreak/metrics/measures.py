"""Measures: one number per run, which sweeps and comparisons tabulate and draw.

A measure is named by its quantity and how that is aggregated: ``fct.mean``, ``fct.p99``, ``slowdown.p50``,
``goodput.mean``; or ``retransmits``, ``rtos`` (means over the flows), ``jain`` (Jain's index of the goodputs) and
``complete`` (the share of the flows of limited size that ended).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from daybreak.metrics import fct, slowdown
from daybreak.metrics.errors import check_columns

_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?|100)")


@dataclass(frozen=True)
class Measure:
    """A measure: the expression that aggregates a group of flows, its title, its unit ("" if it has none), and its
    greatest possible value, at which intervals are cut."""

    expression: pl.Expr
    label: str
    unit: str
    most: float | None = None


@dataclass(frozen=True)
class _Of:
    column: str
    label: str
    unit: str


_OF = {
    "fct": _Of("fct_s", "FCT", "s"),
    "slowdown": _Of("slowdown", "slowdown", ""),
    "goodput": _Of("goodput_gbps", "goodput", "Gbit/s"),
}
"""The quantities with means and percentiles."""
_LIMITED = pl.col("bytes").is_not_null()
_SINGLE = {
    "retransmits": Measure(pl.col("retransmits").mean(), "retransmissions per flow", ""),
    "rtos": Measure(pl.col("rtos").mean(), "timeouts per flow", ""),
    "jain": Measure(
        pl.when((pl.col("goodput_gbps") ** 2).sum() > 0).then(
            pl.col("goodput_gbps").sum() ** 2 / (pl.len() * (pl.col("goodput_gbps") ** 2).sum())
        ),
        "Jain's index",
        "",
        1.0,
    ),
    "complete": Measure(pl.col("fct_s").filter(_LIMITED).is_not_null().mean(), "share of flows that ended", "", 1.0),
}
KNOWN = f"fct, slowdown or goodput with .mean, .max or a percentile such as .p99; or {', '.join(_SINGLE)}"
"""Names that are accepted, for error messages."""


def measure(name: str) -> Measure:
    """The measure of this name. Raises ValueError."""
    if name in _SINGLE:
        return _SINGLE[name]
    of, _, how = name.partition(".")
    if of not in _OF:
        raise ValueError(f'"{name}" is no measure: expected {KNOWN}')
    found = _OF[of]
    how = how or "mean"
    # A flow that did not end is worse than every other.
    has = {"fct": _LIMITED, "slowdown": pl.col("ideal_fct_ns").is_not_null(), "goodput": pl.lit(value=True)}
    known = pl.col(found.column).filter(has[of])
    if how == "mean":
        return Measure(pl.when(known.is_not_null().all()).then(known.mean()), f"mean {found.label}", found.unit)
    percentile = _PERCENTILE.fullmatch("p100" if how == "max" else how)
    percent = float(percentile[1]) if percentile else 0.0
    if not 0 < percent <= 100:
        raise ValueError(f'"{name}" is no measure: expected {KNOWN}')
    # A flow with a small goodput is a slow one.
    ordered = known.sort(nulls_last=True) if of != "goodput" else known.fill_null(0.0).sort()
    at = (known.len() * percent / 100).ceil().cast(pl.Int64) - 1
    value = pl.when(known.len() > 0).then(ordered.get(at.clip(0), null_on_oob=True))
    return Measure(value, f"{'greatest' if how == 'max' else f'p{percent:g}'} {found.label}", found.unit)


def few_flows(counts: Iterable[int], percentiles: Sequence[int]) -> str | None:
    """A sentence about the percentiles that are only the greatest value, given how many flows each is of; None if there
    are none."""
    least = min((count for count in counts if count), default=None)
    enough = {percentile: -(-100 // (100 - percentile)) for percentile in percentiles}
    greatest = [percentile for percentile in percentiles if least is not None and least < enough[percentile]]
    if not greatest:
        return None
    names = ", ".join(f"p{percentile} below {enough[percentile]} flows" for percentile in greatest)
    return f"with few flows a percentile is the maximum: {names}"


def of_runs(flows: pl.DataFrame, name: str, *, by: Sequence[str]) -> pl.DataFrame:
    """The measure ``name`` for each group of ``by``, which must distinguish the runs: columns ``by`` and ``value``.

    ``flows`` is table `flows` of all runs. A value is null where it is unknown, such as a mean when a flow did not end.
    """
    check_columns("flows", flows, (*by, "bytes", "fct_ns", "ideal_fct_ns"))
    ended = slowdown.table(fct.table(flows))
    return ended.group_by(by, maintain_order=True).agg(measure(name).expression.alias("value"))
