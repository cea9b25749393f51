"""Figures of a sweep: a measure over its axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from daybreak.errors import PlotError, UsageError
from daybreak.figures import distributions, grids
from daybreak.figures.style import words
from daybreak.metrics import fct, measures, slowdown, units
from daybreak.sweeps import AxisOf, Results, numbers

from .draw import AnnotatedFigure

_OF_FLOWS = ("group", "variant")
"""Properties by which the flows of a run differ, besides the axes."""
_EACH_FLOW = {"fct": ("fct_s", "Flow completion time"), "slowdown": ("slowdown", "Slowdown")}
"""Quantities that are drawn as a distribution over the flows."""
_MOST_CURVES = 7
_MOST_FACETS = 12
_MOST_NAMED = 4


def draw(
    results: Results,
    *,
    x: str | None = None,
    y: str | None = None,
    colour: str | None = None,
    facet: str | None = None,
    only: Mapping[str, str] | None = None,
) -> AnnotatedFigure:
    """A figure of a sweep, and notes about what it leaves out. Raises PlotError, UsageError.

    ``x``, ``colour`` and ``facet`` are axes, or "group" or "variant" of the flows; ``y`` is a measure such as
    "fct.p99" (see `metrics.measures`): lines with the 95 % intervals over the seeds. With an axis as ``y`` and a
    measure as ``colour`` it is a heat map, with "fct" or "slowdown" as ``x`` the distribution over the flows. Options
    that are not given take the remaining axes in order. ``only`` fixes axes to one value each.
    """
    flows = _chosen(results, only or {})
    axes = {axis.name: axis for axis in _dimensions(results, flows)}
    chosen = _Selection(results, flows, axes, only or {})
    free = [name for name, axis in axes.items() if len(axis.values) > 1 and name not in _OF_FLOWS]
    if x in _EACH_FLOW:
        if y not in (None, "ecdf"):
            raise UsageError(f'y = "{y}": expected ecdf where x is {x}')
        colour, facet = _rest((colour, facet), [name for name in free if name not in (colour, facet)])
        _check(axes, free, (colour, facet))
        return _distribution(chosen, x or "", colour, facet)
    is_heat = y in axes
    if is_heat and colour in axes:
        raise UsageError(f'colour = "{colour}": expected a measure such as fct.mean, since y is an axis')
    usual = "fct.mean" if flows["bytes"].count() else "goodput.mean"
    x = x or next((name for name in free if name not in (y, colour, facet)), None)
    if x is None:
        raise PlotError(
            f"x: {_without_runs(results, flows, only or {}) or 'the sweep has no axis with several values'}"
        )
    if is_heat:
        (facet,) = _rest((facet,), [name for name in free if name not in (x, y, facet)])
        _check(axes, free, (x, y, facet))
        return _heat(chosen, (x, str(y)), colour or usual, facet)
    colour, facet = _rest((colour, facet), [name for name in free if name not in (x, colour, facet)])
    _check(axes, free, (x, colour, facet))
    return _lines(chosen, (x, y or usual), colour, facet)


def _rest(given: Sequence[str | None], free: list[str]) -> list[str | None]:
    """The given options, filled up with the remaining axes."""
    return [one or (free.pop(0) if free else None) for one in given]


def _check(axes: Mapping[str, AxisOf], free: Sequence[str], used: Sequence[str | None]) -> None:
    for name in used:
        if name is not None and name not in axes:
            raise PlotError(f'"{name}" is no axis of the sweep: there are {", ".join(axes)}')
    given = [name for name in used if name is not None]
    if len(set(given)) < len(given):
        raise UsageError(f'"{max(given, key=given.count)}" is given twice: expected x, y, colour and facet to differ')
    for name in free:
        if name not in used:
            raise PlotError(f'axis "{name}" has several values: choose one, such as {_only(axes[name])}')


def _only(axis: AxisOf) -> str:
    """The option of the command that chooses the first value of an axis."""
    return f'--only "{axis.name}={axis.values[0]}"'


def _chosen(results: Results, only: Mapping[str, str]) -> pl.DataFrame:
    flows = results.flows
    for name, value in only.items():
        known = [axis.name for axis in results.axes]
        if name not in (*known, *_OF_FLOWS):
            raise PlotError(f'only: "{name}" is no axis of the sweep: there are {", ".join([*known, *_OF_FLOWS])}')
        values = flows[name].unique(maintain_order=True).to_list()
        chosen = numbers.same(str(value), values)
        if chosen is None:
            there = ", ".join(map(str, values[:8]))
            raise PlotError(f'only: {name} = "{value}" is not there: expected one of {there}')
        flows = flows.filter(pl.col(name) == chosen)
    return flows


def _without_runs(results: Results, flows: pl.DataFrame, only: Mapping[str, str]) -> str:
    """What leaves an axis with one value: the first of its other values, and why it has no run; empty if none does."""
    for axis in results.axes:
        there = set(flows[axis.name])
        missing = [value for value in axis.values if value not in there]
        if axis.name not in only and missing:
            failures = results.document.get("failures", [])
            error = next((one["error"] for one in failures if one["values"].get(axis.name) == missing[0]), "")
            more = f", and {len(missing) - 1} more have none" if len(missing) > 1 else ""
            return f"{axis.name} = {missing[0]} has no run{f' ({error})' if error else ''}{more}"
    return ""


def _dimensions(results: Results, flows: pl.DataFrame) -> list[AxisOf]:
    """The axes and the flows' other properties, each with its values."""
    found = []
    for axis in results.axes:
        there = set(flows[axis.name].to_list())
        kept = [at for at, value in enumerate(axis.values) if value in there]
        of_kept = tuple(axis.numbers[at] for at in kept) if axis.numbers else ()
        found.append(AxisOf(axis.name, tuple(axis.values[at] for at in kept), axis.column, of_kept))
    return found + [AxisOf(name, tuple(flows[name].unique(maintain_order=True))) for name in _OF_FLOWS]


