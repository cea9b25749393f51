"""Predicted beside measured values: the publication's figure 8."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from daybreak.figures.style import BLUE, VERMILION, WIDTH_INCHES, style


def scatter(
    actual: np.ndarray[Any, Any], predicted: np.ndarray[Any, Any], places: Sequence[str], *, seed: int = 1
) -> Figure:
    """Draws actual and predicted prolongations (s), one of each per run, side by side at the run's cycle
    (``places``)."""
    names = list(dict.fromkeys(places))
    at = np.array([names.index(place) for place in places])
    spread = np.random.default_rng(seed).uniform(-0.14, 0.14, len(at))
    with style():
        figure, axes = plt.subplots(figsize=(WIDTH_INCHES, 3.0), layout="constrained")
        for values, offset, marker, colour, name in (
            (actual, -0.18, "o", BLUE, "actual"), (predicted, 0.18, "x", VERMILION, "predicted"),
        ):  # fmt: skip
            axes.scatter(at + offset + spread, values, 7, color=colour, marker=marker, linewidths=0.7, label=name)
        axes.set_xticks(range(len(names)), names)
        axes.set_xlabel("Day + night")
        axes.set_ylabel("FCT prolongation [s]")
        axes.legend()
    plt.close(figure)
    return figure
