"""Measures over the axes of a sweep: lines with bands, and heat maps."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from daybreak.figures.curves import largest
from daybreak.figures.style import WIDTH_INCHES, Picture, colour, style, words
from daybreak.metrics.units import digits

_MOST_FACETS_A_ROW = 3
_LARGE_RATIO = 30
_LABELS_LONG = 14
_LONGEST_NOTE, _NOTE_WIDTH = 400, 105
_BESIDE = 0.5
"""The part of the distance between two places that the marks of one place take."""


@dataclass(frozen=True)
class Lines:
    """A facet of lines: tables ``x, mean, low, high`` by name; ``low`` and ``high`` may be null."""

    title: str
    curves: Mapping[str, pl.DataFrame]


@dataclass(frozen=True)
class Axis:
    """The content of an axis: ``numbers``, including those where nothing is drawn; or ``places``, names at 0, 1, 2
    ..."""

    label: str
    places: Sequence[str] = field(default_factory=tuple)
    numbers: Sequence[float] = field(default_factory=tuple)


def lines(facets: Sequence[Lines], *, x: Axis, ylabel: str, title: str, legend: str = "", note: str = "") -> Figure:
    """Draws a line with marks and a band for each curve, error bars for isolated marks; the x axis is logarithmic if
    its numbers span more than a decade and a half. Where the places have names, which have no order, marks with error
    bars stand beside each other. The y axis starts at 0. ``note`` is placed below the title.
    """
    names = list(dict.fromkeys(name for facet in facets for name in facet.curves))
    if not names:
        raise ValueError("curves: none given")
    with style():
        figure, grid = _grid(len(facets))
        entries = {}
        for axes, facet in zip(grid, facets, strict=True):
            for name, table in facet.curves.items():
                at, mean, low, high = (table[one].cast(pl.Float64).to_numpy() for one in ("x", "mean", "low", "high"))
                tone = colour(name, names.index(name))
                low = np.maximum(low, 0)
                if x.places:
                    at = at + _BESIDE * (names.index(name) - (len(names) - 1) / 2) / len(names)
                elif table["low"].count():
                    axes.fill_between(at, low, high, color=tone, alpha=0.22, linewidth=0)
                alone = np.isfinite(low) & (np.isfinite(mean) if x.places else _alone(mean))
                if alone.any():
                    bars = np.array([mean - low, high - mean])[:, alone]
                    axes.errorbar(at[alone], mean[alone], yerr=bars, color=tone, fmt="none", capsize=3, elinewidth=1)
                (entries[name],) = axes.plot(
                    at, mean, color=tone, marker="o", markersize=3.5 if not x.places else 5, label=words(name),
                    linestyle="none" if x.places else "-",
                )  # fmt: skip
            _x(axes, x, x.numbers or [value for table in facet.curves.values() for value in table["x"]])
            axes.set_title(words(facet.title, 60))
        highest = [
            largest(table[one]) for facet in facets for table in facet.curves.values() for one in ("mean", "high")
        ]
        # Room for half a mark.
        grid[0].set_ylim(0, 1.08 * max(highest) or 1.0)
        for number, axes in enumerate(grid):
            if number % min(len(facets), _MOST_FACETS_A_ROW) == 0:
                axes.set_ylabel(ylabel)
        said = _under(title + (f"\ncolour: {legend}" if legend else ""), note)
        shown = [entries[name] for name in names] if len(names) > 1 else []
        top = figure.legend(handles=shown, loc="outside upper center", ncols=4, title=said, title_fontsize=9.5)
        top.get_title().set_multialignment("center")
    return figure


def heat(
    facets: Sequence[tuple[str, np.ndarray[tuple[int, int], np.dtype[np.float64]]]], *, x: Axis, y: Axis, label: str,
    title: str, unknown: str = "", note: str = "",
) -> Figure:  # fmt: skip
    """Draws one heat map per facet with the number in each field: rows of an array go up, columns to the right. All
    share one scale; NaN is an empty field with the text ``unknown``. ``note`` is placed below the title."""
    values = np.concatenate([array.ravel() for _, array in facets])
    known = values[np.isfinite(values)]
    if not known.size:
        raise ValueError("values: all are unknown")
    with style():
        figure, grid = _grid(len(facets), row_inches=0.9 + 0.32 * max(4, len(y.places)))
        low, high = float(known.min()), float(known.max())
        for axes, (name, array) in zip(grid, facets, strict=True):
            image = axes.imshow(array, origin="lower", aspect="auto", cmap="viridis", vmin=low, vmax=high)
            for (row, column), value in np.ndenumerate(array):
                if array.size <= 150:
                    tone = "white" if value < (low + high) / 2 else "black"
                    said = digits(float(value), 3) if np.isfinite(value) else unknown
                    axes.text(column, row, said, ha="center", va="center", color=tone, fontsize=7.5)
            axes.grid(visible=False)
            _x(axes, x, [])
            axes.set_yticks(range(len(y.places)), list(y.places))
            axes.set_ylabel(y.label)
            axes.set_title(words(name, 60))
        figure.colorbar(image, ax=list(grid), label=label)
        figure.suptitle(_under(title, note), fontsize=9.5)
    return figure


def _alone(mean: np.ndarray[tuple[int], np.dtype[np.float64]]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which means have no neighbour, so that neither a line nor a band shows them."""
    known = np.pad(np.isfinite(mean), 1)
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = known[1:-1] & ~known[:-2] & ~known[2:]
    return found


def _under(title: str, note: str) -> str:
    return "\n".join([title, *textwrap.wrap(words(note, _LONGEST_NOTE), _NOTE_WIDTH)])


def _grid(count: int, row_inches: float = 2.5) -> tuple[Figure, list[Axes]]:
    columns = min(count, _MOST_FACETS_A_ROW)
    rows = -(-count // columns)
    figure = Picture(figsize=(WIDTH_INCHES, rows * row_inches + 0.7), layout="constrained")
    grid = list(figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat)
    for axes in grid[count:]:
        axes.remove()
    for axes in grid[:count][max(0, count - columns) :]:
        axes.xaxis.set_tick_params(labelbottom=True)
    return figure, grid[:count]


def _x(axes: Axes, x: Axis, numbers: Sequence[float]) -> None:
    axes.set_xlabel(x.label)
    if x.places:
        is_long = max(map(len, x.places)) * len(x.places) > 6 * _LABELS_LONG
        axes.set_xticks(range(len(x.places)), [words(place, 24) for place in x.places])
        if is_long:
            axes.tick_params(axis="x", labelrotation=30)
            for text in axes.get_xticklabels():
                text.set_horizontalalignment("right")
    elif numbers and min(numbers) > 0 and max(numbers) / min(numbers) > _LARGE_RATIO:
        axes.set_xscale("log")
        axes.set_xticks(sorted(set(numbers)), [f"{number:g}" for number in sorted(set(numbers))])
        axes.minorticks_off()
    if x.numbers and len(set(numbers)) > 1:
        # The axis spans all numbers, including those without data.
        axes.update_datalim([(number, axes.dataLim.y0) for number in numbers], updatey=False)
        axes.autoscale_view(scaley=False)
