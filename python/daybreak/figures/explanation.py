"""Where the completion times have gone: one stacked bar a flow, one a group."""

from __future__ import annotations

import matplotlib.pyplot as plt
import polars as pl
from matplotlib.figure import Figure

from daybreak.figures.style import BLUE, GREEN, NIGHT, ORANGE, PURPLE, SKY, VERMILION, WIDTH_INCHES, style
from daybreak.metrics.explanation import PARTS

COLOURS = dict(
    zip(PARTS, (GREEN, NIGHT, SKY, BLUE, PURPLE, ORANGE, VERMILION, "#F0E442"), strict=True),
)  # fmt: skip
"""Each part's colour."""


def bars(flows: pl.DataFrame, groups: pl.DataFrame, *, most_flows: int = 24) -> Figure:
    """Stacked bars of the parts in seconds: for each group the mean of its flows, then the first flows.

    ``flows`` and ``groups`` are what `metrics.explanation` makes. Raises ValueError without any flow.
    """
    if not flows.height:
        raise ValueError("flows: none has ended")
    columns = [f"{part}_ns" for part in PARTS]
    means = groups.with_columns(pl.col(name) / pl.col("flows") for name in columns).select("group", *columns)
    shown = flows.head(most_flows).select("flow_name", *columns)
    rows = [(f"group {name}", *parts) for name, *parts in means.iter_rows()] + list(shown.iter_rows())
    present = [number for number, name in enumerate(columns) if flows[name].sum()]
    with style():
        figure, axes = plt.subplots(figsize=(WIDTH_INCHES, 0.9 + 0.28 * len(rows)), layout="constrained")
        left = [0.0] * len(rows)
        for number in present:
            widths = [row[1 + number] / 1e9 for row in rows]
            label = PARTS[number].replace("_", " ")
            axes.barh(range(len(rows)), widths, 0.7, left=left, color=COLOURS[PARTS[number]], label=label)
            left = [before + width for before, width in zip(left, widths, strict=True)]
        axes.set_yticks(range(len(rows)), [row[0] for row in rows])
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("FCT (s)")
        figure.legend(loc="outside upper center", ncols=4)
    return figure
