"""Distributions: cumulative shares, percentiles by size, and bars of shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from daybreak.figures.log_axis import set_log
from daybreak.figures.style import WIDTH_INCHES, Picture, colour, dash, style, words

_MOST_POINTS = 2000
_LINES: tuple[Any, ...] = ("-", (0, (5, 2)), ":", "-.")
_HEIGHT = 3.1
_BESIDE_POINTS = 3
"""Room between a bar and its label."""


def cumulative(
    curves: Mapping[str, pl.DataFrame], *, xlabel: str, ylabel: str, title: str, log: bool = False
) -> Figure:
    """Draws cumulative distributions as steps: tables ``value, share`` (0 to 1), the values in rising order.

    A curve ends below 1 if some flows did not end. Long curves are thinned out to some thousand points.
    """
    if not curves:
        raise ValueError("curves: none given")
    with style():
        figure = Picture(figsize=(WIDTH_INCHES, _HEIGHT), layout="constrained")
        axes = figure.subplots()
        for at, (name, table) in enumerate(curves.items()):
            kept = table.gather_every(-(-table.height // _MOST_POINTS)) if table.height > _MOST_POINTS else table
            values, shares = (kept[column].cast(pl.Float64).to_numpy() for column in ("value", "share"))
            start = values[:1] if log else np.minimum(values[:1], 0)
            axes.step(
                np.concatenate([start, values]), np.append(0, shares), where="post", color=colour(name, at),
                linestyle=dash(at), label=words(name),
            )  # fmt: skip
        axes.set_ylim(0, 1.02)
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
        if log:
            set_log(axes, "x")
        else:
            axes.set_xlim(left=0)
        figure.legend(loc="outside upper center", ncols=4, title=title, title_fontsize=9.5)
    return figure


def by_bins(
    bins: Sequence[str], curves: Mapping[str, Mapping[str, Sequence[float | None]]], *, xlabel: str, ylabel: str,
    title: str, level: float | None = None,
) -> Figure:  # fmt: skip
    """Draws a line for each curve and percentile over bins; the y axis is logarithmic.

    ``curves`` maps a name (a colour) and a percentile (a dash pattern) to one value per bin. None is a gap. ``level``
    is a value at which a thin line is drawn.
    """
    if not curves:
        raise ValueError("curves: none given")
    with style():
        figure = Picture(figsize=(WIDTH_INCHES, _HEIGHT), layout="constrained")
        axes = figure.subplots()
        entries: list[Line2D] = []
        dashes = dict(zip(dict.fromkeys(part for lines in curves.values() for part in lines), _LINES, strict=False))
        # Where there is one bin, there are no dashes to tell the percentiles apart.
        filled: dict[str, Literal["full", "none"]] = {
            part: "full" if at == 0 else "none" for at, part in enumerate(dashes)
        }
        for at, (name, lines) in enumerate(curves.items()):
            entries.append(Line2D([], [], color=colour(name, at), label=words(name)))
            for part, values in lines.items():
                heights = [np.nan if value is None else value for value in values]
                axes.plot(
                    range(len(bins)), heights, color=colour(name, at), linestyle=dashes[part], marker="o",
                    markersize=3.5, fillstyle=filled[part],
                )  # fmt: skip
        entries += [
            Line2D([], [], color="0.3", linestyle=dash, marker="o", markersize=3.5, fillstyle=filled[part], label=part)
            for part, dash in dashes.items()
        ]
        if level is not None:
            axes.axhline(level, color="0.5", linewidth=0.8)
        set_log(axes, "y")
        axes.set_xticks(range(len(bins)), bins)
        axes.set_xlim(-0.3, len(bins) - 0.7)
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
        figure.legend(handles=entries, loc="outside upper center", ncols=5, title=title, title_fontsize=9.5)
    return figure


def bars(
    places: Sequence[str], series: Mapping[str, Sequence[tuple[float | None, str]]], *, xlabel: str, title: str
) -> Figure:
    """Draws horizontal bars of shares (0 to 1): at each place one per series, with a label beside it."""
    if not places:
        raise ValueError("places: none given")
    width = 0.8 / len(series)
    with style():
        height = 1.1 + 0.22 * len(places) * max(1.0, 0.6 * len(series))
        figure = Picture(figsize=(WIDTH_INCHES, height), layout="constrained")
        axes = figure.subplots()
        for at, (name, values) in enumerate(series.items()):
            spots = [place - 0.4 + width * (at + 0.5) for place in range(len(places))]
            lengths = [value or 0.0 for value, _ in values]
            axes.barh(spots, lengths, width * 0.9, color=colour(name, at))
            for spot, (value, word) in zip(spots, values, strict=True):
                said = ", ".join(part for part in ("-" if value is None else f"{value:.1%}", word) if part)
                axes.annotate(
                    said, (value or 0.0, spot), (_BESIDE_POINTS, 0), textcoords="offset points", va="center",
                    fontsize=7.5,
                )  # fmt: skip
        axes.set_yticks(range(len(places)), [words(place, 30) for place in places])
        longest = max((value or 0.0 for values in series.values() for value, _ in values), default=0.0)
        axes.set_xlim(0, 1.25 * longest or 1.0)
        axes.set_ylim(len(places) - 0.4, -0.6)
        axes.xaxis.set_major_formatter(PercentFormatter(1.0))
        axes.grid(axis="y", visible=False)
        axes.set_xlabel(xlabel)
        entries = [Patch(facecolor=colour(name, at), label=words(name)) for at, name in enumerate(series)]
        figure.legend(
            handles=entries if len(entries) > 1 else [], loc="outside upper center", ncols=4, title=title,
            title_fontsize=9.5,
        )  # fmt: skip
    return figure
