"""Draws what runs of one scenario show over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import polars as pl
from matplotlib.figure import Figure
from pydantic_core import PydanticCustomError

from daybreak.errors import PlotError
from daybreak.figures.curves import Panel
from daybreak.figures.shading import Shading
from daybreak.figures.stacked import Row, stacked
from daybreak.figures.style import words
from daybreak.metrics import confidence, fct, over_time
from daybreak.runs import Run
from daybreak.scenario import Span
from daybreak.scenario.quantities import Rate

from .network import Day, Network
from .quantities import MOST_QUEUES, QUANTITIES, Quantity, Source, Units
from .view import Stretch, Timeline, View, Weeks, slots_for, text, weeks_for

MOST_NAMES = 7
"""With more flows or groups than there are colours, their mean and range are drawn."""
FAINT_WEEKS = 60
"""The most weeks that are drawn one by one behind their mean."""
WEEK = "week"
"""The word for a timeline's own period."""
BY = {"flow": "flow_name", "group": "group"}
NEARLY_EMPTY = 0.05
"""A queue with less than this part of the fullest one's packets is left out."""
_ROUNDING = 1 + 1e-9
_QUEUE_COLOURS = ("#000000", "#8c510a", "#01665e", "#762a83", "#7f7f7f")


@dataclass(frozen=True)
class Drawn:
    """A figure, and sentences about what it does not show."""

    figure: Figure
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Shown:
    """What a figure has: its rows, the words around them, and sentences about what it does not show."""

    rows: tuple[Row, ...]
    title: str
    subtitle: str
    xlabel: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Phases:
    """Phases of a timeline that are shaded as one, and their label."""

    steps: Timeline
    names: Sequence[str]
    label: str


def draw(runs: Sequence[Run], **options: Any) -> Drawn:
    """The figure of what `shown` finds; the options are its own. Raises PlotError."""
    found = shown(runs, **options)
    return Drawn(stacked(found.rows, title=found.title, subtitle=found.subtitle, xlabel=found.xlabel), found.notes)


def shown(
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
) -> Shown:
    """Quantities of `QUANTITIES` over time, one below the other, with days and nights shaded.

    ``runs`` are of one scenario and engine; of several, the mean over the runs with its 95 % interval is drawn.
    ``what`` are the quantities, all that are recorded but goodput if not given. ``by`` is "flow" or "group": if not
    given, flows unless there are too many to tell apart. ``flows`` is a pattern for names of flows. ``from_`` and
    ``to`` are times such as "5 ms". ``fold`` is the length of a week, or "week" for the timeline's own: all weeks from
    the first reconfiguration on are laid over each other. ``timeline`` names the one that is shaded, the first if not
    given;
    ``phase`` the phase that is shaded besides the nights ("path 1", "day 0"): if not given, the days in which the same
    circuits are open for the drawn flows as in the first such day, or else the first phase. Raises PlotError.
    """
    notes: list[str] = []
    scenario = _one_scenario(runs)
    chosen = [_of(run, flows) for run in runs]
    column = _column(chosen, by)
    curves = sum(table[column].n_unique() for table in chosen) or 1
    steps = _timeline(runs, timeline, notes)
    view = _view(runs, _span("from", from_), _span("to", to), fold=fold, steps=steps, curves=curves, notes=notes)
    network = Network(runs[0])
    shading = _shading(_phases(network, chosen[0], steps, phase), view, notes)
    sources = [Source(run, scenario, table, column, view) for run, table in zip(runs, chosen, strict=True)]
    rows = [
        row
        for name in _quantities(runs, what, notes)
        if (row := _row(sources, name, shading, network, notes, is_asked=what is not None))
    ]
    if not rows:
        raise PlotError(f"there is nothing to draw: {'; '.join(notes)}")
    first = runs[0].manifest
    title = f"{words(first['name'], 80)}: {first['engine']}, {_seeds(runs)}"
    return Shown(tuple(rows), title, _subtitle(sources), _xlabel(view), tuple(notes))


