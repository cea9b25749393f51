"""Plots of runs: what `daybreak plot`, `daybreak.plot` and `run.plot` draw."""

from collections.abc import Iterable, Sequence

from matplotlib.figure import Figure

from daybreak.errors import UsageError
from daybreak.runs import Run
from daybreak.scenario import Span

from .distributions import DISTRIBUTIONS
from .draw import AnnotatedFigure, FigureContent, draw, figure_content
from .files import check, write
from .network import Network, link_use
from .notebook import as_html
from .quantities import QUANTITIES

__all__ = [
    "DISTRIBUTIONS", "QUANTITIES", "AnnotatedFigure", "FigureContent", "Network", "as_html", "check", "draw",
    "figure_content", "link_use", "plot", "write",
]  # fmt: skip


def plot(
    runs: Run | Iterable[Run],
    *,
    what: str | Sequence[str] | None = None,
    by: str | None = None,
    flows: str | None = None,
    from_: str | Span | None = None,
    to: str | Span | None = None,
    fold: str | Span | None = None,
    timeline: str | None = None,
    phase: str | None = None,
    facet: bool = False,
    labels: Sequence[str] | None = None,
) -> Figure:
    """A figure of runs over time, or of one of `DISTRIBUTIONS`.

    Several runs of one scenario are drawn as their mean with its 95 % interval. Runs of several scenarios are
    overlaid, or side by side with ``facet``. ``what`` are the quantities ("throughput, cwnd", or a list); by default
    all recorded ones except goodput and sequence. ``by`` is what a curve stands for: "flow", "group", "variant" or
    "run". ``flows`` is a pattern for the names of flows. ``from_`` and ``to`` are times such as "5 ms". ``fold`` is the
    length of a week, or "week" for the timeline's period: all weeks are overlaid. ``timeline`` and ``phase`` name what
    is shaded. ``labels`` name runs that their scenarios' names do not distinguish. Raises PlotError, UsageError.

    A notebook displays the figure as the result of a cell; in a script call its method `show`;
    ``savefig("name.png")`` saves it.
    """
    some = [runs] if isinstance(runs, Run) else runs
    found = list(some) if isinstance(some, Iterable) else [some]
    if not all(isinstance(run, Run) for run in found):
        raise UsageError(f"runs = {runs!r}: expected runs, such as those of daybreak.read_all(FOLDER)")
    return draw(
        found, what=what, by=by, flows=flows, from_=from_, to=to, fold=fold, timeline=timeline, phase=phase,
        facet=facet, labels=labels,
    ).figure  # fmt: skip
