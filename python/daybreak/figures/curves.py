"""Mean curves over time with confidence bands, one panel or small multiples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from daybreak.figures.shading import Shading
from daybreak.figures.style import BLACK, WIDTH_INCHES, Dash, Picture, colour, dash, style
from daybreak.metrics.errors import check_columns

BAND = "band: 95 % interval of the mean"
RUN_END = "end of run"
_LETTERS = 118
"""What fits beside each other in a figure's legend, in letters."""
_HANDLE = 9
"""What a line or patch and the room around it take, in letters."""


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    ``curves`` maps a curve's name to a table ``time_s, mean, low, high`` as made by `metrics.confidence.over_runs`
    (``low`` and ``high`` may be null). The time axis goes from ``start_s`` to ``end_s``; 0 stands for the last time.
    ``layered`` draws the first curves thick and later ones thin, for curves that coincide. With ``steps`` a value holds
    from its time to the next one, the last to the end of the axis. ``faint`` has further curves of each name, as tables
    ``curve, time_s, value``, drawn thin in the background. ``colours`` and ``dashes`` replace the colours and line
    styles that the names have. At ``run_ended_s``, if it is above 0, a thin line marks the end of the run.
    """

    title: str
    curves: dict[str, pl.DataFrame]
    shading: Shading | None = None
    end_s: float = 0.0
    layered: bool = False
    start_s: float = 0.0
    steps: bool = False
    faint: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    colours: Sequence[str] = ()
    dashes: Sequence[Dash] = ()
    run_ended_s: float = 0.0

    def look(self, name: str, position: int) -> tuple[str, Dash]:
        """Colour and line style of the curve ``name``, the ``position``-th of the panel."""
        tone = self.colours[position % len(self.colours)] if self.colours else colour(name, position)
        return tone, self.dashes[position % len(self.dashes)] if self.dashes else dash(position)

    def until(self) -> float:
        """End of the time axis in seconds."""
        return self.end_s or max(largest(table["time_s"]) for table in self.curves.values())


def largest(values: pl.Series) -> float:
    """The largest value, 0 without any."""
    known = values.cast(pl.Float64).drop_nulls().to_list()
    return max(known, default=0.0)


def small_multiples(
    panels: Sequence[Panel],
    *,
    ylabel: str,
    top: float,
    columns: int = 2,
    labels: dict[str, str] | None = None,
    panel_height: float = 1.75,
    xlabel: str = "Time [s]",
    level: tuple[float, str] | None = None,
    band: str = "",
) -> Figure:
    """Draws panels on a grid with common axes, and one legend above all of them.

    The y axis goes from 0 to ``top``; ``labels`` renames curves in the legend. ``level`` is a value at which a line is
    drawn in every panel, with its legend entry; ``band`` is the legend entry of the bands, if there are any.
    """
    if not panels:
        raise ValueError("panels: none given")
    rows = -(-len(panels) // columns)
    with style():
        figure = Picture(figsize=(WIDTH_INCHES, rows * panel_height + 0.75), layout="constrained")
        one_end = len({panel.until() for panel in panels}) == 1
        grid = figure.subplots(rows, columns, sharex=one_end, sharey=True, squeeze=False)
        entries: dict[str, Line2D | Patch] = {}
        for number, axes in enumerate(grid.flat):
            if number >= len(panels):
                axes.remove()
                continue
            for entry in draw(axes, panels[number], labels or {}):
                entries.setdefault(str(entry.get_label()), entry)
            if level is not None:
                line = axes.axhline(level[0], color=BLACK, linewidth=0.8, linestyle=":", label=level[1])
                entries.setdefault(level[1], line)
            axes.set_ylim(0, top)
            if number % columns == 0:
                axes.set_ylabel(ylabel)
            if number + columns >= len(panels):
                axes.set_xlabel(xlabel)
                axes.xaxis.set_tick_params(labelbottom=True)
        if band and any(table["low"].count() for panel in panels for table in panel.curves.values()):
            entries[band] = Patch(color=BLACK, alpha=0.2, linewidth=0, label=band)
        columns = legend_columns(list(entries))
        figure.legend(handles=list(entries.values()), loc="outside upper center", ncols=columns, borderaxespad=0.2)
    return figure


def legend_columns(names: Sequence[str]) -> int:
    """The most columns, five or fewer, in which names fit into the width of a figure, as they fill column by column."""
    for columns in range(min(len(names), 5), 1, -1):
        widths = [max(map(len, part)) for part in np.array_split(np.array(names, dtype=object), columns)]
        if sum(widths) + _HANDLE * len(widths) <= _LETTERS:
            return columns
    return 1


def draw(axes: Axes, panel: Panel, labels: dict[str, str]) -> list[Line2D | Patch]:
    """Draws one panel and returns its legend entries."""
    end = panel.until()
    entries: list[Line2D | Patch] = []
    for position, (name, table) in enumerate(panel.curves.items()):
        check_columns(name, table, ("time_s", "mean", "low", "high"))
        tone, line = panel.look(name, position)
        for _, one in panel.faint.get(name, _NO_CURVES).group_by("curve", maintain_order=True):
            axes.plot(*_xy(one, "value", panel), color=tone, linewidth=0.5, alpha=0.25, zorder=1.5)
        if table["low"].count():
            times, low = _xy(table, "low", panel)
            _, high = _xy(table, "high", panel)
            axes.fill_between(times, np.maximum(low, 0), high, color=tone, alpha=0.25, linewidth=0, label="_band")
        width = 1.2 + (1.6 * (len(panel.curves) - 1 - position) if panel.layered else 0)
        entries += axes.plot(
            *_xy(table, "mean", panel), color=tone, linestyle=line, linewidth=width, label=labels.get(name, name)
        )
    if panel.shading:
        entries += panel.shading.draw(axes, end, start_s=panel.start_s)
    if panel.run_ended_s:
        entries.append(axes.axvline(panel.run_ended_s, color=BLACK, linewidth=0.8, linestyle=":", label=RUN_END))
    axes.set_xlim(panel.start_s, end)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6))
    axes.set_title(panel.title)
    return entries


_NO_CURVES = pl.DataFrame(schema={"curve": pl.Int64, "time_s": pl.Float64, "value": pl.Float64})
Values = np.ndarray[Any, np.dtype[np.float64]]


def _xy(table: pl.DataFrame, column: str, panel: Panel) -> tuple[Values, Values]:
    """The points of a line; steps need each point twice. Null becomes a gap."""
    times, values = (table[name].cast(pl.Float64).to_numpy() for name in ("time_s", column))
    if not panel.steps or not len(times):
        return times, values
    return np.repeat(np.append(times, max(panel.until(), times[-1])), 2)[1:-1], np.repeat(values, 2)
