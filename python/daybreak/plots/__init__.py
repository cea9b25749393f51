"""Plots of runs: what `daybreak plot`, `daybreak.plot` and `run.plot` draw."""

from collections.abc import Iterable
from typing import Any

from matplotlib.figure import Figure

from daybreak.runs import Run

from .distributions import DISTRIBUTIONS
from .draw import AnnotatedFigure, FigureContent, draw, figure_content
from .files import check, write
from .network import Network
from .notebook import as_html
from .quantities import QUANTITIES

__all__ = [
    "DISTRIBUTIONS", "QUANTITIES", "AnnotatedFigure", "FigureContent", "Network", "as_html", "check", "draw",
    "figure_content", "plot", "write",
]  # fmt: skip


def plot(runs: Iterable[Run], **options: Any) -> Figure:
    """A figure of runs over time, or of one of `DISTRIBUTIONS`; options as in `figure_content`. Raises PlotError,
    UsageError.

    A notebook displays the figure as the result of a cell; in a script call its method `show`;
    ``savefig("name.png")`` saves it.
    """
    return draw(list(runs), **options).figure
