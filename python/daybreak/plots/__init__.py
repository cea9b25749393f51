"""From runs to figures: what `daybreak plot`, `daybreak.plot` and `run.plot` draw."""

from collections.abc import Iterable
from typing import Any

from matplotlib.figure import Figure

from daybreak.runs import Run

from .distributions import DISTRIBUTIONS
from .draw import Drawn, Shown, draw, shown
from .files import check, write
from .notebook import as_html
from .quantities import QUANTITIES

__all__ = ["DISTRIBUTIONS", "QUANTITIES", "Drawn", "Shown", "as_html", "check", "draw", "plot", "shown", "write"]


def plot(runs: Iterable[Run], **options: Any) -> Figure:
    """What runs show over time, or one of `DISTRIBUTIONS`, as a figure; the options are those of `shown`. Raises
    PlotError.

    A notebook shows the figure where it is the result of a cell, a script with its method `show`;
    ``savefig("name.png")`` keeps it.
    """
    return draw(list(runs), **options).figure
