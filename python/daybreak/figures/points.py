"""Points of several series side by side, one panel per case."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from daybreak.figures.style import WIDTH_INCHES, colour, style

COLUMNS = 3


def beside(
    panels: Mapping[str, Mapping[str, Mapping[float, float]]], *, xlabel: str, ylabel: str, level: float | None = None
) -> Figure:
    """``panels`` maps a title to the points, y by x, of each of up to three series; ``level`` is a dashed line."""
    if not panels:
        raise ValueError("panels: none given")
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    with style():
        figure, grid = plt.subplots(
            rows, columns, figsize=(WIDTH_INCHES, 2.0 * rows + 0.6), squeeze=False, sharey=True, layout="constrained"
        )
        for axes in list(grid.flat)[len(panels) :]:
            axes.remove()
        for axes, (title, series) in zip(grid.flat, panels.items(), strict=False):
            for position, (name, points) in enumerate(series.items()):
                # Rings get smaller from series to series, so that coinciding points stay visible.
                axes.plot(
                    list(points), list(points.values()), "o", color=colour(name, position), fillstyle="none",
                    markersize=9 - 3 * position, markeredgewidth=1.6, label=name,
                )  # fmt: skip
            if level is not None:
                axes.axhline(level, color="0.5", linestyle="--", linewidth=0.8)
            axes.set_title(title)
        grid.flat[0].set_ylim(
            0, 1.06 * max(y for series in panels.values() for one in series.values() for y in one.values())
        )
        handles, labels = grid.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
        figure.supxlabel(xlabel)
        figure.supylabel(ylabel)
    plt.close(figure)
    return figure
