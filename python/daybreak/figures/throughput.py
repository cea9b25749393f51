"""Throughput over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl
from matplotlib.figure import Figure

from daybreak.figures.curves import BAND, Panel, largest, small_multiples

_ROUNDING = 1 + 1e-9


def over_time(
    panels: Sequence[Panel],
    *,
    rate_gbps: float,
    columns: int = 2,
    labels: dict[str, str] | None = None,
    above: str = "",
) -> Figure:
    """Draws mean throughput with confidence bands in Gb/s; the y axis ends a little above the link's rate.

    Bands are cut at the rate. If a mean exceeds it, a line marks the rate, with the reason ``above`` in the legend.
    Raises ValueError for a mean above the rate without a reason.
    """
    highest = max(largest(table["mean"]) for panel in panels for table in panel.curves.values())
    exceeds = highest > rate_gbps * _ROUNDING
    if exceeds and not above:
        raise ValueError(f"above: expected words, a mean of {highest:.6g} Gb/s exceeds the rate of {rate_gbps:g} Gb/s")
    figure = small_multiples(
        [_cut(panel, rate_gbps) for panel in panels],
        ylabel="Throughput [Gb/s]",
        top=max(rate_gbps, highest) * 1.08,
        columns=columns,
        labels=labels,
        band=BAND,
        level=(rate_gbps, f"rate of a link; above it, {above}") if exceeds else None,
    )
    for axes in figure.axes:
        axes.set_yticks([0, rate_gbps / 2, rate_gbps])
    return figure


def _cut(panel: Panel, rate_gbps: float) -> Panel:
    high = pl.min_horizontal("high", pl.max_horizontal("mean", pl.lit(rate_gbps)))
    low = pl.col("low").clip(lower_bound=0)
    return replace(panel, curves={name: table.with_columns(high, low) for name, table in panel.curves.items()})
