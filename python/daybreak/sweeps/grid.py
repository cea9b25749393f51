"""A grid file: which scenarios a sweep runs, and with which seeds.

    scenario = "migration.toml"            # the scenario that the points change; its place is relative to this file
    seeds = 10                             # or a list; each point is run with each of them
    keep = ["flows"]                       # the tables that are kept of each run

    [axes]
    "flows.0.variant" = ["cubic", "bbr"]   # one field, which gives the axis its name

    [axes.period]                          # one field, under another name
    field = "timelines.0.period"
    values = ["10 ms", "25 ms"]

    [axes.size]                            # several fields that have the same value
    fields = ["flows.0.size", "flows.1.size"]
    values = ["64 MiB", "1 GiB"]

    [axes.cycle.points]                    # listed: any fields, under a name
    "90+10" = { "timelines.0.period" = "100 ms", "timelines.0.night" = "10 ms" }

The points are the Cartesian product of the axes, the last one changing fastest; with `sample`, that number of them,
drawn without replacement. The name of an axis is a column of each kept table; where its values are quantities, another
column has their numbers (`period_ns`, `size_bytes`, `queue_packets`, `rate_bps`, `loss_share`). Neither the product nor
the seeds are ever held in memory.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, StrictInt, ValidationError, model_validator

from daybreak.errors import ScenarioError, reason
from daybreak.metrics.fct import RUN_ENDED
from daybreak.runs import schema
from daybreak.scenario import Scenario, load
from daybreak.scenario.model import Model
from daybreak.scenario.problems import scenario_error
from daybreak.scenario.quantities import reject
from daybreak.scenario.scenario import plain

from . import numbers
from .labels import labels, twice

OF_EVERY_RUN = ("point", "seed", RUN_ENDED)
"""Columns of every table of a sweep beside those of the axes."""
OF_SUMMARIES = (
    "complete", "deviation", "end_s", "fct_s", "goodput_gbps", "high", "limited", "low", "mean", "runs", "slowdown",
    "t", "unknown", "value",
)  # fmt: skip
"""Columns that are made of table `flows` beside those of the axes where a sweep is summarised and drawn."""
_OF_A_SCENARIO = {"topology", "nodes", "flows", "arrivals", "duration"}
_AXIS_NAME = re.compile(r"\w([\w .-]*[\w.-])?")


def _sound_seeds(seeds: int | tuple[int, ...]) -> int | tuple[int, ...]:
    if isinstance(seeds, int):
        if seeds < 1:
            raise reject("expected at least 1")
    elif not seeds:
        raise reject("expected at least 1 entry")
    elif negative := [seed for seed in seeds if seed < 0]:
        raise reject(f"expected numbers from 0, not {negative[0]}")
    elif same := twice(seeds):
        raise reject(f"expected each seed once, and {same[1]} is there twice")
    return seeds


class Axis(Model):
    """One axis: the fields that vary, and their values."""

    field: str | None = Field(default=None, min_length=1)
    """The dotted path of a field of the scenario file, as in `daybreak run --set`."""
    fields: tuple[str, ...] = Field(default=(), min_length=1)
    """Several such fields, which all get the same value."""
    values: tuple[Any, ...] = Field(default=(), min_length=1)
    """The values that the field, or the fields, take in turn."""
    points: dict[str, dict[str, Any]] = Field(default={}, min_length=1)
    """Instead of fields and values: the changes of each named point."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        ways = bool(self.field) + bool(self.fields) + bool(self.points)
        if ways != 1:
            raise reject("expected one of field, fields and points")
        if bool(self.values) == bool(self.points):
            raise reject("expected values with a field or fields, and none with points")
        return self

    def choices(self) -> list[tuple[Any, dict[str, Any]]]:
        """For each value its label, and the changes it makes to the scenario."""
        if self.points:
            return list(self.points.items())
        fields = self.fields or (str(self.field),)
        return [(value, dict.fromkeys(fields, value)) for value in self.values]


def _list_or_table(axis: Any) -> Any:
    if not isinstance(axis, Axis | dict):
        raise reject("expected a list of values, or a table")
    return axis


def _with_fields(axes: Any) -> Any:
    """Axes that are lists, as tables."""
    if not isinstance(axes, dict):
        return axes
    return {name: {"field": name, "values": axis} if isinstance(axis, list) else axis for name, axis in axes.items()}


