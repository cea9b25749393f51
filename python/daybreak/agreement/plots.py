"""Figures: the curves of a scenario on both engines, overlaid, and the differences over the whole suite."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from daybreak.figures import style
from daybreak.metrics import confidence

from . import scenarios
from .observed import Observation, grouped
from .suite import Case

PANELS = (("delivered", "Goodput [Gb/s]"), ("in_flight", "In flight [kB]"), ("queue", "Queue [packets]"))
KERNEL_LINE, MODEL_LINE = "-", (0, (2.5, 1.2))


def overlay(case: Case, kernel: Sequence[Observation], model: Sequence[Observation]) -> Figure:
    """Means over the runs with 95 % intervals: the kernel solid, the model dashed, one colour per group of flows."""
    seconds = scenarios.bin_width(case).seconds
    scales = {"delivered": 8e-9 / seconds, "in_flight": 1e-3, "queue": 1.0}
    groups = list(dict.fromkeys(scenarios.groups(case)))
    with style.style():
        figure = style.Picture(figsize=(10.5, 2.1), layout="constrained")
        grid = figure.subplots(1, len(PANELS))
        for axes, (curve, label) in zip(grid.flat, PANELS, strict=True):
            for runs, line in ((kernel, KERNEL_LINE), (model, MODEL_LINE)):
                for group, values in sorted(grouped(runs, curve).items()):
                    tone = style.CYCLE[groups.index(group) if group in groups else len(style.CYCLE) - 1]
                    table = _mean_curve(values, scales[curve])
                    times = (table["slot"] * seconds * 1e3).to_numpy()
                    known = table.filter(pl.col("low").is_not_null())
                    if known.height:
                        axes.fill_between(
                            (known["slot"] * seconds * 1e3).to_numpy(), known["low"].to_numpy(),
                            known["high"].to_numpy(), color=tone, alpha=0.15, linewidth=0,
                        )  # fmt: skip
                    axes.plot(times, table["mean"].to_numpy(), color=tone, linestyle=line)
            axes.set_ylim(bottom=0)
            axes.set_xlim(left=0)
            axes.set_ylabel(label)
            axes.set_xlabel("Time [ms]")
    return figure


def differences(rows: Sequence[dict[str, Any]]) -> Figure:
    """The relative difference of every FCT as a sorted curve, with the suite's two limits."""
    sizes = sorted(abs(row["relative"]) * 100 for row in rows if row["metric"] == "fct" and row["relative"] is not None)
    parts = [100 * (i + 1) / len(sizes) for i in range(len(sizes))]
    with style.style():
        figure = style.Picture(figsize=(style.WIDTH_INCHES, 2.4), layout="constrained")
        axes = figure.subplots()
        axes.step(sizes, parts, where="post", color=style.BLUE)
        axes.plot([2, 6], [50, 90], linestyle="none", marker="D", markersize=5, color=style.VERMILION)
        axes.set_xscale("symlog", linthresh=0.1)
        axes.set_xlabel("Difference of the mean FCT [%] (diamonds: at least this share within this difference)")
        axes.set_ylabel("Of all rows [%]")
        axes.set_ylim(0, 100)
        axes.set_xlim(left=0)
    return figure


def png(figure: Figure) -> bytes:
    """The figure as a small PNG, the same bytes for the same figure."""
    file = io.BytesIO()
    with style.style():
        figure.savefig(file, format="png", dpi=80, metadata={"Software": None})
    return file.getvalue()


def save_svg(figure: Figure, path: Path) -> None:
    """Writes the figure as SVG, the same bytes for the same figure."""
    with style.style():
        figure.savefig(path, metadata={"Date": None, "Creator": None})


def _mean_curve(runs: Sequence[dict[int, float]], scale: float) -> pl.DataFrame:
    slots = sorted({slot for run in runs for slot in run})
    table = pl.DataFrame(
        {
            "slot": [slot for _ in runs for slot in slots],
            "value": [run.get(slot, 0.0) * scale for run in runs for slot in slots],
        },
        schema={"slot": pl.Int64, "value": pl.Float64},
    )
    return confidence.over_runs(table, ["slot"], "value")
