"""A fitted model with what it was fitted to.

The target is relative to the time that the group's bytes take at the rate, on a logarithmic scale on both sides of
zero: sign(r) log(1 + |r|), since prolongations span five orders of magnitude. A prediction is the back-transformed
mean, which is closer to a median than to a mean of the seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from daybreak.metrics import units
from daybreak.plan.downtimes import LEARNT
from daybreak.scenario import Scenario

from . import domain, features, measured
from . import setting as settings_
from .columns import Array
from .conformal import ConformalRegressor
from .dataset import COUNTED, Dataset
from .design import RANGES
from .domain import Domain
from .setting import GROUPS

SHARE = 0.9
"""Of runs that an interval is to hold."""
TOLERATED = 0.2
"""The part of a prolongation by which an answer may be wrong."""
NOTABLE = 0.05
"""Prolongations below this part of the ideal time may be wrong by as much as this one."""
_UNSURE = "the model is not sure"


@dataclass(frozen=True)
class Prediction:
    """What is expected of a setting, in seconds."""

    prolongation_s: float
    low_s: float
    high_s: float
    error_s: float
    """What the error of `prolongation_s` is expected to be: the root of its mean square."""
    reasons: tuple[str, ...]
    """Why the setting is to be simulated instead: it is outside of what was measured, or the model is not sure."""
    similar: tuple[dict[str, Any], ...]
    """The most similar measured settings, each with its mean prolongation and of how many runs that is."""

    @property
    def holds(self) -> bool:
        """Whether it may be relied on."""
        return not self.reasons

    @property
    def is_inside(self) -> bool:
        """Whether the model knows such settings, sure of this one or not."""
        return all(reason.startswith(_UNSURE) for reason in self.reasons)


@dataclass(frozen=True)
class Model:
    """A regressor with the settings that it has learnt from."""

    regressor: ConformalRegressor
    domain: Domain
    settings: pl.DataFrame
    """`measured.table`: each with ``prolongation_s``, the mean of ``runs``; in the order of the domain's rows."""
    fingerprint: str
    """Of the data."""

    def of_scenario(self, scenario: Scenario, similar: int = 3) -> Prediction:
        """What is expected of a scenario. Raises ScenarioError where it is not of the testbed's kind."""
        return self.of_scenarios([scenario], similar)[0]

    def of_scenarios(self, scenarios: Sequence[Scenario], similar: int = 0) -> list[Prediction]:
        """What is expected of scenarios, with the reasons of `setting.differences` too."""
        settings = [settings_.describe(scenario) for scenario in scenarios]
        found = []
        for scenario, setting, one in zip(scenarios, settings, self.predict(settings, similar), strict=True):
            more = (*settings_.differences(scenario, setting), *_too_short(scenario, setting, one))
            found.append(replace(one, reasons=(*more, *one.reasons)))
        return found

    def predict(self, settings: Sequence[Mapping[str, Any]], similar: int = 0) -> list[Prediction]:
        """What is expected of settings (`setting.describe`)."""
        x, ideal = features.matrix(settings), np.array([settings_.ideal_s(setting) for setting in settings])
        which = classes(settings)
        center = self.regressor.predict(x, which)
        means = seconds(center, ideal)
        low, high = (seconds(part, ideal) for part in self.regressor.predict_interval(x, which).T)
        # The slope of the scale makes of an error in the target one in the ideal time.
        errors = self.regressor.predict_error(x, which) * np.exp(np.abs(center))
        found = []
        for row, setting in enumerate(settings):
            reasons = self.domain.reasons(setting)
            error_s, least = errors[row] * ideal[row], tolerated(means[row] / ideal[row]) * ideal[row]
            if not reasons and error_s > least:
                reasons = (
                    f"{_UNSURE}: it says {units.time(means[row], 3)} with an error of about {units.time(error_s, 2)}, "
                    f"of which {units.time(least, 2)} are tolerated",
                )
            nearest = self.domain.nearest(setting, similar) if similar else []
            found.append(
                Prediction(
                    float(means[row]), float(low[row]), float(high[row]), float(error_s), reasons,
                    tuple(self.settings.row(number, named=True) for number in nearest),
                )
            )  # fmt: skip
        return found