class Grid(Model):
    """The content of a grid file."""

    scenario: str
    """The scenario file that is varied."""
    engine: str = "simulated"
    """The engine that runs it."""
    seeds: Annotated[StrictInt | tuple[int, ...], AfterValidator(_sound_seeds)] = 1
    """Seeds; a number n stands for the seeds 1 to n."""
    keep: tuple[str, ...] = Field(default=("flows",), min_length=1)
    """Tables that are kept of each run."""
    sample: int | None = Field(default=None, ge=1)
    """Number of points drawn from the product; all points if not given."""
    sample_seed: int = 1
    """Seed of that draw."""
    axes: Annotated[dict[str, Annotated[Axis, BeforeValidator(_list_or_table)]], BeforeValidator(_with_fields)] = {}
    """The axes by name. A list has the values of the field that its name is."""


@dataclass(frozen=True)
class Points:
    """The points of a grid over its scenario, by number. They are generated one by one, so there may be any number of
    them."""

    grid: Grid
    base: Scenario

    @property
    def count(self) -> int:
        """Number of points."""
        total = self._total
        return total if self.grid.sample is None else min(self.grid.sample, total)

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[int]:
        """Their numbers, from 0 in the order of the product."""
        return iter(self._drawn if self.count < self._total else range(self._total))

    def on(self, engine: str) -> Points:
        """These points on another engine."""
        return replace(self, grid=self.grid.model_copy(update={"engine": engine}))

    @property
    def seeds(self) -> Sequence[int]:
        """The seeds that each point is run with."""
        seeds = self.grid.seeds
        return range(1, seeds + 1) if isinstance(seeds, int) else seeds

    @property
    def runs(self) -> int:
        """Number of runs: points times seeds."""
        seeds = self.grid.seeds
        return self.count * (seeds if isinstance(seeds, int) else len(seeds))

    @cached_property
    def _total(self) -> int:
        return math.prod(len(choices) for choices in self._choices.values())

    @cached_property
    def _drawn(self) -> list[int]:
        draw = random.Random(self.grid.sample_seed)
        if self._total <= sys.maxsize:
            return sorted(draw.sample(range(self._total), self.count))
        # `sample` takes no longer range. From such a range few are drawn twice.
        found: set[int] = set()
        while len(found) < self.count:
            found.add(draw.randrange(self._total))
        return sorted(found)

    @cached_property
    def _choices(self) -> dict[str, list[tuple[Any, dict[str, Any]]]]:
        return {name: axis.choices() for name, axis in self.grid.axes.items()}

    def vary(self, *parts: str) -> bool:
        """Whether an axis changes one of these parts of the scenario."""
        changed = (field for axis in self.grid.axes.values() for _, fields in axis.choices() for field in fields)
        return any(field.split(".")[0] in parts for field in changed)

    def columns(self, number: int) -> dict[str, Any]:
        """The value of each axis at a point, of one type for all points: see `labels`."""
        return {name: self._labels[name][index] for name, index in self._chosen(number).items()}

    def row(self, number: int) -> dict[str, Any]:
        """`columns`, with the number of each quantity beside it: see `numbers`."""
        chosen = self._chosen(number)
        return self.columns(number) | {column: of[chosen[name]] for name, (column, of) in self._numbers.items()}

    @cached_property
    def _numbers(self) -> dict[str, tuple[str, list[float]]]:
        """For each axis of quantities the name of its column of numbers, and the numbers."""
        found = {name: numbers.column(name, axis.values) for name, axis in self.grid.axes.items()}
        return {name: column for name, column in found.items() if column}

    @cached_property
    def _labels(self) -> dict[str, list[Any]]:
        return {name: labels([value for value, _ in choices]) for name, choices in self._choices.items()}

    def scenario(self, number: int) -> Scenario:
        """The scenario of a point. Raises ScenarioError."""
        chosen = [self._choices[name][index][1] for name, index in self._chosen(number).items()]
        changes = {field: value for fields in chosen for field, value in fields.items()}
        return self.base.with_(changes) if changes else self.base

    def _chosen(self, number: int) -> dict[str, int]:
        """The index of each axis's value at a point."""
        chosen = {}
        for name, choices in reversed(self._choices.items()):
            number, chosen[name] = divmod(number, len(choices))
        return dict(reversed(chosen.items()))


