"""Tolerances of the metrics and targets of the suite, read from `tolerances.toml`."""

from __future__ import annotations

import math
import tomllib
from importlib.resources import files
from typing import Literal

from pydantic import model_validator

from daybreak.scenario.model import Model
from daybreak.scenario.quantities import reject

BUILT_IN = files(__package__).joinpath("tolerances.toml")


class Tolerance(Model):
    """A difference is tolerated if it is small relative to the kernel's value, or small in absolute terms."""

    relative: float | None = None
    """Part of the kernel's value."""
    absolute: float | None = None
    """In the metric's unit."""

    @model_validator(mode="after")
    def _says_something(self) -> Tolerance:
        if self.relative is None and self.absolute is None:
            raise reject("has no limit: expected relative, absolute or both")
        return self

    def holds(self, difference: float, kernel: float) -> bool:
        """Whether a difference from the kernel's value is tolerated."""
        if math.isnan(difference):
            return False
        small = self.absolute is not None and abs(difference) <= self.absolute
        return small or (self.relative is not None and abs(difference) <= self.relative * abs(kernel))

    def margin(self, kernel: float) -> float:
        """The largest difference from the kernel's value that is tolerated."""
        return max(self.absolute or 0.0, (self.relative or 0.0) * abs(kernel))

    def text(self) -> str:
        """The tolerance as text."""
        parts = [] if self.relative is None else [f"{self.relative * 100:g} %"]
        return " or ".join(parts if self.absolute is None else [*parts, f"{self.absolute:g}"])


class Target(Model):
    """A target that the rows of one metric must reach together."""

    metric: str
    """Whose rows."""
    statistic: Literal["median", "p90", "agreeing", "different"]
    """A statistic of the absolute relative difference, or the share of rows that agree or are judged different."""
    limit: float
    """At most this, or for "agreeing" at least."""


class Tolerances(Model):
    """The whole file."""

    metric: dict[str, Tolerance]
    """By metric."""
    target: tuple[Target, ...]
    """Of the suite."""


def load() -> Tolerances:
    """The tolerances that come with Daybreak."""
    return Tolerances.model_validate(tomllib.loads(BUILT_IN.read_text(encoding="utf-8")))
