"""Where completion times went: one stacked bar per flow and per group."""

from __future__ import annotations

import matplotlib.pyplot as plt
import polars as pl
from matplotlib.figure import Figure

from daybreak.figures.style import BLUE, GREEN, NIGHT, ORANGE, PURPLE, SKY, VERMILION, WIDTH_INCHES, style, words
from daybreak.metrics.explanation import COLUMNS, PARTS, rows
from daybreak.metrics.units import TIMES, unit_of

COLOURS = dict(
    zip(PARTS, (GREEN, NIGHT, SKY, BLUE, PURPLE, ORANGE, VERMILION, "#F0E442"), strict=True),
)  # fmt: skip
"""Each part's colour."""


MOST_FLOWS = 24
"""The most flows that have a bar of their own."""


def bars(flows: pl.DataFrame, groups: pl.DataFrame, *, most_flows: int = MOST_FLOWS) -> Figure:
    """Stacked bars of the parts: for each group of several flows the mean of these, then the first flows.

    ``flows`` and ``groups`` are results of `metrics.explanation`. Raises ValueError if there is no flow.
    """
    if not flows.height:
        raise ValueError("flows: none has ended")
    shown = rows(flows, groups, most_flows=most_flows)
    present = [number for number, name in enumerate(COLUMNS) if flows[name].sum()]
    scale, unit = unit_of((fct for _, fct, _ in shown), TIMES)
    with style():
        figure, axes = plt.subplots(figsize=(WIDTH_INCHES, 0.9 + 0.28 * len(shown)), layout="constrained")
        left = [0.0] * len(shown)
        for number in present:
            widths = [parts[number] / scale for _, _, parts in shown]
            label = PARTS[number].replace("_", " ")
            axes.barh(range(len(shown)), widths, 0.7, left=left, color=COLOURS[PARTS[number]], label=label)
            left = [before + width for before, width in zip(left, widths, strict=True)]
        axes.set_yticks(range(len(shown)), [words(name) for name, _, _ in shown])
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.set_xlabel(f"FCT [{unit}]")
        figure.legend(loc="outside upper center", ncols=4)
    return figure
