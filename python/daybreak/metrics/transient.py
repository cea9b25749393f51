"""The response of a rate to an event: the rate before it, the worst bin after it, the recovery time, and the growth.

``series`` is a table with ``time_s`` (start of the bin, 0 at the event, negative before) and a column of rates, in bins
of one width in the order of time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from daybreak.metrics.errors import check_columns


@dataclass(frozen=True)
class Trough:
    """The lowest bin after an event."""

    rate: float
    end_s: float
    """End of the bin, in seconds after the event."""


@dataclass(frozen=True)
class Line:
    """A straight line fitted by least squares."""

    slope: float
    """Growth of the rate per second."""
    r2: float
    """Coefficient of determination (explained share of the variance); 1 for a constant rate."""


def before(series: pl.DataFrame, rate: str) -> float:
    """The last bin before the event. Raises ValueError if there is none."""
    check_columns("series", series, ("time_s", rate))
    earlier = series.filter(pl.col("time_s") < 0)
    if earlier.is_empty():
        raise ValueError("series: no bin before the event")
    return float(earlier[rate][-1])


def mean_between(series: pl.DataFrame, rate: str, from_s: float, to_s: float) -> float:
    """Mean of the bins that start in ``[from_s, to_s)``; NaN without any."""
    check_columns("series", series, ("time_s", rate))
    found = series.filter((pl.col("time_s") >= from_s) & (pl.col("time_s") < to_s))[rate].cast(pl.Float64)
    return float(np.mean(found.to_numpy())) if len(found) else float("nan")


def trough(series: pl.DataFrame, rate: str, *, width_s: float, within_s: float) -> Trough:
    """The first of the lowest bins that start less than ``within_s`` after the event; ``width_s`` is their width.

    Raises ValueError if there is no bin after it.
    """
    check_columns("series", series, ("time_s", rate))
    later = series.filter((pl.col("time_s") >= 0) & (pl.col("time_s") < within_s))
    if later.is_empty():
        raise ValueError("series: no bin after the event")
    lowest = int(later[rate].cast(pl.Float64).to_numpy().argmin())
    return Trough(float(later[rate][lowest]), float(later["time_s"][lowest]) + width_s)


def reached_s(series: pl.DataFrame, rate: str, *, width_s: float, level: float) -> float | None:
    """Seconds after the event until the end of the first bin with at least ``level``; None if there is none."""
    check_columns("series", series, ("time_s", rate))
    reached = series.filter((pl.col("time_s") >= 0) & (pl.col(rate) >= level))
    return None if reached.is_empty() else float(reached["time_s"][0]) + width_s


def recovery_s(series: pl.DataFrame, rate: str, *, width_s: float, level: float, within_s: float) -> float | None:
    """Seconds from the event to the end of the first bin after the trough that is back at ``level``.

    0 if the trough is not below ``level``; None if the series ends before. Arguments as in `trough`.
    """
    lowest = trough(series, rate, width_s=width_s, within_s=within_s)
    if lowest.rate >= level:
        return 0.0
    back = series.filter((pl.col("time_s") >= lowest.end_s - width_s / 2) & (pl.col(rate) >= level))
    return None if back.is_empty() else float(back["time_s"][0]) + width_s


def line(series: pl.DataFrame, rate: str, from_s: float, to_s: float) -> Line:
    """The line through the bins that start in ``[from_s, to_s)``. Raises ValueError with fewer than three."""
    check_columns("series", series, ("time_s", rate))
    part = series.filter((pl.col("time_s") >= from_s) & (pl.col("time_s") < to_s))
    if part.height < 3:
        raise ValueError(f"series: {part.height} bins from {from_s} to {to_s} s: expected at least 3 for a line")
    times, rates = (part[name].cast(pl.Float64).to_numpy() for name in ("time_s", rate))
    slope, offset = np.polyfit(times, rates, 1)
    left = rates - (slope * times + offset)
    total = float(np.sum((rates - rates.mean()) ** 2))
    return Line(float(slope), 1.0 - float(np.sum(left**2)) / total if total > 0 else 1.0)
