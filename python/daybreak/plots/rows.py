"""The rows of a figure: for each quantity the curves of all cases, in one unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from daybreak.errors import PlotError, UsageError
from daybreak.figures.curves import Panel, largest
from daybreak.figures.shading import Shading
from daybreak.figures.stacked import Row
from daybreak.figures.style import Dash, colour, dash, words
from daybreak.metrics import confidence, fct, over_time, units
from daybreak.runs import Run

from .cases import CURVE, MOST_NAMES, Case
from .distributions import DISTRIBUTIONS
from .network import Network
from .quantities import MOST_QUEUES, QUANTITIES, Quantity, Source, Units, bin_ns
from .view import Stretch, View, Weeks

FAINT_WEEKS = 60
"""The largest number of weeks drawn individually behind their mean."""
NEARLY_EMPTY = 0.05
"""Queues with less than this part of the fullest one's packets are left out."""
_ROUNDING = 1 + 1e-9

Look = tuple[str, Dash]
Curves = dict[str, pl.DataFrame]
_QUEUE_COLOURS = ("#000000", "#8c510a", "#01665e", "#762a83", "#7f7f7f")
_OTHER: Look = ("#7f7f7f", "-")


@dataclass(frozen=True)
class Drawing:
    """A case, and the sources of its curves."""

    case: Case
    sources: Sequence[Source]
    shading: Shading | None
    network: Network

    @property
    def view(self) -> View:
        """The part of the time that is drawn."""
        return self.sources[0].view


@dataclass(frozen=True)
class _QuantityCurves:
    """The curves of one quantity of a case by name, the weeks behind them, and the title."""

    curves: Curves
    faint: Curves
    title: str


def rows_of(
    drawings: Sequence[Drawing],
    what: Sequence[str] | None,
    *,
    facet: bool,
    notes: list[str],
    besides: Sequence[str] = (),
) -> Iterator[tuple[Drawing, list[Row]]]:
    """The rows of each facet, one facet per case with ``facet``, or one for all cases. ``what`` are the quantities;
    those of ``besides`` are drawn if they are recorded. Raises PlotError, UsageError."""
    runs = [run for drawing in drawings for run in drawing.case.runs]
    facets = [[drawing] for drawing in drawings] if facet else [list(drawings)]
    rows: list[list[Row]] = [[] for _ in facets]
    looks = _looks(drawings) if len(drawings) > 1 else {}
    for name in _quantities(runs, what, notes, besides):
        found = [
            _found(drawing, name, notes, is_asked=what is not None, is_one=_is_one(facets)) for drawing in drawings
        ]
        known = [one for one in found if one is not None]
        if not known:
            continue
        quantity = QUANTITIES[name]
        unit = _unit(quantity.units, [table for one in known for table in one.curves.values()])
        of_case = dict(zip(map(id, drawings), found, strict=True))
        for at, facet_of in enumerate(facets):
            parts = [one for drawing in facet_of if (one := of_case[id(drawing)]) is not None]
            if parts:
                rows[at].append(_row(quantity, parts, facet_of, unit, looks if len(facet_of) > 1 else {}))
    yield from ((of[0], found_rows) for of, found_rows in zip(facets, rows, strict=True))


def _is_one(facets: Sequence[Sequence[Drawing]]) -> bool:
    """Whether each panel has a single case."""
    return all(len(facet) == 1 for facet in facets)


def _looks(drawings: Sequence[Drawing]) -> Mapping[str, Look]:
    """The colour and line style of each curve of overlaid cases, the same in every row."""
    found: dict[str, Look] = {}
    names = list(dict.fromkeys(name for drawing in drawings for name in drawing.case.curves))
    for drawing in drawings:
        for name in drawing.case.curves:
            at = names.index(name)
            found[_with_state(name, drawing.sources)] = colour(name, at), dash(at)
    # A case has one curve where it has many flows, and of queues.
    for at, drawing in enumerate(drawings):
        for name in (drawing.case.name, _mean_of(drawing, len(drawing.case.curves), is_one=False)):
            found.setdefault(words(name), (colour(name, at), dash(at)))
    return found


def _mean_of(drawing: Drawing, count: int, *, is_one: bool) -> str:
    """The name of a curve that stands for many."""
    mean = f"mean of {count} {drawing.sources[0].by}s"
    return mean if is_one else f"{drawing.case.name}: {mean}"