def _one_scenario(runs: Sequence[Run]) -> Any:
    if not runs:
        raise PlotError("runs: expected at least one")
    first = runs[0].manifest
    for run in runs[1:]:
        for what in ("engine", "scenario"):
            if run.manifest[what] != first[what]:
                names = [manifest["name" if what == "scenario" else what] for manifest in (first, run.manifest)]
                names = [f'"{name}"' for name in names]
                different = " and ".join(names) if names[0] != names[1] else f"{names[0]} with other settings"
                raise PlotError(f"runs of one {what} can be drawn together, these are of {different}")
    seeds = [run.seed for run in runs]
    if len(set(seeds)) < len(seeds):
        raise PlotError(f"seed {max(seeds, key=seeds.count)} is there twice: runs with the same seed are the same run")
    return runs[0].scenario


def _of(run: Run, pattern: str | None) -> pl.DataFrame:
    flows = run.flows
    if pattern is None:
        return flows
    fits = pl.Series([fnmatchcase(name, pattern) for name in flows["flow_name"]], dtype=pl.Boolean)
    if not fits.any():
        known = flows["flow_name"].head(5).to_list()
        more = ", ..." if len(flows) > len(known) else ""
        raise PlotError(f'no flow is called "{pattern}": there are {", ".join(known)}{more}')
    return flows.filter(fits)


def _column(flows: Sequence[pl.DataFrame], by: str | None) -> str:
    if by is not None:
        if by not in BY:
            raise PlotError(f'by = "{by}": expected {" or ".join(BY)}')
        return BY[by]
    names = {kind: {name for table in flows for name in table[column]} for kind, column in BY.items()}
    is_few = len(names["flow"]) <= MOST_NAMES or len(names["group"]) > MOST_NAMES
    return BY["flow" if is_few else "group"]


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
        raise PlotError(f'{name} = "{value}": {error.message()}') from None


def _view(
    runs: Sequence[Run], start: int | None, end: int | None, *, fold: str | Span | None, steps: Timeline | None,
    curves: int, notes: list[str],
) -> View:  # fmt: skip
    ended = max(int(run.manifest["totals"]["ended_ns"]) for run in runs)
    from_ns, to_ns = start or 0, min(max(ended, 1), end if end is not None else max(ended, 1))
    if from_ns >= to_ns:
        limit = f"the run ended at {text(ended)}" if to_ns >= ended else f"to = {text(to_ns)}"
        raise PlotError(f"from = {text(from_ns)} is not before the end of what is drawn: {limit}")
    if fold is None:
        return Stretch(from_ns, to_ns, slots_for(curves))
    if fold == WEEK:
        if steps is None or steps.period_ns is None:
            raise PlotError("no timeline has come round within the run: there is no week to fold, give its length")
        week = steps.period_ns
    else:
        week = _span("fold", fold) or 0
        if week <= 0:
            raise PlotError(f"fold = {fold}: expected the length of a week above 0 s")
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
    """What is shaded besides the nights."""
    if steps is None:
        if phase is not None:
            raise PlotError(f'phase "{phase}" is not there: the run has recorded no timeline')
        return None
    if phase is not None and phase not in steps.phases:
        raise PlotError(f'phase "{phase}" is not there: timeline "{steps.name}" has {", ".join(steps.phases)}')
    days = network.days(steps.name, flows["flow"].to_list())
    # Of the days those in which the flows have one and the same circuits.
    of_flows = [name for name in steps.phases if name in days and days[name].is_of_flows]
    same = [name for name in of_flows if days[name] == days[of_flows[0]]]
    names = [phase] if phase else same or steps.phases[:1] or [""]
    return Phases(steps, names, _label(network.run.manifest["scenario"], days, steps.name, names))


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
    timelines = scenario.get("timelines", [])
    mine = [one for one in timelines if one.get("name") == timeline] or (timelines if len(timelines) == 1 else [])
    _, _, number = first.rpartition(" ")
    links = mine[0].get("between", []) if mine else []
    if number.isdigit() and int(number) < len(links):
        of = links[int(number)]
        return words(f"{first} ({of if isinstance(of, str) else ' + '.join(of)})" if of else first)
    return first


