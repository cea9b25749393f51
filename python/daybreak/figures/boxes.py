"""Box plots of a few runs, each with its mean and upper percentiles beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from daybreak.figures.style import WIDTH_INCHES, Picture, colour, style

ENOUGH = 10
"""With fewer values quartiles and percentiles mean nothing."""


@dataclass(frozen=True)
class Box:
    """One value per run, and the published minimum, mean and maximum, if any."""

    values: Sequence[float]
    printed: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class BoxPanel:
    """One column of axes: boxes by series within each row."""

    title: str
    rows: Mapping[str, Mapping[str, Box]]


def boxes(panels: Sequence[BoxPanel], *, ylabel: str, height: float = 4.4) -> Figure:
    """Draws panels side by side; each row has its own y axis, which need not start at zero, so that flat boxes are
    visible.

    A box shows minimum, quartiles, median and maximum. To its right are the mean and, above it, the 95th and 99th
    percentiles; then, in grey, the published values: a diamond at the mean, and a line from minimum to maximum. If all
    boxes have fewer than `ENOUGH` values, each value is a line of its own instead, with only the mean beside it.
    """
    if not panels or not all(series for panel in panels for series in panel.rows.values()):
        raise ValueError("panels: no boxes given")
    names = list(dict.fromkeys(name for panel in panels for series in panel.rows.values() for name in series))
    rows = list(dict.fromkeys(row for panel in panels for row in panel.rows))
    every = [box for panel in panels for series in panel.rows.values() for box in series.values()]
    few = all(len(box.values) < ENOUGH for box in every)
    with style():
        figure = Picture(figsize=(WIDTH_INCHES, height), layout="constrained")
        grid = figure.subplots(len(rows), len(panels), sharex=True, squeeze=False)
        for column, panel in enumerate(panels):
            for line, row in zip(grid[:, column], rows, strict=True):
                for name, box in panel.rows.get(row, {}).items():
                    _draw(line, names.index(name), 0.9, box, colour(name, names.index(name)), few=few)
                line.set_xticks(range(len(names)), names)
                line.set_xlim(-0.5, len(names) - 0.5)
                line.grid(visible=False, axis="x")
            grid[0, column].set_title(panel.title)
        for line, row in zip(grid[:, 0], rows, strict=True):
            line.set_ylabel(f"{row}\n{ylabel}")
        shown: list[Artist] = [
            Patch(color=colour(name, k), alpha=0.5, label=f"{name}, a line a run" if few else name)
            for k, name in enumerate(names)
        ]
        mean = "mean of the runs" if few else "mean, 95th and 99th percentile"
        shown.append(Line2D([], [], color="black", marker="o", markersize=3, linewidth=0 if few else None, label=mean))
        if any(box.printed for box in every):
            shown.append(Line2D([], [], color="0.5", marker="D", markersize=4, label="printed mean and range"))
        figure.legend(handles=shown, loc="outside upper center", ncols=min(len(shown), 4), borderaxespad=0.2)
    return figure


def _draw(axes: Axes, at: float, width: float, box: Box, face: str, *, few: bool) -> None:
    values = np.asarray(box.values, dtype=float)
    if not values.size:
        return
    mean = float(values.mean())
    if few:
        axes.hlines(values, at - 0.4 * width, at, colors=face, linewidth=1.2)
    else:
        axes.boxplot(
            [values], positions=[at - 0.2 * width], widths=[0.4 * width], whis=(0, 100), manage_ticks=False,
            patch_artist=True, boxprops={"facecolor": face, "alpha": 0.5, "linewidth": 0.7},
            medianprops={"color": "black"}, whiskerprops={"linewidth": 0.7}, capprops={"linewidth": 0.7},
        )  # fmt: skip
        p95, p99 = (max(mean, float(np.percentile(values, percent))) for percent in (95, 99))
        axes.plot([at + 0.13 * width] * 3, [mean, p95, p99], color="black", linewidth=0.8, marker="_", markersize=4)
    axes.plot([at + 0.13 * width], [mean], color="black", marker="o", markersize=2.5)
    if box.printed:
        least, printed, largest = box.printed
        x = at + 0.32 * width
        axes.plot([x, x], [least, largest], color="0.5", linewidth=1)
        axes.plot([x], [printed], color="0.5", marker="D", markersize=3.5, markerfacecolor="white")
