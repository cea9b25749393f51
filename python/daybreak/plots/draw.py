"""Draws runs over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from matplotlib.figure import Figure
from pydantic_core import PydanticCustomError

from daybreak.errors import PlotError, UsageError
from daybreak.figures.shading import Shading
from daybreak.figures.stacked import Facet, Row, stacked
from daybreak.figures.style import words
from daybreak.runs import Run
from daybreak.scenario import Span

from . import distributions
from .cases import CURVE, MOST_NAMES, Case, cases, with_curves
from .distributions import DISTRIBUTIONS
from .network import Day, Network
from .quantities import QUANTITIES, Source
from .rows import Drawing, rows_of
from .view import Stretch, Timeline, View, Weeks, slots_for, text, weeks_for

WEEK = "week"
_TITLE_LETTERS = 95
"""As many fit above a figure of one column."""
"""The option's word for a timeline's own period."""


@dataclass(frozen=True)
class AnnotatedFigure:
    """A figure, and notes about what it leaves out."""

    figure: Figure
    notes: tuple[str, ...]


@dataclass(frozen=True)
class FigureContent:
    """The content of a figure: its rows in one or several facets, its title and labels, and notes about what it leaves
    out."""

    facets: tuple[Facet, ...]
    title: str
    subtitle: str
    xlabel: str
    notes: tuple[str, ...]

    @property
    def rows(self) -> Sequence[Row]:
        """The rows of the first facet."""
        return self.facets[0].rows


@dataclass(frozen=True)
class Phases:
    """Phases of a timeline that are shaded alike, and their label."""

    steps: Timeline
    names: Sequence[str]
    label: str


def draw(runs: Sequence[Run], **options: Any) -> AnnotatedFigure:
    """Draws what `figure_content` selects, with the same options. ``what`` may also be a comma-separated string, or
    name one of `DISTRIBUTIONS` alone, which takes only the options ``by``, ``flows`` and ``labels``. Raises
    PlotError, UsageError.
    """
    if isinstance(what := options.get("what"), str):
        options["what"] = [name.strip() for name in what.split(",")]
    elif what is not None and not what:
        raise UsageError(f"what = {what}: expected at least one of {', '.join([*QUANTITIES, *DISTRIBUTIONS])}")
    names = [name for name in options.get("what") or () if name in DISTRIBUTIONS]
    if names:
        return _distribution(names[0], runs, **options)
    content = figure_content(runs, **options)
    figure = stacked(content.facets, title=content.title, subtitle=content.subtitle, xlabel=content.xlabel)
    return AnnotatedFigure(figure, content.notes)


def _distribution(
    name: str, runs: Sequence[Run], *, what: Sequence[str], by: str | None = None, flows: str | None = None,
    labels: Sequence[str] | None = None, **others: Any,
) -> AnnotatedFigure:  # fmt: skip
    given = [option.rstrip("_") for option, value in others.items() if value]
    if len(what) > 1 or given:
        besides = " and ".join([*(one for one in what if one != name), *given])
        raise UsageError(f"{name} is drawn alone, over whole runs: remove {besides}")
    notes: list[str] = []
    return AnnotatedFigure(distributions.draw(name, cases(runs, labels), by=by, flows=flows, notes=notes), tuple(notes))


def figure_content(
    runs: Sequence[Run],
    *,
    what: Sequence[str] | None = None,
    by: str | None = None,
    flows: str | None = None,
    from_: str | Span | None = None,
    to: str | Span | None = None,
    fold: str | Span | None = None,
    timeline: str | None = None,
    phase: str | None = None,
    facet: bool = False,
    labels: Sequence[str] | None = None,
    besides: Sequence[str] = (),
    finer: int = 1,
    networks: dict[Run, Network] | None = None,
) -> FigureContent:
    """Selects quantities of `QUANTITIES` over time, drawn one below the other with days and nights shaded.

    Several runs of one scenario on one engine are drawn as their mean with its 95 % interval. Runs of several scenarios
    are overlaid, or side by side with ``facet``. ``what`` are the quantities; by default all recorded ones except
    goodput. ``by`` is what a curve stands for: "flow", "group", "variant" or "run"; by default, for one scenario, flows
    unless there are too many to distinguish, and for several scenarios variants if these distinguish them, or else
    runs. ``flows`` is a pattern for the names of flows. ``from_`` and ``to`` are times such as "5 ms". ``fold`` is the
    length of a week, or "week" for the timeline's period: all weeks from the first reconfiguration on are overlaid.
    ``timeline`` names the timeline that is shaded, by default the first; ``phase`` the phase that is shaded besides the
    nights ("path 1", "day 0"), by default the days in which the same circuits are open for the drawn flows as in the
    first such day, or else the first phase. ``labels`` name runs that their scenarios' names do not distinguish.
    ``besides`` are further quantities that are drawn if they are recorded. With ``finer`` the time has as many times
    the steps, as far as records allow, unless weeks are folded. ``networks`` keeps what was worked out of a
    scenario for the next figure of its run. Raises PlotError, UsageError.
    """
    notes: list[str] = []
    found, kind = with_curves(cases(runs, labels), by, flows, apart=facet)
    curves = max(sum(table[CURVE].n_unique() for table in case.flows) for case in found) or 1
    ended = _ended_ns(runs)
    networks = {} if networks is None else networks
    drawings = []
    for case in found:
        of_case: list[str] = []
        steps = _timeline(case.runs, timeline, of_case)
        start_ns, end_ns = _window(_span("from", from_), _span("to", to), ended)
        own_ns = _ended_ns(case.runs)
        if own_ns <= start_ns:
            notes.append(f'"{case.name}" is not drawn: its run ended at {text(own_ns)}')
            continue
        view: View = Stretch(start_ns, end_ns, slots_for(curves), finer, own_ns if own_ns < end_ns else None)
        if fold is not None:
            view = _weeks((start_ns, min(end_ns, own_ns)), fold=fold, steps=steps, curves=curves, notes=of_case)
        network = networks.setdefault(case.runs[0], Network(case.runs[0]))
        shading = _shading(_phases(network, case.flows[0], steps, phase), view, of_case)
        if shading is not None and own_ns < ended:
            shading = shading.until(own_ns)
        scenario = case.runs[0].scenario
        sources = [Source(run, scenario, table, kind, view) for run, table in zip(case.runs, case.flows, strict=True)]
        drawings.append(Drawing(case, sources, shading, network))
        notes += [note for note in of_case if note not in notes]
    _check_axes(drawings)
    if not facet and len(drawings) > 1:
        drawings = _shaded_alike(drawings, notes)
    facets = [
        Facet(words(drawing.case.name, 60) if facet else "", tuple(rows))
        for drawing, rows in rows_of(drawings, what, facet=facet, notes=notes, besides=besides)
    ]
    if fold is None and (from_ is not None or to is not None):
        _check_window(drawings, facets)
    if not any(one.rows for one in facets):
        raise PlotError(f"there is nothing to draw: {'; '.join(notes)}")
    return FigureContent(tuple(facets), _title(found), _subtitle(drawings), _xlabel(drawings[0].view), tuple(notes))


def _check_window(drawings: Sequence[Drawing], facets: Sequence[Facet]) -> None:
    """Raises UsageError if nothing but 0 is drawn because no drawn flow is under way in the time that is drawn."""
    start_ns, end_ns = (round(1e9 * at) for at in drawings[0].view.axis)
    flows = pl.concat(table.select("start_ns", "end_ns") for drawing in drawings for table in drawing.case.flows)
    starts, ends = flows["start_ns"].cast(pl.Int64), flows["end_ns"].cast(pl.Int64)
    is_under_way = (starts < end_ns) & (ends.is_null() | (ends > start_ns))
    if is_under_way.any() or any(row.top() for one in facets for row in one.rows):
        return
    later = starts.filter(starts >= end_ns).to_list()
    other = f"the next one starts at {text(min(later))}" if later else f"the last one ended at {text(max(ends))}"
    raise UsageError(f"no drawn flow is under way from {text(start_ns)} to {text(end_ns)}: {other}")


def _check_axes(drawings: Sequence[Drawing]) -> None:
    axes = [drawing.view.axis for drawing in drawings]
    for drawing, axis in zip(drawings, axes, strict=True):
        if axis != axes[0]:
            one, other = (text(round(1e9 * (end - start))) for start, end in (axes[0], axis))
            names = f'"{drawings[0].case.name}" and "{drawing.case.name}"'
            raise PlotError(f"the weeks of {names} are of {one} and {other}: expected one length with fold")


def _shaded_alike(drawings: Sequence[Drawing], notes: list[str]) -> list[Drawing]:
    """The drawings with the shading that all share, or without any."""
    first = drawings[0].shading
    end = drawings[0].view.axis[1]
    spans = [(one.bands(end), one.nights(end)) if (one := drawing.shading) else None for drawing in drawings]
    if any(span != spans[0] for span in spans):
        notes.append("days and nights are not shaded: they differ between the runs")
        first = None
    return [Drawing(one.case, one.sources, first, one.network) for one in drawings]


def _timeline(runs: Sequence[Run], name: str | None, notes: list[str]) -> Timeline | None:
    tables = [run.circuits for run in runs if run.manifest["tables"].get("circuits")]
    if not tables:
        if name is not None:
            raise PlotError(f'timeline "{name}" has no step in the run')
        return None
    steps = max(tables, key=len)
    names = steps["timeline_name"].unique(maintain_order=True).to_list()
    if name is not None and name not in names:
        raise PlotError(f'timeline "{name}" has no step in the run: there are {", ".join(names)}')
    if name is None:
        # A timeline that changes only rates or delays has no days and nights.
        names = steps.filter(pl.col("phase") != "")["timeline_name"].unique(maintain_order=True).to_list() or names[:1]
    if name is None and len(names) > 1:
        notes.append(f'days and nights are those of timeline "{names[0]}"; there are also {", ".join(names[1:])}')
    return Timeline(name or names[0], steps.filter(pl.col("timeline_name") == (name or names[0])))


def _span(name: str, value: str | Span | None) -> int | None:
    """A time in nanoseconds."""
    if value is None:
        return None
    try:
        return int(Span.parse(value)) // 1000
    except PydanticCustomError as error:
        raise UsageError(f'{name} = "{value}": {error.message()}') from None


def _ended_ns(runs: Sequence[Run]) -> int:
    """The end of the run that ended last."""
    return max(1, *(int(run.manifest["totals"]["ended_ns"]) for run in runs))


def _window(start: int | None, end: int | None, ended: int) -> tuple[int, int]:
    """The time that is drawn, in ns. Raises UsageError if there is none."""
    from_ns, to_ns = start or 0, ended if end is None else min(end, ended)
    if end is not None and from_ns >= end:
        raise UsageError(f"from ({text(from_ns)}) must be before to ({text(end)})")
    if from_ns >= to_ns:
        raise UsageError(f"from ({text(from_ns)}) must be before the end of the run ({text(ended)})")
    return from_ns, to_ns


def _weeks(
    window: tuple[int, int], *, fold: str | Span, steps: Timeline | None, curves: int, notes: list[str]
) -> Weeks:
    from_ns, to_ns = window
    if fold == WEEK:
        if steps is None or steps.period_ns is None:
            raise PlotError("no timeline has come round within the run: there is no week to fold, give its length")
        week = steps.period_ns
    else:
        week = _span("fold", fold) or 0
        if week <= 0:
            raise UsageError(f"fold = {fold}: expected the length of a week above 0 s")
    first = 0 if steps is None else steps.first_ns
    if first < from_ns:
        first += -(-(from_ns - first) // week) * week
    weeks = (to_ns - first) // week
    if weeks < 1:
        raise PlotError(f"there is no whole week of {text(week)} between {text(first)} and {text(to_ns)}")
    most = weeks_for(curves)
    if weeks > most:
        notes.append(f"the first {most} of {weeks} weeks are drawn; choose others with from")
    return Weeks(first, week, min(weeks, most))


def _phases(network: Network, flows: pl.DataFrame, steps: Timeline | None, phase: str | None) -> Phases | None:
    """The phases that are shaded besides the nights."""
    if steps is None:
        if phase is not None:
            raise PlotError(f'phase "{phase}" is not there: the run has recorded no timeline')
        return None
    if phase is not None and phase not in steps.phases:
        raise PlotError(f'phase "{phase}" is not there: timeline "{steps.name}" has {", ".join(steps.phases)}')
    days = network.days(steps.name, flows["flow"].to_list())
    # The days in which the flows have the same circuits.
    of_flows = [name for name in steps.phases if name in days and days[name].is_of_flows]
    same = [name for name in of_flows if days[name] == days[of_flows[0]]]
    names = [phase] if phase else same or steps.phases[:1] or [""]
    if steps.phases == [""]:
        return None
    return Phases(steps, names, _label(network.scenario, days, steps.name, names))


def _shading(phases: Phases | None, view: View, notes: list[str]) -> Shading | None:
    if phases is None:
        return None
    steps, shading = phases.steps, phases.steps.shading(phases.names, phases.label)
    if isinstance(view, Weeks):
        if steps.period_ns is None or view.week_ns % steps.period_ns:
            notes.append("days and nights are not shaded: they differ from week to week")
            return None
        shading = view.shading(shading)
    start_s, end_s = view.axis
    if shading.too_narrow(end_s, start_s):
        notes.append("days and nights are too short to be shaded over so long a time: choose less of it, or fold it")
    return shading


def _label(scenario: dict[str, Any], days: Mapping[str, Day], timeline: str, shown: Sequence[str]) -> str:
    """Phases with their links."""
    first, *others = shown
    if first in days:
        several = f"{first.replace('day', 'days')}, {', '.join(name.removeprefix('day ') for name in others)}"
        return words(f"{several if others else first} ({' + '.join(days[first].links)})")
    timelines = scenario.get("timelines") or []
    mine = [one for one in timelines if one.get("name") == timeline] or (timelines if len(timelines) == 1 else [])
    _, _, number = first.rpartition(" ")
    links = mine[0].get("between", []) if mine else []
    if number.isdigit() and int(number) < len(links):
        of = links[int(number)]
        return words(f"{first} ({of if isinstance(of, str) else ' + '.join(of)})" if of else first)
    return first


def _title(found: Sequence[Case]) -> str:
    if len(found) == 1:
        first = found[0].runs[0].manifest
        runs = f": {first['engine']}, {_seeds(found[0].runs)}"
        return words(first["name"], _TITLE_LETTERS - len(runs)) + runs
    counts = {len(case.runs) for case in found}
    each = f", {counts.pop()} runs each" if len(counts) == 1 and counts != {1} else ""
    scenarios = {str(case.runs[0].manifest["name"]) for case in found}
    if len(scenarios) == 1:
        settings = f", {len(found)} settings{each}"
        return words(scenarios.pop(), _TITLE_LETTERS - len(settings)) + settings
    names = " and ".join(words(case.name, 40) for case in found[:2])
    return (names if len(found) == 2 else f"{len(found)} scenarios") + each


def _seeds(runs: Sequence[Run]) -> str:
    seeds = sorted(run.seed for run in runs)
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    in_a_row = seeds[-1] - seeds[0] + 1 == len(seeds)
    return f"{len(seeds)} runs, seeds {seeds[0]} to {seeds[-1]}" if in_a_row else f"{len(seeds)} runs"


def _subtitle(drawings: Sequence[Drawing]) -> str:
    """States what lines and bands mean."""
    view, case = drawings[0].view, drawings[0].case
    runs = max(len(drawing.case.runs) for drawing in drawings)
    if isinstance(view, Weeks):
        most = max(drawing.view.weeks for drawing in drawings if isinstance(drawing.view, Weeks))
        weeks = "1 week" if most == 1 else f"{most} weeks"
        of_runs = f" of each of {runs} runs" if runs > 1 else ""
        return f"{weeks}{of_runs} overlaid: lines are means, bands hold the middle 80 %"
    said = []
    if len(case.curves) > MOST_NAMES:
        said.append("lines are means, bands hold the middle 80 % of the flows")
    elif runs > 1:
        said.append("lines are means over the runs, bands their 95 % intervals")
    if len({drawing.view.run_ended_ns for drawing in drawings if isinstance(drawing.view, Stretch)}) > 1:
        said.append("each curve ends with its run")
    return "; ".join(said)


def _xlabel(view: View) -> str:
    return "Time since the reconfiguration" if isinstance(view, Weeks) else "Time"
