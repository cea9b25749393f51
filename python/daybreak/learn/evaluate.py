"""How good a model is on what it has not seen: whole scenarios, variants or periods are left out, never runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut

from .conformal import ConformalRegressor
from .dataset import Array, Dataset
from .model import SHARE, Model, seconds, target

FOLDS = 5
BASES = ("ensemble", "boosting", "forest")
OTHERWISE = "boosting"
"""What other splits than by scenario are judged with: it takes less time."""


def evaluate(data: Dataset) -> dict[str, Any]:
    """What each way of splitting says.

    ``r2`` is of each scenario's mean target (`model.target`) over its runs, which is what an operator has to expect,
    ``r2_runs`` of that of single runs, of as many of each scenario (`Dataset.of_common_seeds`), as all that follows:
    ``r2_s`` and ``mse_s2`` are of the runs' prolongations in seconds, ``coverage`` the share of left-out runs in their
    90 % interval. ``ceiling`` and ``ceiling_runs`` are what the chance between
    runs of one scenario leaves: no model can have a higher ``r2`` or ``r2_runs``. Scenarios of which there is one run
    are learnt from, but nothing is judged by them.
    """
    judged = data.repeated()
    x, groups = data.features(), data.scenarios()
    variants = data.table["migrated_variant"].rank("dense").to_numpy()
    periods = data.table["period_ms"].rank("dense").to_numpy()
    by_scenario = list(GroupKFold(FOLDS).split(x, groups=groups))
    return {
        "runs": len(x), "scenarios": len(set(groups)), "data": data.fingerprint,
        "judged_runs": int(judged.sum()), **_ceilings(data, judged),
        "scenarios_left_out": {base: _judged(data, base, by_scenario) for base in BASES},
        "runs_left_out": _judged(data, OTHERWISE, KFold(FOLDS, shuffle=True, random_state=1).split(x)),
        "migrated_variant_left_out": _judged(data, OTHERWISE, LeaveOneGroupOut().split(x, groups=variants)),
        "period_left_out": _judged(data, OTHERWISE, LeaveOneGroupOut().split(x, groups=periods)),
    }  # fmt: skip


def on_other_data(model: Model, data: Dataset) -> dict[str, Any]:
    """How good a fitted model is on data of another engine. Settings that it has seen are left out."""
    seen = {_key(setting) for setting in model.settings}
    new = data.table.filter([_key(row) not in seen for row in data.table.iter_rows(named=True)])
    other = Dataset(new)
    x = other.features()
    mean, ends = model.regressor.predict(x), model.regressor.predict_interval(x)
    return {
        "runs": new.height, "scenarios": len(set(other.scenarios())),
        "seen_runs_left_out": data.table.height - new.height, **_ceilings(other, other.repeated()),
    } | _numbers(other, mean, ends)  # fmt: skip


def _judged(data: Dataset, base: Any, splits: Iterable[tuple[Array, Array]]) -> dict[str, Any]:
    x, y, groups, judged, common = (
        data.features(), target(data), data.scenarios(), data.repeated(), data.of_common_seeds(),
    )  # fmt: skip
    mean, ends = np.full(len(y), np.nan), np.full((len(y), 2), np.nan)
    for training, held_out in splits:
        left_out = held_out[judged[held_out]]
        fitted = ConformalRegressor(base, SHARE).fit(x[training], y[training], groups[training], common[training])
        mean[left_out], ends[left_out] = fitted.predict(x[left_out]), fitted.predict_interval(x[left_out])
    return _numbers(Dataset(data.table.filter(judged)), mean[judged], ends[judged])


def _numbers(data: Dataset, mean: Array, ends: Array) -> dict[str, Any]:
    groups = data.scenarios()
    r2 = float(r2_score(_means(target(data), groups), _means(mean, groups)))
    common = data.of_common_seeds()
    data, mean, ends = Dataset(data.table.filter(common)), mean[common], ends[common]
    y, measured, ideal = target(data), data.seconds(), data.ideal_s()
    inside = (ends[:, 0] <= y) & (y <= ends[:, 1])
    width = seconds(ends[:, 1], ideal) - seconds(ends[:, 0], ideal)
    predicted = seconds(mean, ideal)
    return {
        "r2": r2, "r2_runs": float(r2_score(y, mean)),
        "r2_s": float(r2_score(measured, predicted)), "mse_s2": float(mean_squared_error(measured, predicted)),
        "median_error_s": float(np.median(np.abs(measured - predicted))),
        "coverage": float(inside.mean()), "median_width_s": float(np.median(width)),
    }  # fmt: skip


def _ceilings(data: Dataset, judged: Array) -> dict[str, float]:
    """What the chance between the runs of a scenario leaves for a model of means, and of single runs."""
    y, groups, common = target(data), data.scenarios()[judged], data.of_common_seeds()
    runs = [y[judged][groups == group] for group in np.unique(groups)]
    of_runs = float(np.mean([np.var(some, ddof=1) for some in runs]))
    of_means = float(np.mean([np.var(some, ddof=1) / len(some) for some in runs]))
    return {
        "ceiling": 1 - of_means / float(np.var(_means(y[judged], groups))),
        "ceiling_runs": 1 - of_runs / float(np.var(y[common])),
    }


def _means(values: Array, groups: Array) -> Array:
    """The mean of each group."""
    _, number = np.unique(groups, return_inverse=True)
    return np.asarray(np.bincount(number, values) / np.bincount(number))


def _key(setting: Any) -> tuple[Any, ...]:
    return tuple(sorted((name, str(value)) for name, value in setting.items() if name not in _RESULTS))


_RESULTS = ("seed", "scenario", "prolongation_s")