@dataclass(frozen=True)
class _Selection:
    """The part of a sweep that is drawn: the flows, and the axes with the values that occur in them."""

    results: Results
    flows: pl.DataFrame
    axes: Mapping[str, AxisOf]
    only: Mapping[str, str]

    def title(self, what: str = "") -> str:
        """The sweep's name with what was chosen of it, and what its figure shows of several seeds."""
        only = "".join(f", {name} = {value}" for name, value in self.only.items())
        seeds = self.flows["seed"].n_unique()
        return words(f"{self.results.name}{only}", 95) + (f", {seeds} seeds{what}" if seeds > 1 else "")

    def merged(self, used: Sequence[str | None]) -> list[str]:
        """A note if flows of several groups, or of several variants, count together."""
        for name in _OF_FLOWS:
            values = self.axes[name].values
            # A variant that is an axis differs from point to point, not within one.
            within = self.flows.group_by("point").agg(pl.col(name).n_unique())[name].max()
            if name in used or not isinstance(within, int) or within < 2:
                continue
            which = ", ".join(map(str, values[:_MOST_NAMED])) + (", ..." if len(values) > _MOST_NAMED else "")
            return [f"flows of every {name} count together ({which}): a colour for each {name} would tell them apart"]
        return []

    def facets(self, facet: str | None) -> list[tuple[str, pl.DataFrame]]:
        """The flows by the values of an axis."""
        if facet is None:
            return [("", self.flows)]
        values = self.axes[facet].values
        if len(values) > _MOST_FACETS:
            raise PlotError(f'facet = "{facet}": {len(values)} values are more than {_MOST_FACETS}')
        return [(f"{facet} = {value}", self.flows.filter(pl.col(facet) == value)) for value in values]

    def curves(self, flows: pl.DataFrame, colour: str | None) -> list[tuple[str, pl.DataFrame]]:
        """Some of the flows by the values of an axis."""
        if colour is None:
            return [("all flows", flows)]
        values = self.axes[colour].values
        if len(values) > _MOST_CURVES:
            raise PlotError(f'colour = "{colour}": {len(values)} values are more than the {_MOST_CURVES} colours')
        parts = [(str(value), flows.filter(pl.col(colour) == value)) for value in values]
        return [(name, part) for name, part in parts if part.height]