def _quantities(runs: Sequence[Run], what: Sequence[str] | None, notes: list[str]) -> list[str]:
    for name in what or ():
        if name not in QUANTITIES:
            raise PlotError(f'"{name}" cannot be drawn: known are {", ".join(QUANTITIES)}')
        if not all(QUANTITIES[name].is_recorded(run) for run in runs):
            raise PlotError(f"{name} is not recorded in the run: set records.{QUANTITIES[name].record}")
    if what:
        return [name for name in QUANTITIES if name in what]
    usual = {name: one for name, one in QUANTITIES.items() if not one.is_extra}
    recorded = [name for name, one in usual.items() if all(one.is_recorded(run) for run in runs)]
    missing: dict[str, list[str]] = {}
    for name in usual:
        if name not in recorded:
            missing.setdefault(QUANTITIES[name].record, []).append(name)
    notes += [f"{', '.join(names)}: not recorded, set records.{record}" for record, names in missing.items()]
    return recorded


def _row(
    sources: Sequence[Source], name: str, shading: Shading | None, network: Network, notes: list[str], *, is_asked: bool
) -> Row | None:
    quantity, column, view = QUANTITIES[name], sources[0].by, sources[0].view
    try:
        tables = [(source.run.seed, quantity.values(source)) for source in sources]
    except ValueError as error:
        # Of another version of Daybreak, for example.
        raise PlotError(f"{name} cannot be drawn from this run: {error}") from None
    except PlotError as error:
        sentence = f"{name} {error}: set a shorter records.{quantity.record}"
        if is_asked:
            raise PlotError(sentence) from None
        notes.append(sentence)
        return None
    values = confidence.stack(tables)
    if not values.height:
        notes.append(f"{name}: there is no sample")
        return None
    if not is_asked and not (values["value"] > 0 if quantity.is_count else values["value"].is_not_null()).any():
        notes.append(f"{name}: there were none" if quantity.is_count else f"{name}: there is no sample")
        return None
    if not quantity.is_per_flow:
        values = _fullest(values, column, notes)
    if isinstance(view, Weeks):
        values = over_time.fold(values, column, slots=_slots(values, view))
    curves, faint = _curves(values, column, view, sources, quantity)
    title = quantity.title(sources[0])
    if quantity.is_rate:
        curves, more = _on_links(curves, faint, network, sources[0])
        title += f"; {more} {quantity.why_more(sources[0])}" if more else ""
    unit, scale = _unit(quantity.units, curves)
    start_s, end_s = view.axis
    panel = Panel(
        title,
        {label: _scaled(table, scale) for label, table in curves.items()},
        shading,
        start_s=start_s,
        end_s=end_s,
        steps=True,
        faint={label: _scaled(table, scale) for label, table in faint.items()},
        colours=() if quantity.is_per_flow else _QUEUE_COLOURS,
    )
    return Row(panel, f"{quantity.axis}\n[{unit}]", has_names=not quantity.is_per_flow)


def _slots(values: pl.DataFrame, view: Weeks) -> int:
    return (int(values["slot"].max()) + 1) // view.weeks  # type: ignore[arg-type]


def _curves(
    values: pl.DataFrame, column: str, view: View, sources: Sequence[Source], quantity: Quantity
) -> tuple[dict[str, pl.DataFrame], dict[str, pl.DataFrame]]:
    """The curves by their names in the legend, and the weeks behind them."""
    names = values[column].unique(maintain_order=True).to_list()
    faint: dict[str, pl.DataFrame] = {}
    if len(names) > MOST_NAMES and quantity.is_per_flow:
        kind = next(kind for kind, of in BY.items() if of == column)
        if isinstance(view, Weeks):
            return {f"mean of {len(names)} {kind}s": over_time.spread(values)}, faint
        means = values.group_by(column, "time_s", maintain_order=True).agg(pl.col("value").mean())
        return {f"mean of {len(names)} {kind}s": over_time.spread(means)}, faint
    labels = {name: _with_state(name, column, sources) if quantity.is_per_flow else words(name) for name in names}
    curves: dict[str, pl.DataFrame] = {}
    for name in names:
        mine = values.filter(pl.col(column) == name)
        if isinstance(view, Weeks):
            curves[labels[name]] = over_time.spread(mine)
            if len(names) == 1 and view.weeks * len(sources) <= FAINT_WEEKS:
                number = pl.struct("run", "week").rank("dense").alias("curve")
                faint[labels[name]] = mine.select(number, "time_s", "value")
        else:
            mean = confidence.over_runs(mine, ["time_s"], "value")
            # Nothing that is drawn is ever below 0.
            curves[labels[name]] = mean.with_columns(pl.col("low").clip(lower_bound=0))
    return curves, faint


