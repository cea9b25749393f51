"""A grid file: which scenarios a sweep runs, and with which seeds.

    scenario = "migration.toml"            # the scenario that the points change; its place is relative to this file
    seeds = 10                             # or a list; each point is run with each of them

    [axes.period]                          # one field
    field = "timelines.0.period"
    values = ["10 ms", "25 ms"]

    [axes.size]                            # several fields that have the same value
    fields = ["flows.0.size", "flows.1.size"]
    values = ["64 MiB", "1 GiB"]

    [axes.cycle.points]                    # listed: any fields, under a name
    "90+10" = { "timelines.0.period" = "100 ms", "timelines.0.night" = "10 ms" }

The points are the Cartesian product of the axes, the last one changing fastest; with `sample` so many of them, drawn
without replacement.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from daybreak.errors import ScenarioError, reason
from daybreak.scenario import Scenario, load
from daybreak.scenario.model import Model
from daybreak.scenario.problems import scenario_error
from daybreak.scenario.quantities import reject

_RESERVED = ("point", "seed")
"""Columns of every table of a sweep beside those of the axes."""


def _listed(value: Any) -> Any:
    return tuple(range(1, value + 1)) if isinstance(value, int) and not isinstance(value, bool) else value


class Axis(Model):
    """One thing that is varied."""

    field: str | None = None
    """The dotted path of a field of the scenario file, as in `daybreak run --set`."""
    fields: tuple[str, ...] = ()
    """Several, which all get the same value."""
    values: tuple[Any, ...] = ()
    """What the field, or the fields, are set to."""
    points: dict[str, dict[str, Any]] = {}
    """In place of fields and values: by name, what is changed."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        ways = bool(self.field) + bool(self.fields) + bool(self.points)
        if ways != 1:
            raise reject("expected one of field, fields and points")
        if bool(self.values) == bool(self.points):
            raise reject("expected values with a field or fields, and none with points")
        return self

    def choices(self) -> list[tuple[Any, dict[str, Any]]]:
        """For each value what it is called, and the changes that it is."""
        if self.points:
            return list(self.points.items())
        fields = self.fields or (str(self.field),)
        return [(value, dict.fromkeys(fields, value)) for value in self.values]


class Grid(Model):
    """What a grid file says."""

    scenario: str
    """The scenario file that is varied."""
    engine: str = "simulated"
    """The engine that runs it."""
    seeds: Annotated[tuple[int, ...], BeforeValidator(_listed)] = Field(default=(1,), min_length=1)
    """Seeds; a number stands for 1, 2, 3 ..."""
    keep: tuple[str, ...] = ("flows",)
    """Tables that are kept of each run."""
    sample: int | None = Field(default=None, ge=1)
    """How many points are drawn from the product; all without."""
    sample_seed: int = 1
    """What they are drawn with."""
    axes: dict[str, Axis] = {}
    """What is varied, by name."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for name in self.axes:
            if name in _RESERVED:
                raise reject(f'has an axis "{name}": this is the name of another column')
        if len(set(self.seeds)) < len(self.seeds) or min(self.seeds) < 0:
            raise reject("has seeds that are negative or occur twice")
        return self


@dataclass(frozen=True)
class Points:
    """The points of a grid over its scenario, by number. They are made one by one: there may be any number of them."""

    grid: Grid
    base: Scenario

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[int]:
        """Their numbers, from 0 in the order of the product."""
        return iter(self._numbers)

    @cached_property
    def _numbers(self) -> range | list[int]:
        total = math.prod(len(choices) for choices in self._choices.values())
        wanted = self.grid.sample
        if wanted is None or wanted >= total:
            return range(total)
        return sorted(random.Random(self.grid.sample_seed).sample(range(total), wanted))

    @cached_property
    def _choices(self) -> dict[str, list[tuple[Any, dict[str, Any]]]]:
        return {name: axis.choices() for name, axis in self.grid.axes.items()}

    def columns(self, number: int) -> dict[str, Any]:
        """What each axis has at a point, of one type for all points: values of several types, and lists, as JSON."""
        return {
            name: json.dumps(value) if name in self._mixed else value
            for name, (value, _) in self._chosen(number).items()
        }

    @cached_property
    def _mixed(self) -> set[str]:
        types = {name: {type(value) for value, _ in choices} for name, choices in self._choices.items()}
        return {name for name, found in types.items() if len(found) > 1 or not found <= {str, bool, int, float}}

    def scenario(self, number: int) -> Scenario:
        """The scenario of a point. Raises ScenarioError."""
        chosen = self._chosen(number)
        changes = {field: value for _, fields in chosen.values() for field, value in fields.items()}
        return self.base.with_(changes) if changes else self.base

    def _chosen(self, number: int) -> dict[str, tuple[Any, dict[str, Any]]]:
        chosen = {}
        for name, choices in reversed(self._choices.items()):
            number, index = divmod(number, len(choices))
            chosen[name] = choices[index]
        return dict(reversed(chosen.items()))


def read(path: str | Path) -> Points:
    """The points of a grid file. Raises ScenarioError."""
    path = Path(path)
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScenarioError(f"{path} cannot be read: {reason(error)}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ScenarioError(f"{path} is not valid TOML: {reason(error)}") from None
    grid = parse(document, str(path))
    return Points(grid, load(path.parent / grid.scenario))


def parse(document: dict[str, Any], source: str = "grid") -> Grid:
    """The grid of a document in the shape of a grid file. Raises ScenarioError."""
    try:
        grid = Grid.model_validate(document)
    except ValidationError as error:
        raise scenario_error(error, document, source) from None
    twice = _twice([field for axis in grid.axes.values() for field in {f for _, c in axis.choices() for f in c}])
    if twice:
        raise ScenarioError(f'{source}: "{twice}" is varied by two axes', twice)
    return grid


def _twice(names: list[str]) -> str | None:
    return next((one for one, following in itertools.pairwise(sorted(names)) if one == following), None)
