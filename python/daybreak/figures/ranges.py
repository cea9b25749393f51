"""Medians with ranges over several runs, one row per case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from daybreak.figures.style import WIDTH_INCHES, colour, style


def ranges(rows: Mapping[str, Mapping[str, Sequence[float]]], *, xlabel: str) -> Figure:
    """``rows`` maps a case's name to its values by series: a point at the median, a line from least to largest."""
    if not rows:
        raise ValueError("rows: none given")
    series = list(dict.fromkeys(name for values in rows.values() for name in values))
    with style():
        figure, axes = plt.subplots(figsize=(WIDTH_INCHES, 0.3 * len(rows) + 1.1), layout="constrained")
        for position, name in enumerate(series):
            look = colour(name, position)
            offset = 0.3 * (position - (len(series) - 1) / 2) / max(len(series) - 1, 1)
            places = [place for place, values in enumerate(rows.values()) if values.get(name)]
            found = [np.asarray(values[name], dtype=float) for values in rows.values() if values.get(name)]
            heights = np.asarray(places) + offset
            axes.hlines(heights, [one.min() for one in found], [one.max() for one in found], color=look, linewidth=1.5)
            axes.plot([float(np.median(one)) for one in found], heights, "o", color=look, markersize=5, label=name)
        axes.set_yticks(range(len(rows)), list(rows))
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlabel(xlabel)
        figure.legend(loc="outside upper center", ncols=len(series), borderaxespad=0.2)
    plt.close(figure)
    return figure