def _on_links(
    curves: dict[str, pl.DataFrame], faint: dict[str, pl.DataFrame], network: Network, source: Source
) -> tuple[dict[str, pl.DataFrame], str]:
    """The curves with intervals that end at the rate of the flows' links, and what is said where more is drawn."""
    names = source.flows[source.by].unique(maintain_order=True).to_list()
    if len(names) != len(curves):
        # Of many flows the mean is drawn, whose band holds values that there were.
        return curves, ""
    cut: dict[str, pl.DataFrame] = {}
    exceeded: list[int] = []
    for name, (label, table) in zip(names, curves.items(), strict=True):
        most = network.most_bps(source.flows.filter(pl.col(source.by) == name)["flow"].to_list())
        if most is None:
            return curves, ""
        cut[label] = table.with_columns(pl.min_horizontal("high", pl.max_horizontal("mean", pl.lit(float(most)))))
        drawn = [table["mean"], *(one["value"] for one in faint.values())]
        exceeded += [most] if any((values > most * _ROUNDING).any() for values in drawn) else []
    if not exceeded:
        return cut, ""
    rates = sorted(set(exceeded))
    return cut, f"above the links' {Rate(rates[0])}" + ("" if len(rates) == 1 else f" to {Rate(rates[-1])}")


def _with_state(name: str, column: str, sources: Sequence[Source]) -> str:
    """A flow's or group's name, with a word where something of it has not come to its end."""
    limited = pl.col("bytes") > 0
    open_ = [
        fct.table(source.flows).filter((pl.col(column) == name) & limited & pl.col("fct_s").is_null()).height
        for source in sources
    ]
    if not any(open_):
        return words(name)
    runs = sum(map(bool, open_))
    return f"{words(name)} (unfinished" + (")" if len(open_) == 1 else f" in {runs} of {len(open_)} runs)")


def _fullest(values: pl.DataFrame, column: str, notes: list[str]) -> pl.DataFrame:
    """The fullest queues; those that are nearly empty beside them would only lie on the axis."""
    most = values.group_by(column, maintain_order=True).agg(pl.col("value").max().fill_null(0))
    most = most.sort("value", descending=True, maintain_order=True)
    shown = most.head(MOST_QUEUES).filter(pl.col("value") >= NEARLY_EMPTY * pl.col("value").max())
    if len(shown) < len(most):
        rest = most["value"][len(shown)]
        notes.append(f"queues: {len(shown)} of {len(most)} are drawn; in the others waited at most {_packets(rest)}")
    return values.filter(pl.col(column).is_in(shown[column].implode()))


def _packets(count: float) -> str:
    return f"{count:g} packet{'' if count == 1 else 's'}"


def _unit(units: Units, curves: dict[str, pl.DataFrame]) -> tuple[str, float]:
    highest = max((float(table["mean"].max() or 0) for table in curves.values()), default=0.0)  # type: ignore[arg-type]
    return next(((unit, size) for unit, size in units if highest >= size), units[-1])


def _scaled(table: pl.DataFrame, scale: float) -> pl.DataFrame:
    return table.with_columns(
        pl.col(name) / scale for name in ("mean", "low", "high", "value") if name in table.columns
    )


def _seeds(runs: Sequence[Run]) -> str:
    seeds = sorted(run.seed for run in runs)
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    in_a_row = seeds[-1] - seeds[0] + 1 == len(seeds)
    return f"{len(seeds)} runs, seeds {seeds[0]} to {seeds[-1]}" if in_a_row else f"{len(seeds)} runs"


def _subtitle(sources: Sequence[Source]) -> str:
    """What lines and bands are."""
    view, several = sources[0].view, len({name for source in sources for name in source.flows[source.by]})
    if isinstance(view, Weeks):
        weeks = "1 week" if view.weeks == 1 else f"{view.weeks} weeks"
        of_runs = f" of each of {len(sources)} runs" if len(sources) > 1 else ""
        return f"{weeks}{of_runs} overlaid: lines are means, bands hold the middle 80 %"
    if several > MOST_NAMES:
        return "lines are means, bands hold the middle 80 % of the flows"
    return "lines are means over the runs, bands their 95 % intervals" if len(sources) > 1 else ""


def _xlabel(view: View) -> str:
    return "Time since the reconfiguration" if isinstance(view, Weeks) else "Time"
