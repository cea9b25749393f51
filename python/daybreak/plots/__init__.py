"""From runs to figures: what `daybreak plot`, `daybreak.plot` and `run.plot` draw."""

from collections.abc import Iterable
from typing import Any

from matplotlib.figure import Figure

from daybreak.runs import Run

from .draw import Drawn, Shown, draw, shown
from .files import check, write
from .quantities import QUANTITIES

__all__ = ["QUANTITIES", "Drawn", "Shown", "check", "draw", "plot", "shown", "write"]


def plot(runs: Iterable[Run], **options: Any) -> Figure:
    """What runs of one scenario show over time, as a figure; the options are those of `shown`. Raises PlotError."""
    return draw(list(runs), **options).figure
