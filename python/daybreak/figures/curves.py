"""Mean curves over time with confidence bands, one panel or small multiples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from daybreak.figures.shading import Shading
from daybreak.figures.style import WIDTH_INCHES, colour, style
from daybreak.metrics.errors import check_columns


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    ``curves`` maps a curve's name to a table ``time_s, mean, low, high`` as `metrics.confidence.over_runs`
    makes it (``low`` and ``high`` may be null). ``end_s`` ends the time axis; 0 takes the last time.
    ``layered`` draws the first curves thick and later ones thin, for curves that lie on each other.
    """

    title: str
    curves: dict[str, pl.DataFrame]
    shading: Shading | None = None
    end_s: float = 0.0
    layered: bool = False

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
) -> Figure:
    """Panels on a common grid with common axes, and one legend above all of them.

    ``top`` ends the y axis, which starts at 0; ``labels`` gives curves another name in the legend.
    """
    if not panels:
        raise ValueError("panels: none given")
    rows = -(-len(panels) // columns)
    with style():
        figure, grid = plt.subplots(
            rows,
            columns,
            figsize=(WIDTH_INCHES, rows * panel_height + 0.75),
            sharex=len({panel.until() for panel in panels}) == 1,
            sharey=True,
            squeeze=False,
            layout="constrained",
        )
        entries: dict[str, Line2D | Patch] = {}
        for number, axes in enumerate(grid.flat):
            if number >= len(panels):
                axes.remove()
                continue
            for entry in draw(axes, panels[number], labels or {}):
                entries.setdefault(str(entry.get_label()), entry)
            axes.set_ylim(0, top)
            if number % columns == 0:
                axes.set_ylabel(ylabel)
            if number + columns >= len(panels):
                axes.set_xlabel(xlabel)
                axes.xaxis.set_tick_params(labelbottom=True)
        figure.legend(
            handles=list(entries.values()), loc="outside upper center", ncols=min(len(entries), 5), borderaxespad=0.2
        )
    plt.close(figure)
    return figure


def draw(axes: Axes, panel: Panel, labels: dict[str, str]) -> list[Line2D | Patch]:
    """Draws one panel and returns its legend entries."""
    end = panel.until()
    entries: list[Line2D | Patch] = []
    for position, (name, table) in enumerate(panel.curves.items()):
        check_columns(name, table, ("time_s", "mean", "low", "high"))
        tone = colour(name, position)
        times = table["time_s"].to_numpy()
        known = table.filter(pl.col("low").is_not_null())
        if known.height:
            axes.fill_between(
                known["time_s"].to_numpy(),
                known["low"].clip(lower_bound=0).to_numpy(),
                known["high"].to_numpy(),
                color=tone,
                alpha=0.25,
                linewidth=0,
                label="_band",
            )
        width = 1.2 + (1.6 * (len(panel.curves) - 1 - position) if panel.layered else 0)
        entries += axes.plot(times, table["mean"].to_numpy(), color=tone, linewidth=width, label=labels.get(name, name))
    if panel.shading:
        entries += panel.shading.draw(axes, end)
    axes.set_xlim(0, end)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6))
    axes.set_title(panel.title)
    return entries