def _quantities(runs: Sequence[Run], what: Sequence[str] | None, notes: list[str], besides: Sequence[str]) -> list[str]:
    for name in what or ():
        if name not in QUANTITIES:
            raise UsageError(f'"{name}" cannot be drawn: known are {", ".join([*QUANTITIES, *DISTRIBUTIONS])}')
        for run in runs:
            if not QUANTITIES[name].is_recorded(run):
                of = "the run" if len(runs) == 1 else f'the run of "{run.manifest["name"]}"'
                raise PlotError(f"{name} is not recorded in {of}: set {QUANTITIES[name].setting}")
    if what:
        return [name for name in QUANTITIES if name in what]
    usual = {name: one for name, one in QUANTITIES.items() if not one.is_extra or name in besides}
    recorded = [name for name, one in usual.items() if all(one.is_recorded(run) for run in runs)]
    missing: dict[str, list[str]] = {}
    for name in usual:
        if name not in recorded:
            missing.setdefault(QUANTITIES[name].setting, []).append(name)
    notes += [f"{', '.join(names)}: not recorded, set {setting}" for setting, names in missing.items()]
    return recorded


def _found(drawing: Drawing, name: str, notes: list[str], *, is_asked: bool, is_one: bool) -> _QuantityCurves | None:
    """The curves of a quantity. Adds a note if there is nothing to see: without a sample, or without a packet of a
    count that was not requested, there are no curves. Raises PlotError if requested ones cannot be drawn."""
    quantity, view = QUANTITIES[name], drawing.view

    def note(sentence: str) -> None:
        if sentence not in notes:
            notes.append(sentence)

    try:
        tables = [(source.run.seed, quantity.values(source)) for source in drawing.sources]
    except ValueError as error:
        # Of another version of Daybreak, for example.
        raise PlotError(f"{name} cannot be drawn from this run: {error}") from None
    except PlotError as error:
        sentence = f"{name} {error}: set a shorter records.{quantity.record}"
        if is_asked:
            raise PlotError(sentence) from None
        note(sentence)
        return None
    values = confidence.stack(tables)
    if missing := _missing(values["value"], quantity):
        note(f"{name}: {missing}")
        if not (is_asked and values["value"].count()):
            return None
    title = quantity.title(drawing.sources[0])
    fullest = "" if quantity.is_per_flow else _by_fullness(values)[CURVE][0]
    if not quantity.is_per_flow:
        values = _fullest(values, drawing, notes, is_one=is_one)
        title += "" if is_one else ", in the fullest queue"
    if isinstance(view, Weeks):
        if quantity.is_per_flow:
            present = _while_there(values, drawing)
            if present["value"].null_count() > values["value"].null_count():
                note("weeks before a flow has started and after it has ended do not count in its means")
            values = present
        values = over_time.fold(values, CURVE, slots=_slots(values, view))
    curves, faint = _curves(values, drawing, quantity, is_one=is_one)
    if not quantity.is_per_flow:
        curves = _in_limits(curves, drawing, None if is_one else fullest)
        if len(drawing.case.curves) > MOST_NAMES and len(drawing.sources) > 1 and not isinstance(view, Weeks):
            title += "; bands are 95 % intervals over the runs"
    curves = _ending(curves, view)
    if quantity.is_rate:
        curves, more = _on_links(curves, faint, drawing, quantity)
        title += f"; {more}" if more else ""
    return _QuantityCurves(curves, faint, title)


def _missing(values: pl.Series, quantity: Quantity) -> str:
    """Why there is nothing to see of a quantity; empty if there is something."""
    if not values.count():
        return "there is no sample"
    return "there were none" if quantity.is_count and not (values > 0).any() else ""


