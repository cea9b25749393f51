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
BASES = ("boosting", "forest")


def evaluate(data: Dataset) -> dict[str, Any]:
    """What each way of splitting says.

    ``r2`` is of the target (`model.target`), ``r2_s`` and ``mse_s2`` of the prolongation in seconds, ``coverage`` the
    share of left-out runs in their 90 % interval. ``noise`` is the share of the target's variance that lies between
    runs of one scenario: no model can reach an ``r2`` above 1 - noise.
    """
    x, groups = data.features(), data.scenarios()
    variants = data.table["migrated_variant"].rank("dense").to_numpy()
    periods = data.table["period_ms"].rank("dense").to_numpy()
    by_scenario = list(GroupKFold(FOLDS).split(x, groups=groups))
    return {
        "runs": len(x), "scenarios": len(set(groups)), "data": data.fingerprint, "noise": _noise(data),
        "scenarios_left_out": {base: _judged(data, base, by_scenario) for base in BASES},
        "runs_left_out": _judged(data, BASES[0], KFold(FOLDS, shuffle=True, random_state=1).split(x)),
        "migrated_variant_left_out": _judged(data, BASES[0], LeaveOneGroupOut().split(x, groups=variants)),
        "period_left_out": _judged(data, BASES[0], LeaveOneGroupOut().split(x, groups=periods)),
    }  # fmt: skip


def on_other_data(model: Model, data: Dataset) -> dict[str, Any]:
    """How good a fitted model is on data of another engine. Settings that it has seen are left out."""
    seen = {_key(setting) for setting in model.settings}
    new = data.table.filter([_key(row) not in seen for row in data.table.iter_rows(named=True)])
    other = Dataset(new)
    x, ideal = other.features(), other.ideal_s()
    mean, ends = model.regressor.predict(x), model.regressor.predict_interval(x)
    return {"runs": new.height, "seen_settings_left_out": data.table.height - new.height} | _numbers(
        other, mean, ends, ideal
    )


def _judged(data: Dataset, base: Any, splits: Iterable[tuple[Array, Array]]) -> dict[str, Any]:
    x, y, groups = data.features(), target(data), data.scenarios()
    mean, ends = np.full(len(y), np.nan), np.full((len(y), 2), np.nan)
    for training, left_out in splits:
        fitted = ConformalRegressor(base, SHARE).fit(x[training], y[training], groups[training])
        mean[left_out], ends[left_out] = fitted.predict(x[left_out]), fitted.predict_interval(x[left_out])
    return _numbers(data, mean, ends, data.ideal_s())


def _numbers(data: Dataset, mean: Array, ends: Array, ideal: Array) -> dict[str, Any]:
    y, measured = target(data), data.seconds()
    inside = (ends[:, 0] <= y) & (y <= ends[:, 1])
    width = seconds(ends[:, 1], ideal) - seconds(ends[:, 0], ideal)
    predicted = seconds(mean, ideal)
    return {
        "r2": float(r2_score(y, mean)), "r2_s": float(r2_score(measured, predicted)),
        "mse_s2": float(mean_squared_error(measured, predicted)),
        "median_error_s": float(np.median(np.abs(measured - predicted))),
        "coverage": float(inside.mean()), "median_width_s": float(np.median(width)),
    }  # fmt: skip


def _noise(data: Dataset) -> float:
    y, groups = target(data), data.scenarios()
    order = np.argsort(groups, kind="stable")
    parts = np.split(y[order], np.flatnonzero(np.diff(groups[order])) + 1)
    within = [np.var(part, ddof=1) for part in parts if len(part) > 1]
    return float(np.mean(within) / np.var(y))


def _key(setting: Any) -> tuple[Any, ...]:
    return tuple(sorted((name, str(value)) for name, value in setting.items() if name not in _RESULTS))


_RESULTS = ("seed", "scenario", "prolongation_s")
