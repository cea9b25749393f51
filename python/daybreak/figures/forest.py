"""Differences with their confidence intervals, as a forest plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from daybreak.figures.style import BLUE, WIDTH_INCHES, Picture, colour, style, words

_ACROSS = 3


@dataclass(frozen=True)
class Difference:
    """A row: the case that is compared with the baseline, its group, the difference and its interval (None if
    unknown)."""

    name: str
    group: str
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Panel:
    """The differences of one quantity."""

    label: str
    rows: Sequence[Difference]


def forest(panels: Sequence[Panel], *, title: str) -> Figure:
    """Draws one panel per quantity with a line at 0; intervals that contain 0 have open marks."""
    if not any(panel.rows for panel in panels):
        raise ValueError("panels: no difference given")
    across = min(len(panels), _ACROSS)
    down = -(-len(panels) // across)
    places = list(dict.fromkeys((row.group, row.name) for panel in panels for row in panel.rows))
    names = list(dict.fromkeys(name for _, name in places))
    several = len({group for group, _ in places}) > 1
    with style():
        height = down * (0.8 + 0.26 * len(places)) + 0.4
        figure = Picture(figsize=(WIDTH_INCHES, height), layout="constrained")
        grid = figure.subplots(down, across, sharey=True, squeeze=False)
        for axes in list(grid.flat)[len(panels) :]:
            axes.remove()
        for axes, panel in zip(grid.flat, panels, strict=False):
            axes.axvline(0, color="0.4", linewidth=0.8)
            for row in panel.rows:
                place = places.index((row.group, row.name))
                tone = colour(row.name, names.index(row.name)) if len(names) > 1 else BLUE
                holds_zero = row.low is None or row.high is None or row.low <= 0 <= row.high
                errors = (
                    None if row.low is None or row.high is None else [[row.value - row.low], [row.high - row.value]]
                )
                axes.errorbar(
                    row.value, place, xerr=errors, color=tone, marker="o", markersize=5, capsize=2.5, elinewidth=1,
                    markerfacecolor="white" if holds_zero else tone,
                )  # fmt: skip
            labels = [
                f"{words(name, 28)}, {words(group, 18)}" if several else words(name, 40) for group, name in places
            ]
            axes.set_yticks(range(len(places)), labels)
            axes.set_ylim(len(places) - 0.5, -0.5)
            axes.set_xlabel(panel.label)
            axes.margins(x=0.15)
        figure.suptitle(title, fontsize=9.5)
    return figure
