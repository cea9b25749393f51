"""The paper's model: a random forest on the variants, day and night, judged as the paper judged it (section VI).

The paper prints the size of its grid of parameters (288) and the best ones. The grid here has that size and contains
these. Runs of one setting are in several folds, as they must have been in the paper's; the same with whole settings
left out stands beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_predict

from .columns import Array
from .dataset import Dataset
from .setting import GROUPS, VARIANTS

PARAMETERS = {
    "n_estimators": [50, 100, 200, 500], "bootstrap": [True, False], "max_depth": [5, 10, 50, 100],
    "min_samples_leaf": [1, 2, 4], "min_samples_split": [2, 5, 10],
}  # fmt: skip
"""288 combinations."""
PRINTED = {
    "n_estimators": 500, "bootstrap": True, "max_depth": 100, "min_samples_leaf": 2, "min_samples_split": 2,
}  # fmt: skip
"""The paper's best."""
INPUTS = ("migrated variant", "main variant", "day", "night")
FOLDS = 10


def inputs(data: Dataset) -> Array:
    """The paper's four inputs; the variants as one column each."""
    period, night = (data.table[name].to_numpy() for name in ("period_ms", "night_ms"))
    columns = [period - night, night]
    columns += [(data.table[f"{group}_variant"] == name).to_numpy() for group in GROUPS for name in VARIANTS]
    return np.column_stack(columns).astype(float)


def evaluate(data: Dataset, *, workers: int = 1, search: bool = True) -> tuple[dict[str, Any], Array]:
    """What the model reaches, and its predictions of each run from the other folds (seconds).

    With ``search`` the parameters are searched for, else they are the printed ones.
    """
    x, y, scenarios = inputs(data), data.seconds(), data.scenarios()
    folds = KFold(FOLDS, shuffle=True, random_state=1)
    best: dict[str, Any] = PRINTED
    if search:
        forest = RandomForestRegressor(random_state=1)
        found = GridSearchCV(
            forest, PARAMETERS, scoring="neg_mean_squared_error", cv=folds, n_jobs=workers, refit=False
        )
        best = found.fit(x, y).best_params_
    forest = RandomForestRegressor(**best, random_state=1)
    predicted = cross_val_predict(forest, x, y, cv=folds, n_jobs=workers)
    left_out = cross_val_predict(forest, x, y, groups=scenarios, cv=GroupKFold(FOLDS), n_jobs=workers)
    fitted = forest.fit(x, y)
    printed = predicted
    if best != PRINTED:
        printed = cross_val_predict(RandomForestRegressor(**PRINTED, random_state=1), x, y, cv=folds, n_jobs=workers)
    return {
        "runs": len(y), "settings": len(set(scenarios)), "folds": FOLDS,
        "searched": 288 if search else 0, "best": best,
        "mse_s2": float(mean_squared_error(y, predicted)), "r2": float(r2_score(y, predicted)),
        "printed_parameters": {"mse_s2": float(mean_squared_error(y, printed)), "r2": float(r2_score(y, printed))},
        "settings_left_out": {"mse_s2": float(mean_squared_error(y, left_out)), "r2": float(r2_score(y, left_out))},
        "importances": _by_input(fitted.feature_importances_),
        "range_s": [float(y.min()), float(y.max())],
        "squared_error_by_cycle": _by_cycle(data, (y - predicted) ** 2),
        "prolongation_s_by_cycle": _by_cycle(data, y),
    }, predicted  # fmt: skip


def _by_input(importances: Array) -> dict[str, float]:
    count = len(VARIANTS)
    parts = (importances[2 : 2 + count].sum(), importances[2 + count :].sum(), importances[0], importances[1])
    return {name: float(part) for name, part in zip(INPUTS, parts, strict=True)}


def _by_cycle(data: Dataset, values: Array) -> dict[str, float]:
    period, night = data.table["period_ms"].to_numpy(), data.table["night_ms"].to_numpy()
    cycles = sorted(set(zip(period, night, strict=True)))
    return {f"{p - n:g}+{n:g} ms": float(np.mean(values[(period == p) & (night == n)])) for p, n in cycles}
