"""Known causes of differences between the engines, read from `causes.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from importlib.resources import files

from daybreak.scenario.model import Model

BUILT_IN = files(__package__).joinpath("causes.toml")
UNKNOWN = "not known yet"
REPLAYS = ("segments", "receivers")
"""Comparisons segment by segment have causes of their own."""


class Cause(Model):
    """One cause."""

    scenario: str
    """Shell pattern for names of scenarios."""
    metric: str = "*"
    """Shell pattern for metrics, or one of `REPLAYS`, which no pattern matches."""
    cause: str
    """A sentence."""


def load() -> list[Cause]:
    """The causes that come with Daybreak."""
    document = tomllib.loads(BUILT_IN.read_text(encoding="utf-8"))
    return [Cause.model_validate(table) for table in document.get("cause", [])]


def cause_of(causes: Sequence[Cause], scenario: str, metric: str) -> str:
    """The first cause that matches."""

    def fits(known: Cause) -> bool:
        is_of_metric = known.metric == metric if metric in REPLAYS else fnmatchcase(metric, known.metric)
        return is_of_metric and fnmatchcase(scenario, known.scenario)

    return next((known.cause for known in causes if fits(known)), UNKNOWN)
