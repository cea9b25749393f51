"""Two measures of a few candidates against each other, and against what each candidate costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from daybreak.figures.log_axis import set_log
from daybreak.figures.style import CYCLE, WIDTH_INCHES, Picture, style, words
from daybreak.metrics.confidence import Interval

_MARKS = "osD^vP*X"
"""One more than there are colours: no two of 56 candidates look alike."""
_LARGE_RATIO = 15
"""Values that span more than this need a logarithmic axis."""


@dataclass(frozen=True)
class Point:
    """A candidate: its name, both measures with their intervals, and its price."""

    name: str
    x: Interval
    y: Interval
    price: float


def tradeoff(points: Sequence[Point], *, xlabel: str, ylabel: str, price: str) -> Figure:
    """Draws a mark for each candidate with the 95 % intervals of both measures, and beside it the second measure over
    the ``price``, which is its axis label; the legend has the names. Candidates at the same point, of which one would
    hide the others, share a mark and its entry; marks are hollow, so that near ones show through each other."""
    if not points:
        raise ValueError("points: none given")
    together: dict[tuple[float, ...], list[Point]] = {}
    for point in points:
        together.setdefault((point.x.mean, point.x.margin, point.y.mean, point.y.margin, point.price), []).append(point)
    with style():
        figure = Picture(figsize=(WIDTH_INCHES, 3.4), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        for position, ((x, across, y, upright, cost), some) in enumerate(together.items()):
            name = words(" = ".join(point.name for point in some), 60)
            for axes, at, margin in ((left, x, across), (right, cost, None)):
                axes.errorbar(
                    at, y, xerr=margin, yerr=upright, label=name, color=CYCLE[position % len(CYCLE)],
                    marker=_MARKS[position % len(_MARKS)], markersize=5.5, fillstyle="none", capsize=2, elinewidth=0.8,
                    linestyle="none",
                )  # fmt: skip
        if _are_far_apart([point.price for point in points]):
            set_log(right, "x")
        if _are_far_apart([point.y.mean - max(point.y.margin, 0) for point in points]):
            set_log(left, "y")
        left.set(xlabel=xlabel, ylabel=ylabel)
        right.set(xlabel=price)
        figure.legend(handles=left.get_legend_handles_labels()[0], loc="outside upper center", ncols=2)
    return figure


def _are_far_apart(values: Sequence[float]) -> bool:
    return min(values) > 0 and max(values) / min(values) > _LARGE_RATIO
