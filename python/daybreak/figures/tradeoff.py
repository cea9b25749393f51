"""Two measures of a few candidates against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from daybreak.figures.style import CYCLE, WIDTH_INCHES, colour, style, words
from daybreak.metrics.confidence import Interval

_MARKS = "osD^"


@dataclass(frozen=True)
class Point:
    """A candidate: its name, and both measures with their intervals."""

    name: str
    x: Interval
    y: Interval


def tradeoff(points: Sequence[Point], *, xlabel: str, ylabel: str) -> Figure:
    """Draws a mark for each candidate with the 95 % intervals of both measures; the legend has its name. Candidates at
    the same point, of which one would hide the others, share a mark and its entry."""
    if not points:
        raise ValueError("points: none given")
    together: dict[tuple[float, ...], list[Point]] = {}
    for point in points:
        together.setdefault((point.x.mean, point.x.margin, point.y.mean, point.y.margin), []).append(point)
    with style():
        figure, axes = plt.subplots(figsize=(WIDTH_INCHES, 2.8), layout="constrained")
        for position, ((x, across, y, upright), some) in enumerate(together.items()):
            axes.errorbar(
                x, y, xerr=across, yerr=upright, label=words(" = ".join(point.name for point in some), 60),
                color=colour(some[0].name, position), marker=_MARKS[position // len(CYCLE) % len(_MARKS)], markersize=4,
                capsize=2, elinewidth=0.8, linestyle="none",
            )  # fmt: skip
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
        figure.legend(loc="outside upper center", ncols=2)
    plt.close(figure)
    return figure
