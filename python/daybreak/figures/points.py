"""Points of several series side by side, a panel a case."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from daybreak.figures.style import WIDTH_INCHES, colour, style

COLUMNS = 3


def beside(
    panels: Mapping[str, Mapping[str, Mapping[float, float]]], *, xlabel: str, ylabel: str, level: float | None = None
) -> Figure:
    """``panels`` maps a title to the points, y by x, of each series; ``level`` is a dashed line through all panels."""
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
                look = colour(name, position)
                marker = "os^D"[position % 4]
                axes.plot(list(points), list(points.values()), marker, color=look, markersize=4.5, label=name)
            if level is not None:
                axes.axhline(level, color="0.5", linestyle="--", linewidth=0.8)
            axes.set_title(title)
            axes.set_ylim(bottom=0)
        handles, labels = grid.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
        figure.supxlabel(xlabel)
        figure.supylabel(ylabel)
    plt.close(figure)
    return figure
