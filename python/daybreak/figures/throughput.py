"""Throughput over time."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from daybreak.figures.curves import Panel, small_multiples


def over_time(
    panels: Sequence[Panel], *, rate_gbps: float, columns: int = 2, labels: dict[str, str] | None = None
) -> Figure:
    """Mean throughput with confidence bands in Gb/s; the y axis ends a little above the link's rate."""
    figure = small_multiples(panels, ylabel="Throughput [Gb/s]", top=rate_gbps * 1.08, columns=columns, labels=labels)
    for axes in figure.axes:
        axes.set_yticks([0, rate_gbps / 2, rate_gbps])
    return figure