def tolerated(relative: float) -> float:
    """By how much a prolongation may be wrong, both in the ideal time."""
    return TOLERATED * max(abs(relative), NOTABLE)


def target(data: Dataset) -> Array:
    """What is learnt of runs."""
    return scaled(data.seconds() / data.ideal_s())


def scaled(relative: Array) -> Array:
    """The target of prolongations in the ideal time."""
    return np.asarray(np.sign(relative) * np.log1p(np.abs(relative)))


def seconds(values: Array, ideal_s: Array) -> Array:
    """Prolongations of values of the target."""
    return np.asarray(np.sign(values) * np.expm1(np.abs(values)) * ideal_s)


def classes(settings: Sequence[Mapping[str, Any]]) -> Array:
    """The number of each setting's policy: in each, intervals are calibrated apart."""
    return np.array([LEARNT.index(setting["downtime"]) for setting in settings])


def fit(data: Dataset, **given: Any) -> Model:
    """The model of data. Its intervals are calibrated on settings within `design.RANGES`.

    It is sure of nothing until `calibrate` has measured the errors of its means.
    """
    settings, groups = data.settings(), data.scenarios()
    regressor = ConformalRegressor(SHARE, **given).fit(
        features.matrix(settings), _values(data), classes(settings), _is_asked(settings), groups
    )
    _, first, number, count = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    means = np.bincount(number, data.seconds()) / count
    known = measured.table(
        settings[row] | {"prolongation_s": float(mean), "runs": int(runs)}
        for row, mean, runs in zip(first, means, count, strict=True)
    )
    return Model(regressor, domain.of(known), known, data.fingerprint)


def calibrate(model: Model, data: Sequence[Dataset]) -> None:
    """Measures the errors of a model's means on settings that it has not learnt from, with many runs of each."""
    settings: list[dict[str, Any]] = []
    means: list[float] = []
    for one in data:
        _, first, number = np.unique(one.scenarios(), return_index=True, return_inverse=True)
        of_rows = one.settings()
        settings += [of_rows[row] for row in first]
        means += (np.bincount(number, target(one)) / np.bincount(number)).tolist()
    model.regressor.calibrate(features.matrix(settings), np.array(means), classes(settings))


def _values(data: Dataset) -> Array:
    """The target and, for the networks, what it comes from: both FCTs, and what was counted of each flow."""
    ideal, flows = data.ideal_s(), data.table["migrated_flows"].to_numpy()
    end_s = settings_.testbed().duration / 1e12
    columns = [target(data)]
    for group in GROUPS:
        columns.append(np.log(data.table[f"{group}_fct_s"].fill_null(end_s).to_numpy() / ideal))
        columns += [np.log1p(data.table[f"{group}_{name}"].to_numpy() / flows) for name in COUNTED]
    return np.column_stack(columns)


def _is_asked(settings: Sequence[Mapping[str, Any]]) -> Array:
    """Whether a setting is one of those that the model is for, and not of the margin around them."""
    found = np.ones(len(settings), bool)
    numbers = domain.numbers_of(settings)
    for name, (low, high) in RANGES.items():
        column = numbers[:, domain.NUMBERS.index(name)]
        found &= np.isnan(column) | ((low <= column) & (column <= high))
    return found & (numbers[:, domain.NUMBERS.index("phase")] <= 1)


def _too_short(scenario: Scenario, setting: Mapping[str, Any], found: Prediction) -> tuple[str, ...]:
    """A run may end before its flows do."""
    needed = max(found.high_s, 0) + 3 * settings_.ideal_s(setting)
    if scenario.duration / 1e12 >= min(needed, settings_.testbed().duration / 1e12):
        return ()
    return (f"duration = {scenario.duration}: flows may not end in it",)
