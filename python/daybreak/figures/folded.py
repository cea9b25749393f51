"""Curves over the period of a schedule: progress of flows and queue occupancy, beside published curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from daybreak.figures.style import BLACK, DAY, WIDTH_INCHES, colour, style
from daybreak.metrics.errors import check_columns


@dataclass(frozen=True)
class FoldedCurves:
    """The curves of one setting: tables with `time_us` and `kilobytes`, and `time_us` and `packets`; those of the
    publication may be None."""

    progress: pl.DataFrame
    occupancy: pl.DataFrame
    published_progress: pl.DataFrame | None = None
    published_occupancy: pl.DataFrame | None = None


def folded(
    curves: Mapping[str, FoldedCurves],
    *,
    window_us: tuple[float, float],
    days_us: Sequence[tuple[float, float]],
    bounds: Mapping[str, pl.DataFrame] | None = None,
    height: float = 4.4,
) -> Figure:
    """Draws progress above and occupancy below, in a window of the period with its days shaded.

    Published curves are dotted. ``bounds`` are further curves of progress, such as an upper bound from the links'
    rates, drawn thin and black.
    """
    if not curves:
        raise ValueError("curves: none given")
    with style():
        figure, (above, below) = plt.subplots(
            2, 1, figsize=(WIDTH_INCHES, height), sharex=True, height_ratios=(1.5, 1), layout="constrained"
        )
        for axes in (above, below):
            for start, end in days_us:
                axes.axvspan(start, end, color=DAY, linewidth=0, zorder=0)
        entries: list[Line2D | Patch] = []
        for position, (name, one) in enumerate(curves.items()):
            tone = colour(name, position)
            entries += _draw(above, one.progress, "kilobytes", color=tone, label=name)
            _draw(below, one.occupancy, "packets", color=tone)
            if one.published_progress is not None:
                _draw(above, one.published_progress, "kilobytes", color=tone, linestyle=":")
            if one.published_occupancy is not None:
                _draw(below, one.published_occupancy, "packets", color=tone, linestyle=":")
        if any(one.published_progress is not None for one in curves.values()):
            entries.append(Line2D([], [], color=BLACK, linestyle=":", label="published"))
        for style_of, (name, table) in zip(((0, (5, 2)), "-.", (0, (8, 2))), (bounds or {}).items(), strict=False):
            entries += _draw(above, table, "kilobytes", color=BLACK, linewidth=0.8, linestyle=style_of, label=name)
        entries.append(Patch(facecolor=DAY, label="day"))
        above.set_xlim(*window_us)
        _fit(above, window_us)
        below.set_ylim(bottom=0)
        above.set_ylabel("Sequence\nnumber [kB]")
        below.set_ylabel("VOQ\n[packets]")
        below.set_xlabel("Time since the end of the day before [us]")
        figure.legend(handles=entries, loc="outside upper center", ncols=5, borderaxespad=0.2)
    plt.close(figure)
    return figure


def _draw(axes: Axes, table: pl.DataFrame, value: str, **look: object) -> list[Line2D]:
    check_columns("curve", table, ("time_us", value))
    return axes.plot(table["time_us"].to_numpy(), table[value].to_numpy(), **look)  # type: ignore[arg-type]


def _fit(axes: Axes, window: tuple[float, float]) -> None:
    """Limits the y axis to the values in the window."""
    points = np.concatenate([np.asarray(line.get_xydata(), dtype=np.float64) for line in axes.get_lines()])
    seen = points[(points[:, 0] >= window[0]) & (points[:, 0] <= window[1]), 1]
    if seen.size:
        margin = 0.04 * float(np.ptp(seen) or 1.0)
        axes.set_ylim(float(seen.min()) - margin, float(seen.max()) + margin)
