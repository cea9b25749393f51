"""Curves around an event, which is at time 0 and drawn as a vertical line."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
import polars as pl
from matplotlib.artist import Artist
from matplotlib.figure import Figure

from daybreak.figures.style import WIDTH_INCHES, colour, style
from daybreak.metrics.errors import check_columns


@dataclass(frozen=True)
class EventPanel:
    """One pair of axes.

    ``curves`` maps a curve's name to a table with ``time_s`` (0 at the event) and ``value``; ``span_s`` is the time
    span that is drawn; ``dashed`` names curves with dashed lines; ``level`` is a horizontal line.
    """

    title: str
    curves: Mapping[str, pl.DataFrame]
    span_s: tuple[float, float]
    dashed: frozenset[str] = frozenset()
    level: float | None = None


def around_event(
    panels: Sequence[EventPanel],
    *,
    ylabel: str,
    columns: int = 2,
    xlabel: str = "Time after the move [s]",
    panel_height: float = 2.1,
) -> Figure:
    """Draws panels on a grid, each with its own axes from 0, and one legend above all of them."""
    if not panels:
        raise ValueError("panels: none given")
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    with style():
        figure, grid = plt.subplots(
            rows, columns, figsize=(WIDTH_INCHES, rows * panel_height + 0.6), squeeze=False, layout="constrained"
        )
        entries: dict[str, Artist] = {}
        for number, axes in enumerate(grid.flat):
            if number >= len(panels):
                axes.remove()
                continue
            panel = panels[number]
            for position, (name, table) in enumerate(panel.curves.items()):
                check_columns(name, table, ("time_s", "value"))
                shown = table.filter((pl.col("time_s") >= panel.span_s[0]) & (pl.col("time_s") <= panel.span_s[1]))
                (line,) = axes.plot(
                    shown["time_s"].to_numpy(),
                    shown["value"].to_numpy(),
                    color=colour(name, position),
                    linestyle="--" if name in panel.dashed else "-",
                    label=name,
                )
                entries.setdefault(name, line)
            axes.axvline(0, color="0.5", linewidth=0.8)
            if panel.level is not None:
                axes.axhline(panel.level, color="0.5", linewidth=0.8, linestyle=":")
            axes.set_xlim(*panel.span_s)
            axes.set_ylim(bottom=0)
            axes.set_title(panel.title)
            if number % columns == 0:
                axes.set_ylabel(ylabel)
            if number + columns >= len(panels):
                axes.set_xlabel(xlabel)
        named = list(entries.values())
        figure.legend(handles=named, loc="outside upper center", ncols=min(len(named), 4), borderaxespad=0.2)
    plt.close(figure)
    return figure


def heat(
    values: Mapping[tuple[str, str], float], *, label: str, low: float, high: float, text: str = "{:.0f}"
) -> Figure:
    """Draws a table of numbers with colours: ``values`` by row and column, in the order of first occurrence."""
    rows, columns = (list(dict.fromkeys(key[axis] for key in values)) for axis in (0, 1))
    with style():
        figure, axes = plt.subplots(figsize=(WIDTH_INCHES, 0.38 * len(rows) + 1.2), layout="constrained")
        grid = [[values.get((row, column), float("nan")) for column in columns] for row in rows]
        image = axes.imshow(grid, cmap="RdBu_r", vmin=low, vmax=high, aspect="auto")
        for y, numbers in enumerate(grid):
            for x, number in enumerate(numbers):
                if not math.isnan(number):
                    dark = abs(number - (low + high) / 2) > 0.3 * (high - low)
                    shown = text.format(number)
                    # A value that rounds to 0 has no sign.
                    shown = "0" if shown in ("+0", "-0") else shown
                    axes.text(x, y, shown, ha="center", va="center", color="white" if dark else "black")
        axes.set_xticks(range(len(columns)), columns)
        axes.set_yticks(range(len(rows)), rows)
        axes.tick_params(length=0)
        axes.grid(visible=False)
        figure.colorbar(image, label=label)
    plt.close(figure)
    return figure
