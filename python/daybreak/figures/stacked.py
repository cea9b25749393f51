"""Several quantities over one time axis, one below the other."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from daybreak.figures.curves import RUN_END, Panel, draw, largest
from daybreak.figures.style import WIDTH_INCHES, Picture, style

_UNITS = (("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9))
_LEGEND_COLUMNS = 4
_LINE_LETTERS = 105
"""Approximate number of letters of a row's title and legend that fit side by side."""
_ROW_INCHES, _HEAD_INCHES, _FACET_INCHES, _ENTRY_INCHES = 1.35, 1.0, 3.0, 0.2
_TITLE_PAD, _LEGEND_LINE = 6.0, 11.0
"""The room above the axes, and of each line of a legend in it, in points."""


@dataclass(frozen=True)
class Row:
    """A panel with its y axis; with ``has_names`` its curves have names of their own, and so a legend."""

    panel: Panel
    ylabel: str
    has_names: bool = False

    def top(self) -> float:
        """The largest value that it shows; at least 0."""
        curves, faint = self.panel.curves.values(), self.panel.faint.values()
        shown = [table[column] for table in curves for column in ("mean", "high")]
        return max(0.0, *map(largest, [*shown, *(table["value"] for table in faint)]))


@dataclass(frozen=True)
class Facet:
    """Rows one below the other, and their common heading."""

    title: str
    rows: Sequence[Row]


def stacked(facets: Sequence[Facet], *, title: str, subtitle: str = "", xlabel: str = "Time") -> Figure:
    """Draws the rows of each facet one below the other with a common time axis, the facets side by side; title and
    legend above all of them, each row's own title to the left.

    All panels have the same start and end. The y axes start at 0; rows with the same label share a y axis in all
    facets.
    """
    labels = list(dict.fromkeys(row.ylabel for facet in facets for row in facet.rows))
    if not labels:
        raise ValueError("rows: none given")
    first = next(row for facet in facets for row in facet.rows).panel
    start, end = first.start_s, first.until()
    unit, scale = _unit(end - start, end)
    with style():
        height = len(labels) * _ROW_INCHES + _HEAD_INCHES
        width = max(WIDTH_INCHES, _FACET_INCHES * len(facets))
        figure = Picture(figsize=(width, height), layout="constrained")
        grid = figure.subplots(len(labels), len(facets), sharex=True, sharey="row", squeeze=False)
        entries: dict[str, Line2D | Patch] = {}
        for at, facet in enumerate(facets):
            rows, heading = {row.ylabel: row for row in facet.rows}, facet.title
            for label, axes in zip(labels, grid[:, at], strict=True):
                if label not in rows:
                    axes.remove()
                    continue
                for entry in _draw(axes, rows[label], facets=len(facets), heading=heading):
                    entries.setdefault(str(entry.get_label()), entry)
                heading = ""
                if at == 0:
                    axes.set_ylabel(label)
            lowest = [axes for label, axes in zip(labels, grid[:, at], strict=True) if label in rows]
            if lowest:
                lowest[-1].set_xlabel(f"{xlabel} [{unit}]")
                lowest[-1].xaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{at * scale:.10g}"))
                lowest[-1].xaxis.set_tick_params(labelbottom=True)
        for row, label in enumerate(labels):
            of_label = [row for facet in facets for row in facet.rows if row.ylabel == label]
            shared = next(axes for axes in grid[row] if axes.figure is not None)
            shared.set_ylim(0, max(row.top() for row in of_label) * 1.08 or 1.0)
            whole = all(_are_whole(one.panel) for one in of_label)
            shared.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=whole))
        columns = _columns(list(entries))
        # The more lines the legend has, the less of the height is left for the axes.
        figure.set_figheight(height + _ENTRY_INCHES * max(0, -(-len(entries) // columns) - 1))
        legend = figure.legend(
            handles=list(entries.values()), loc="outside upper center", ncols=columns,
            borderaxespad=0.2, title=title + (f"\n{subtitle}" if subtitle else ""), title_fontsize=9.5,
        )  # fmt: skip
        legend.get_title().set_multialignment("center")
        figure.align_ylabels()
    return figure


def _draw(axes: Axes, row: Row, *, facets: int, heading: str) -> list[Line2D | Patch]:
    """Draws a row of one of some facets, with the facet's heading above the first one; returns the entries that the
    legend of the figure needs."""
    drawn = draw(axes, row.panel, {})
    named = [one for one in drawn if row.has_names and isinstance(one, Line2D) and one.get_label() != RUN_END]
    axes.set_title("")
    lines = _name(axes, named, row.panel.title, facets) if named else 0
    pad = _TITLE_PAD + _LEGEND_LINE * lines
    if facets == 1:
        title = "\n".join(textwrap.wrap(row.panel.title, _LINE_LETTERS))
        axes.set_title(title, loc="left", fontsize=8.5, pad=pad)
    elif heading:
        axes.set_title(heading, fontsize=9, fontweight="bold", pad=pad)
    return [entry for entry in drawn if entry not in named]


def _name(axes: Axes, curves: Sequence[Line2D], title: str, facets: int) -> int:
    """Adds the legend of a row's own curves where it hides nothing: beside its title if there is room, or else between
    the axes and the title. Returns the number of its lines there."""
    names = [str(curve.get_label()) for curve in curves]
    if facets == 1 and len(title) + sum(len(name) + 8 for name in names) <= _LINE_LETTERS:
        axes.legend(
            handles=curves, loc="lower right", bbox_to_anchor=(1.0, 1.02), ncols=len(curves), borderaxespad=0.0,
            borderpad=0.1, fontsize=7.5, handlelength=1.4, columnspacing=1.0,
        )  # fmt: skip
        return 0
    columns = max(1, min(len(names), _LINE_LETTERS // min(facets, 2) // (max(map(len, names)) + 8)))
    axes.legend(
        handles=curves, loc="lower left", bbox_to_anchor=(0.0, 1.01), ncols=columns, borderaxespad=0.0, borderpad=0.1,
        fontsize=7.5, handlelength=1.4, columnspacing=1.0, labelspacing=0.2,
    )  # fmt: skip
    return -(-len(names) // columns)


def _columns(names: Sequence[str]) -> int:
    """Number of legend columns that fit these names."""
    room = _LINE_LETTERS // (max(map(len, names), default=0) + 8)
    return max(1, min(len(names), _LEGEND_COLUMNS, room))


def _are_whole(panel: Panel) -> bool:
    """Whether all values are integers, such as counts of a single run."""
    means = pl.concat([table["mean"].cast(pl.Float64) for table in panel.curves.values()]).drop_nulls()
    return bool((means == means.round()).all())


def _unit(length_s: float, end_s: float) -> tuple[str, float]:
    """The unit of a time axis, and the number of units in a second."""
    for unit, scale in _UNITS:
        # A zoom far from 0 takes the unit that keeps the numbers short.
        if length_s * scale >= 2 or (end_s * scale >= 2000 and length_s * scale >= 0.01):
            return unit, scale
    return _UNITS[-1]
