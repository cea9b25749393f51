"""Measured values over a varied parameter, as lines with marks, beside published values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from daybreak.figures.style import WIDTH_INCHES, colour, style
from daybreak.metrics.confidence import Interval


@dataclass(frozen=True)
class Line:
    """One line: a mean with its interval at each place, and published values at some of them."""

    name: str
    points: Sequence[tuple[float, Interval]]
    published: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True)
class Sweep:
    """One pair of axes; ``log`` spaces the places logarithmically."""

    ylabel: str
    lines: Sequence[Line] = field(default_factory=list)
    log: bool = False
    top: float | None = None
    """End of the y axis, if not just above the greatest value."""
    at: float | None = None
    """A place that a dotted vertical line marks."""
    title: str = ""


def sweeps(panels: Sequence[Sweep], *, xlabel: str, height: float = 2.4) -> Figure:
    """Draws panels side by side; published values are white diamonds in the line's colour."""
    if not panels:
        raise ValueError("panels: none given")
    with style():
        figure, grid = plt.subplots(1, len(panels), figsize=(WIDTH_INCHES, height), squeeze=False, layout="constrained")
        handles = {}
        for axes, panel in zip(grid.flat, panels, strict=True):
            for position, line in enumerate(panel.lines):
                tone = colour(line.name, position)
                x = [at for at, _ in line.points]
                means = [value.mean for _, value in line.points]
                known = [value.high == value.high for _, value in line.points]
                errors = [value.margin for _, value in line.points]
                handles[line.name] = axes.errorbar(
                    x, means, yerr=errors if any(known) else None, color=tone, marker="o", markersize=3.5, capsize=2,
                    elinewidth=0.8,
                )  # fmt: skip
                if line.published:
                    (handles["published"],) = axes.plot(
                        *zip(*line.published, strict=True), linestyle="none", marker="D", markersize=5.5,
                        markerfacecolor="none", markeredgecolor="black",
                    )  # fmt: skip
            if panel.at is not None:
                axes.axvline(panel.at, color="0.5", linestyle=":", linewidth=1)
            if panel.log:
                axes.set_xscale("log", base=2)
                places = sorted({at for line in panel.lines for at, _ in line.points})
                axes.set_xticks(places, [f"{place:g}" for place in places], fontsize=7)
                axes.minorticks_off()
            seen = [value.mean for line in panel.lines for _, value in line.points]
            seen += [value for line in panel.lines for _, value in line.published]
            axes.set_ylim(0, panel.top or 1.08 * max(seen, default=1.0))
            axes.set_ylabel(panel.ylabel)
            axes.set_title(panel.title)
            axes.set_xlabel(xlabel)
        figure.legend(list(handles.values()), list(handles), loc="outside upper center", ncols=6, borderaxespad=0.2)
    plt.close(figure)
    return figure