def _row(
    quantity: Quantity, parts: Sequence[_QuantityCurves], drawings: Sequence[Drawing], unit: tuple[str, float],
    looks: Mapping[str, Look],
) -> Row:  # fmt: skip
    name, scale = unit
    curves = {label: _scaled(table, scale) for part in parts for label, table in part.curves.items()}
    view = drawings[0].view
    start_s, end_s = view.axis
    # Of several runs in one panel each curve ends with its own run.
    ended_ns = view.run_ended_ns if isinstance(view, Stretch) and len(drawings) == 1 else None
    is_apart = not quantity.is_per_flow and len(drawings) == 1
    given = [looks.get(label, _OTHER) for label in curves] if looks else []
    # The longest title of a case fits the whole row.
    title = max((part.title for part in parts), key=len)
    panel = Panel(
        title, curves, drawings[0].shading, start_s=start_s, end_s=end_s, steps=True,
        faint={label: _scaled(table, scale) for part in parts for label, table in part.faint.items()},
        colours=_QUEUE_COLOURS if is_apart else [tone for tone, _ in given], dashes=[line for _, line in given],
        run_ended_s=(ended_ns or 0) / 1e9,
    )  # fmt: skip
    return Row(panel, f"{quantity.axis}\n[{name}]", has_names=is_apart)


def _while_there(values: pl.DataFrame, drawing: Drawing) -> pl.DataFrame:
    """The values with null where no flow of the curve has started, or all have ended."""
    lives = pl.concat(
        source.flows.group_by(pl.lit(source.run.seed, dtype=pl.Int64).alias("run"), CURVE).agg(
            (pl.col("start_ns").min() / 1e9).alias("_from_s"),
            pl.when(pl.col("end_ns").is_not_null().all()).then(pl.col("end_ns").max() / 1e9).alias("_to_s"),
        )
        for source in drawing.sources
    )
    step_s = (pl.col("time_s").shift(-1) - pl.col("time_s")).over("run", CURVE)
    is_there = (pl.col("time_s") + step_s.fill_null(0) > pl.col("_from_s")) & (
        pl.col("_to_s").is_null() | (pl.col("time_s") < pl.col("_to_s"))
    )
    return (
        values.join(lives, on=["run", CURVE], how="left", maintain_order="left")
        .with_columns(pl.when(is_there).then(pl.col("value")).alias("value"))
        .drop("_from_s", "_to_s")
    )


def _ending(curves: Curves, view: View) -> Curves:
    """The curves with a null where the run ends before the view does: they have no value from there on."""
    if not isinstance(view, Stretch) or view.run_ended_ns is None:
        return curves
    end = pl.DataFrame({"time_s": [view.run_ended_ns / 1e9]})
    return {name: pl.concat([table, end], how="diagonal") for name, table in curves.items()}


def _in_limits(curves: Curves, drawing: Drawing, queue: str | None) -> Curves:
    """The curves of queues with intervals cut at what a queue may hold; ``queue`` names the only one if the curve has
    the name of its case."""
    limits = drawing.network.most_packets()
    cut = dict(curves)
    for name, table in curves.items():
        if (most := limits.get(name if queue is None else words(queue))) is not None:
            cut[name] = _cut(table, most)
    return cut


def _cut(table: pl.DataFrame, most: float) -> pl.DataFrame:
    """The curve with its interval, if it has one, cut at the most that is possible."""
    top = pl.min_horizontal("high", pl.max_horizontal("mean", pl.lit(float(most))))
    return table.with_columns(pl.when(pl.col("high").is_not_null()).then(top).alias("high"))


def _by_fullness(values: pl.DataFrame) -> pl.DataFrame:
    """The most packets in each queue, the fullest one first."""
    most = values.group_by(CURVE, maintain_order=True).agg(pl.col("value").max().fill_null(0))
    return most.sort("value", descending=True, maintain_order=True)


def _slots(values: pl.DataFrame, view: Weeks) -> int:
    return (int(values["slot"].max()) + 1) // view.weeks  # type: ignore[arg-type]


def _curves(values: pl.DataFrame, drawing: Drawing, quantity: Quantity, *, is_one: bool) -> tuple[Curves, Curves]:
    """The curves by legend name, and the weeks behind them."""
    column, view, sources = CURVE, drawing.view, drawing.sources
    names = values[column].unique(maintain_order=True).to_list()
    faint: Curves = {}
    if len(names) > MOST_NAMES and quantity.is_per_flow:
        mean_of = words(_mean_of(drawing, len(names), is_one=is_one))
        if isinstance(view, Weeks):
            return {mean_of: over_time.spread(values)}, faint
        means = values.group_by(column, "time_s", maintain_order=True).agg(pl.col("value").mean())
        return {mean_of: over_time.spread(means)}, faint
    # A queue of one of several cases has the name of the case's curve.
    is_of_flows = quantity.is_per_flow or not is_one
    labels = _distinct({name: _with_state(name, sources) if is_of_flows else words(name) for name in names})
    curves: Curves = {}
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


