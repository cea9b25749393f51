"""Several quantities over one time axis, one below the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from daybreak.figures.curves import Panel, draw, largest
from daybreak.figures.style import WIDTH_INCHES, Picture, style

_UNITS = (("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9))
_LEGEND_COLUMNS = 4
_LINE_LETTERS = 105
"""About how many letters of a row's title and legend fit side by side."""
_ROW_INCHES, _HEAD_INCHES = 1.35, 1.0


@dataclass(frozen=True)
class Row:
    """A panel with its y axis; ``has_names`` says that its curves have names of their own, and so a legend."""

    panel: Panel
    ylabel: str
    has_names: bool = False


def stacked(rows: Sequence[Row], *, title: str, subtitle: str = "", xlabel: str = "Time") -> Figure:
    """The rows with one time axis, title and legend above all of them, each row's own title to the left.

    All panels have the same start and end. The y axes start at 0.
    """
    if not rows:
        raise ValueError("rows: none given")
    start, end = rows[0].panel.start_s, rows[0].panel.until()
    unit, scale = _unit(end - start, end)
    with style():
        figure = Picture(figsize=(WIDTH_INCHES, len(rows) * _ROW_INCHES + _HEAD_INCHES), layout="constrained")
        grid = figure.subplots(len(rows), 1, sharex=True, squeeze=False)
        entries: dict[str, Line2D | Patch] = {}
        for row, axes in zip(rows, grid.flat, strict=True):
            drawn = draw(axes, row.panel, {})
            named = [entry for entry in drawn if row.has_names and isinstance(entry, Line2D)]
            for entry in drawn:
                if entry not in named:
                    entries.setdefault(str(entry.get_label()), entry)
            if named:
                _name(axes, named, row.panel.title)
            axes.set_title("")
            axes.set_title(row.panel.title, loc="left", fontsize=8.5)
            axes.set_ylabel(row.ylabel)
            highest = max(largest(table[column]) for table in row.panel.curves.values() for column in ("mean", "high"))
            faint = max((largest(table["value"]) for table in row.panel.faint.values()), default=0.0)
            axes.set_ylim(0, max(highest, faint) * 1.08 or 1.0)
            axes.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=_are_whole(row.panel)))
        last = grid.flat[-1]
        last.set_xlabel(f"{xlabel} [{unit}]")
        last.xaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{at * scale:.10g}"))
        legend = figure.legend(
            handles=list(entries.values()), loc="outside upper center", ncols=_columns(list(entries)),
            borderaxespad=0.2, title=title + (f"\n{subtitle}" if subtitle else ""), title_fontsize=9.5,
        )  # fmt: skip
        legend.get_title().set_multialignment("center")
        figure.align_ylabels()
    return figure


def _name(axes: Axes, curves: Sequence[Line2D], title: str) -> None:
    """The names of a row's own curves: beside its title, where they hide nothing, if there is room."""
    if len(title) + sum(len(str(curve.get_label())) + 8 for curve in curves) <= _LINE_LETTERS:
        axes.legend(
            handles=curves, loc="lower right", bbox_to_anchor=(1.0, 1.02), ncols=len(curves), borderaxespad=0.0,
            borderpad=0.1, fontsize=7.5, handlelength=1.4, columnspacing=1.0,
        )  # fmt: skip
    else:
        axes.legend(handles=curves, fontsize=7.5, handlelength=1.4, frameon=True, framealpha=0.8, edgecolor="none")


def _columns(names: Sequence[str]) -> int:
    """How many columns of a legend have room for these names."""
    room = _LINE_LETTERS // (max(map(len, names), default=0) + 8)
    return max(1, min(len(names), _LEGEND_COLUMNS, room))


def _are_whole(panel: Panel) -> bool:
    """Whether all values are whole numbers, as counts of a single run are."""
    means = pl.concat([table["mean"].cast(pl.Float64) for table in panel.curves.values()]).drop_nulls()
    return bool((means == means.round()).all())


def _unit(length_s: float, end_s: float) -> tuple[str, float]:
    """The unit of a time axis, and how many of it are a second."""
    for unit, scale in _UNITS:
        # A zoom far from 0 takes the unit that keeps the numbers short.
        if length_s * scale >= 2 or (end_s * scale >= 2000 and length_s * scale >= 0.01):
            return unit, scale
    return _UNITS[-1]