def _lines(chosen: _Selection, over: tuple[str, str], colour: str | None, facet: str | None) -> AnnotatedFigure:
    results, axes, (x, y) = chosen.results, chosen.axes, over
    measure = _measure(y)
    places, axis = _axis(axes[x])
    tables = [
        (title, {name: _cut(results.over_runs(y, [x], part), measure) for name, part in chosen.curves(some, colour)})
        for title, some in chosen.facets(facet)
    ]
    means = [value for _, curves in tables for table in curves.values() for value in table["mean"].drop_nulls()]
    if not means:
        raise PlotError(f"{y}: there is no value (flows that did not end have none)")
    scale, ylabel = _scaled(measure, means)
    facets = [
        grids.Lines(
            title,
            {
                name: table.with_columns(
                    pl.Series("x", [places[value] for value in table[x]], dtype=pl.Float64),
                    *(pl.col(one) / scale for one in ("mean", "low", "high")),
                ).sort("x")
                for name, table in curves.items()
            },
        )
        for title, curves in tables
    ]
    places_of = [
        ({facet: title.removeprefix(f"{facet} = ")} if facet else {}) | ({colour: name} if colour else {})
        for title, curves in tables
        for name in curves
    ]
    empty = [
        where | {x: value}
        for where, table in zip(places_of, (table for _, curves in tables for table in curves.values()), strict=True)
        for value in table.filter(pl.col("mean").is_null())[x]
    ]
    count = sum(table.height for _, curves in tables for table in curves.values())
    notes = (*chosen.merged((x, colour, facet)), *_notes(chosen, y, empty, count))
    figure = grids.lines(
        facets, x=axis, ylabel=ylabel, title=chosen.title(": bands and bars are 95 % intervals"),
        legend=colour or "", note="; ".join(notes),
    )  # fmt: skip
    return AnnotatedFigure(figure, notes)


def _cut(table: pl.DataFrame, measure: measures.Measure) -> pl.DataFrame:
    """The means with their intervals cut at the greatest possible value of the measure."""
    return table if measure.most is None else table.with_columns(pl.col("high").clip(upper_bound=measure.most))


def _notes(chosen: _Selection, name: str, empty: Sequence[Mapping[str, Any]], count: int) -> tuple[str, ...]:
    """Notes about what a figure leaves out: points where the measure is unknown, failed runs, a larger sweep."""
    notes = [chosen.results.unfinished] if chosen.results.unfinished else []
    if empty:
        which = "; ".join(", ".join(f"{axis} = {value}" for axis, value in one.items()) for one in empty[:_MOST_NAMED])
        more = f"; and {len(empty) - _MOST_NAMED} more" if len(empty) > _MOST_NAMED else ""
        limited = chosen.flows.filter(pl.col("bytes").is_not_null())
        why = ", as not every flow ended there" if limited["fct_ns"].null_count() else ""
        has = "has" if len(empty) == 1 else "have"
        notes.append(f"{len(empty)} of {count} points {has} no {name}{why}: {which}{more}")
    if failures := len(chosen.results.document.get("failures", [])):
        notes.append(
            "1 failure of the sweep is not drawn"
            if failures == 1
            else f"{failures} failures of the sweep are not drawn"
        )
    return tuple(notes)


def _heat(chosen: _Selection, over: tuple[str, str], name: str, facet: str | None) -> AnnotatedFigure:
    results, axes, (x, y) = chosen.results, chosen.axes, over
    measure = _measure(name)
    order = {one: {value: at for at, value in enumerate(_sorted(axes[one]))} for one in (x, y)}
    tables, empty, count = [], [], 0
    for title, some in chosen.facets(facet):
        of_facet = {facet: title.removeprefix(f"{facet} = ")} if facet else {}
        array = np.full((len(order[y]), len(order[x])), np.nan)
        for column, row, mean in results.over_runs(name, [x, y], some).select(x, y, "mean").iter_rows():
            array[order[y][row], order[x][column]] = np.nan if mean is None else mean
            count += 1
            if mean is None:
                empty.append(of_facet | {x: column, y: row})
        tables.append((title, array))
    means = [float(value) for _, array in tables for value in array.ravel() if np.isfinite(value)]
    if not means:
        raise PlotError(f"{name}: there is no value (flows that did not end have none)")
    scale, label = _scaled(measure, means)
    shown = {one: grids.Axis(one, [str(value) for value in order[one]]) for one in (x, y)}
    fields = [(title, array / scale) for title, array in tables]
    notes = (*chosen.merged((x, y, facet)), *_notes(chosen, name, empty, count))
    figure = grids.heat(
        fields, x=shown[x], y=shown[y], label=label, title=chosen.title(": means"), unknown="-",
        note="; ".join(notes),
    )  # fmt: skip
    return AnnotatedFigure(figure, notes)


