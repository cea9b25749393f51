"""Two measures of a few candidates against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from daybreak.figures.style import WIDTH_INCHES, colour, style, words
from daybreak.metrics.confidence import Interval


@dataclass(frozen=True)
class Point:
    """A candidate: its name, and both measures with their intervals."""

    name: str
    x: Interval
    y: Interval


def tradeoff(points: Sequence[Point], *, xlabel: str, ylabel: str) -> Figure:
    """Draws a mark for each candidate with the 95 % intervals of both measures; the legend has its name."""
    if not points:
        raise ValueError("points: none given")
    with style():
        figure, axes = plt.subplots(figsize=(WIDTH_INCHES, 2.8), layout="constrained")
        for position, point in enumerate(points):
            axes.errorbar(
                point.x.mean, point.y.mean, xerr=point.x.margin, yerr=point.y.margin, label=words(point.name, 60),
                color=colour(point.name, position), marker="o", markersize=4, capsize=2, elinewidth=0.8,
                linestyle="none",
            )  # fmt: skip
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
        figure.legend(loc="outside upper center", ncols=2)
    plt.close(figure)
    return figure
