"""Means over runs with Student's t confidence intervals.

The runs of one scenario differ only by their seed and are independent, so a mean over n runs has the
interval mean +- t(n - 1) * s / sqrt(n), with s the sample standard deviation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class Interval:
    """A mean with its confidence interval; ``low`` and ``high`` are NaN for fewer than two values."""

    mean: float
    low: float
    high: float
    runs: int

    @property
    def margin(self) -> float:
        """The margin of error, half of the interval's width; 0 where the interval is unknown."""
        return 0.0 if math.isnan(self.high) else self.high - self.mean

    def times(self, factor: float) -> Interval:
        """The interval in a unit of which there are ``factor`` in the present one."""
        return Interval(self.mean * factor, self.low * factor, self.high * factor, self.runs)

    def overlaps(self, other: Interval) -> bool:
        """Whether the two intervals have a point in common; false when one of them is unknown."""
        return self.low <= other.high and other.low <= self.high

    def contains(self, value: float) -> bool:
        """Whether ``value`` lies in the interval; false when the interval is unknown."""
        return self.low <= value <= self.high

    def text(self) -> str:
        """The mean with its half width, such as ``1.234 +- 0.012``."""
        half = "" if math.isnan(self.low) else f" +- {self.high - self.mean:.2g}"
        return f"{self.mean:.4g}{half}"


def t_quantile(runs: int, level: float = 0.95) -> float:
    """Two-sided quantile of Student's t for a mean over ``runs`` values; NaN for fewer than two."""
    if runs < 2:
        return math.nan
    # scipy is slow to import, and one run needs no quantile.
    from scipy import special  # noqa: PLC0415

    return float(special.stdtrit(runs - 1, 0.5 + level / 2))


def interval(values: Iterable[float], level: float = 0.95) -> Interval:
    """Mean and confidence interval of one value per run."""
    numbers = [float(value) for value in values]
    runs = len(numbers)
    if runs == 0:
        return Interval(math.nan, math.nan, math.nan, 0)
    mean = math.fsum(numbers) / runs
    if runs == 1:
        return Interval(mean, math.nan, math.nan, 1)
    variance = math.fsum((number - mean) ** 2 for number in numbers) / (runs - 1)
    half = t_quantile(runs, level) * math.sqrt(variance / runs)
    return Interval(mean, mean - half, mean + half, runs)


def of_all(values: Iterable[float | None]) -> Interval | None:
    """Mean and 95 % interval of values; None if one of them is missing or there are none."""
    numbers = list(values)
    known = [number for number in numbers if number is not None]
    return interval(known) if known and len(known) == len(numbers) else None


def over_runs(table: pl.DataFrame, by: Sequence[str], value: str, level: float = 0.95) -> pl.DataFrame:
    """Mean of the column ``value`` over the rows of each group of ``by`` (one row per run).

    Returns the columns ``by``, ``mean``, ``low``, ``high`` and ``runs``; ``low`` and ``high`` are null
    where there are fewer than two runs.
    """
    grouped = table.group_by(list(by), maintain_order=True).agg(
        pl.col(value).mean().alias("mean"),
        pl.col(value).std(ddof=1).alias("deviation"),
        pl.col(value).count().cast(pl.Int64).alias("runs"),
    )
    counts = grouped["runs"].unique().to_list()
    quantiles = pl.DataFrame(
        {"runs": counts, "t": [t_quantile(count, level) if count > 1 else None for count in counts]},
        schema={"runs": pl.Int64, "t": pl.Float64},
    )
    half = pl.col("t") * pl.col("deviation") / pl.col("runs").sqrt()
    return (
        grouped.join(quantiles, on="runs", how="left", maintain_order="left")
        .with_columns((pl.col("mean") - half).alias("low"), (pl.col("mean") + half).alias("high"))
        .select(*by, "mean", "low", "high", "runs")
    )


def stack(tables: Iterable[tuple[int, pl.DataFrame]]) -> pl.DataFrame:
    """One table of several runs: the column ``run`` has the seed of the run that a row is from."""
    return pl.concat(
        [table.with_columns(pl.lit(run, dtype=pl.Int64).alias("run")) for run, table in tables],
        how="vertical",
    )