def vary(
    scenario: Scenario,
    axes: Mapping[str, Sequence[Any] | Mapping[str, Any]],
    *,
    seeds: int | Sequence[int] = 1,
    engine: str = "simulated",
    keep: Sequence[str] = ("flows",),
    sample: int | None = None,
    sample_seed: int = 1,
) -> Points:
    """The points of a grid over ``scenario``. Raises ScenarioError.

    An axis is either a list of values under the dotted path of its field, ``{"timelines.0.period": ["1 ms", "10
    ms"]}``, or a table as in a grid file, under a name of its own. The other arguments are the keys of a grid file.
    """
    tables = {
        name: plain(dict(axis) if isinstance(axis, Mapping) else {"field": name, "values": _listed(axis)})
        for name, axis in axes.items()
    }
    document = {
        "scenario": scenario.name, "engine": engine, "seeds": seeds, "keep": list(keep), "sample": sample,
        "sample_seed": sample_seed, "axes": tables,
    }  # fmt: skip
    return Points(parse(document), scenario)


def _listed(values: Any) -> Any:
    """An iterable as a list; a string stays one value, which the grid refuses."""
    return list(values) if isinstance(values, Iterable) and not isinstance(values, str | bytes) else values


def read(path: str | Path) -> Points:
    """The points of a grid file. Raises ScenarioError."""
    path = Path(path)
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScenarioError(f"{path} cannot be read: {reason(error)}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ScenarioError(f"{path} is not valid TOML: {reason(error)}") from None
    if "scenario" not in document and _OF_A_SCENARIO & document.keys():
        raise ScenarioError(f"{path} is a scenario, and a grid was expected: one with scenario and axes")
    grid = parse(document, str(path))
    return Points(grid, load(path.parent / grid.scenario))


def parse(document: dict[str, Any], source: str = "grid") -> Grid:
    """The grid of a document in the shape of a grid file. Raises ScenarioError."""
    try:
        grid = Grid.model_validate(document)
    except ValidationError as error:
        raise scenario_error(error, document, source, whole="the grid") from None
    problem = _problem(grid)
    if problem:
        raise ScenarioError(f"{source}: {problem}")
    return grid


def _problem(grid: Grid) -> str | None:
    """What is wrong with the names of a grid, in one sentence."""
    tables = schema()
    for table in grid.keep:
        if table not in tables:
            return f'keep = "{table}": no such table; expected some of {", ".join(tables)}'
    if doubled := _twice(list(grid.keep)):
        return f'keep has "{doubled}" twice'
    for name, axis in grid.axes.items():
        if not _AXIS_NAME.fullmatch(name):
            shown = json.dumps(name, ensure_ascii=False)
            return f"axis {shown}: expected the name of a column, of letters, digits, spaces and . - _"
        if name in OF_EVERY_RUN:
            return f'axis "{name}": every table of a sweep has a column of this name; expected another one'
        if same := twice(axis.values):
            one, other = (json.dumps(value, ensure_ascii=False) for value in same)
            what = f"{one} is there twice" if one == other else f"{one} and {other} are the same"
            return f'axis "{name}": expected each value once, and {what}'
        number = numbers.column(name, axis.values)
        if number and (number[0] in grid.axes or any(number[0] in tables[table] for table in grid.keep)):
            return f'axis "{name}": its numbers would be column {number[0]}, which there is; expected another name'
        owner = next((table for table in grid.keep if name in tables[table]), None)
        if owner:
            return f'axis "{name}": table {owner} has a column of this name; expected another one, such as "{name}_set"'
        if "flows" in grid.keep and name in OF_SUMMARIES:
            return f'axis "{name}": a summary of table flows has a column of this name; expected another one, such as \
"{name}_set"'
    if doubled := _twice([field for axis in grid.axes.values() for field in {f for _, c in axis.choices() for f in c}]):
        return f'"{doubled}" is varied by two axes'
    return None


def _twice(names: list[str]) -> str | None:
    return next((one for one, following in itertools.pairwise(sorted(names)) if one == following), None)