def _distribution(chosen: _Selection, x: str, colour: str | None, facet: str | None) -> AnnotatedFigure:
    flows = chosen.flows
    if facet is not None:
        one = _only(chosen.axes[facet]) if facet in chosen.axes else "with only"
        raise PlotError(f'facet = "{facet}": distributions have no facets: choose one value, such as {one}')
    column, label = _EACH_FLOW[x]
    limited = slowdown.table(fct.table(flows)).filter(pl.col("bytes").is_not_null())
    known = limited[column].drop_nulls()
    if not known.len():
        raise PlotError(f"{x}: no flow has ended")
    scale, unit = units.unit_of(known, units.TIMES) if x == "fct" else (1.0, "")
    curves = {}
    for name, part in chosen.curves(limited, colour):
        values = part[column].drop_nulls().sort() / scale
        share = pl.Series(range(1, values.len() + 1), dtype=pl.Float64) / part.height
        curves[name] = pl.DataFrame({"value": values, "share": share})
    xlabel = f"{label} [{unit}]" if unit else label
    shown = {name: table for name, table in curves.items() if table.height}
    figure = distributions.cumulative(shown, xlabel=xlabel, ylabel="Share of flows", title=chosen.title(), log=True)
    notes = [f"no flow has ended with {colour} = {name}" for name, table in curves.items() if not table.height]
    if unended := limited.height - known.len():
        notes.append(f"{unended} of {limited.height} flows have not ended: the curves end below 1")
    return AnnotatedFigure(figure, (*chosen.merged((colour,)), *notes, *_notes(chosen, x, [], 0)))


def _measure(name: str) -> measures.Measure:
    try:
        return measures.measure(name)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _scaled(measure: measures.Measure, means: Sequence[float]) -> tuple[float, str]:
    """The divisor of the values, and the label of their axis."""
    label = measure.label[0].upper() + measure.label[1:]
    if measure.unit == "s":
        scale, unit = units.unit_of(means, units.TIMES)
    elif measure.unit == "Gbit/s":
        scale, unit = units.unit_of(means, units.RATES)
    else:
        return 1.0, label
    return scale, f"{label} [{unit}]"


_SCALES = {"ns": (1e9, units.TIMES), "bps": (1e9, units.RATES), "bytes": (1.0, units.SIZES)}
"""The factor from an axis's unit to the base of its display units."""


def _axis(axis: AxisOf) -> tuple[dict[Any, float], grids.Axis]:
    """The position of each value on an axis, and the axis."""
    if not axis.numbers:
        return {value: float(at) for at, value in enumerate(axis.values)}, grids.Axis(
            axis.name, list(map(str, axis.values))
        )
    unit = (axis.column or "").removeprefix(f"{axis.name}_")
    if unit in _SCALES:
        base, known = _SCALES[unit]
        scale, unit = units.unit_of([number / base for number in axis.numbers], known)
        scale *= base
    else:
        scale, unit = {"packets": (1.0, "packets"), "share": (0.01, "%")}.get(unit, (1.0, ""))
    places = {value: number / scale for value, number in zip(axis.values, axis.numbers, strict=True)}
    return places, grids.Axis(f"{axis.name} [{unit}]" if unit else axis.name, numbers=list(places.values()))


def _sorted(axis: AxisOf) -> list[Any]:
    """The values, sorted by their numbers if they have any."""
    if not axis.numbers:
        return list(axis.values)
    return [value for _, value in sorted(zip(axis.numbers, axis.values, strict=True), key=lambda pair: pair[0])]
