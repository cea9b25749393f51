"""Gradient boosted trees, as all models here use them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

Array = np.ndarray[Any, Any]

ITERATIONS = {"mean": 500, "quantile": 200}
"""Trees of each kind of fit."""


def fitted(X: Array, y: Array, quantile: float | None = None, seed: int | None = 1) -> HistGradientBoostingRegressor:
    """Trees for the mean of rows, or for a quantile. Those of a leaf are known less well than its mean."""
    loss = "squared_error" if quantile is None else "quantile"
    iterations = ITERATIONS["mean" if quantile is None else "quantile"]
    leaves, least = (31, 6) if quantile is None else (15, 30)
    trees = HistGradientBoostingRegressor(
        loss=loss, quantile=quantile, max_iter=iterations, learning_rate=0.05, max_leaf_nodes=leaves,
        min_samples_leaf=least, l2_regularization=0.1, random_state=seed, early_stopping=False,
    )  # fmt: skip
    with _one_thread():
        return trees.fit(X, y)


def predicted(trees: HistGradientBoostingRegressor, X: Array) -> Array:
    """What trees say of rows."""
    with _one_thread():
        return np.asarray(trees.predict(X))


def _one_thread() -> Any:
    """Threads that wait for each other at every node take longer than one where others want the processors as well."""
    return threadpool_limits(1, user_api="openmp")