def _distinct(labels: dict[str, str]) -> dict[str, str]:
    """Labels that differ, though names may be alike as far as these are cut."""
    if len(set(labels.values())) == len(labels):
        return labels
    return {name: f"{label} ({at})" for at, (name, label) in enumerate(labels.items(), 1)}


def _on_links(curves: Curves, faint: Curves, drawing: Drawing, quantity: Quantity) -> tuple[Curves, str]:
    """The curves with intervals cut at the rate of the flows' links, and the reason if a curve exceeds it."""
    source = drawing.sources[0]
    names = source.flows[CURVE].unique(maintain_order=True).to_list()
    if len(names) != len(curves):
        # For many flows the mean is drawn, and its band shows actual values.
        return curves, ""
    cut: Curves = {}
    exceeded: dict[str, int] = {}
    reasons: dict[str, None] = {}
    for name, (label, table) in zip(names, curves.items(), strict=True):
        flows = source.flows.filter(pl.col(CURVE) == name)["flow"].to_list()
        most = drawing.network.most_bps(flows)
        if most is None:
            return curves, ""
        cut[label] = _cut(table, most)
        drawn = [table["mean"], *(one["value"] for one in faint.values())]
        highest = max(largest(values) for values in drawn)
        if highest > most * _ROUNDING:
            exceeded[label] = most
            bits = (highest - most) * drawing.view.step_ns(every_ns=bin_ns(source)) / 1e9
            why = "where a hole is filled" if quantity.is_in_order(source) else drawing.network.why_more(flows, bits)
            reasons |= {why: None} if why else {}
    if not exceeded:
        return cut, ""
    rates = [units.rate(one / 1e9) for one in (min(exceeded.values()), max(exceeded.values()))]
    upto = "" if rates[0] == rates[1] else f" to {rates[1]}"
    of = "" if len(exceeded) == len(curves) else f"{', '.join(exceeded)} "
    return cut, " ".join([f"{of}above the links' {rates[0]}{upto}", " and ".join(reasons)]).rstrip()


def _with_state(name: str, sources: Sequence[Source]) -> str:
    """The name of a flow or group, marked if any of its flows has not ended."""
    limited = pl.col("bytes") > 0
    open_ = [
        fct.table(source.flows).filter((pl.col(CURVE) == name) & limited & pl.col("fct_s").is_null()).height
        for source in sources
    ]
    if not any(open_):
        return words(name)
    runs = sum(map(bool, open_))
    return f"{words(name)} (unfinished" + (")" if len(open_) == 1 else f" in {runs} of {len(open_)} runs)")


def _fullest(values: pl.DataFrame, drawing: Drawing, notes: list[str], *, is_one: bool) -> pl.DataFrame:
    """The fullest queues; nearly empty ones would lie on the axis.

    For overlaid cases only the fullest queue of each, under the name of the case's curve.
    """
    column = CURVE
    most = _by_fullness(values)
    if not is_one:
        name = drawing.case.curves[0] if len(drawing.case.curves) == 1 else drawing.case.name
        return values.filter(pl.col(column) == most[column][0]).with_columns(pl.lit(name).alias(column))
    shown = most.head(MOST_QUEUES).filter(pl.col("value") >= NEARLY_EMPTY * pl.col("value").max())
    if len(shown) < len(most):
        rest = most["value"][len(shown)]
        verb = "is" if len(shown) == 1 else "are"
        notes.append(f"{len(shown)} of {len(most)} queues {verb} drawn; in the others at most {_packets(rest)} waited")
    return values.filter(pl.col(column).is_in(shown[column].implode()))


def _packets(count: float) -> str:
    return f"{count:g} packet{'' if count == 1 else 's'}"


def _unit(units: Units, curves: Sequence[pl.DataFrame]) -> tuple[str, float]:
    highest = max((float(table["mean"].max() or 0) for table in curves), default=0.0)  # type: ignore[arg-type]
    return next(((unit, size) for unit, size in units if highest >= size), units[-1])


def _scaled(table: pl.DataFrame, scale: float) -> pl.DataFrame:
    return table.with_columns(
        pl.col(name) / scale for name in ("mean", "low", "high", "value") if name in table.columns
    )
