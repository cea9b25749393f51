"""Gradient boosted trees, as all models here use them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

Array = np.ndarray[Any, Any]

KINDS = {
    "mean": (600, 127, 60, 0.08, 0.3), "quantile": (200, 15, 30, 0.05, 1.0), "chance": (100, 15, 100, 0.05, 1.0),
}  # fmt: skip
"""Of each kind of fit: trees, leaves of a tree, rows of a leaf, learning rate, and the part of the columns that a split
looks at. Quantiles and variances are known less well."""


def fitted(
    X: Array,
    y: Array,
    quantile: float | None = None,
    seed: int | None = 1,
    *,
    weights: Array | None = None,
    kind: str | None = None,
) -> HistGradientBoostingRegressor:
    """Trees for the mean of rows, or for a quantile."""
    loss = "squared_error" if quantile is None else "quantile"
    iterations, leaves, least, rate, part = KINDS[kind or ("mean" if quantile is None else "quantile")]
    trees = HistGradientBoostingRegressor(
        loss=loss, quantile=quantile, max_iter=iterations, learning_rate=rate, max_leaf_nodes=leaves,
        min_samples_leaf=least, l2_regularization=0.1, max_features=part, random_state=seed, early_stopping=False,
    )  # fmt: skip
    with _one_thread():
        return trees.fit(X, y, sample_weight=weights)


def predicted(trees: HistGradientBoostingRegressor, X: Array) -> Array:
    """What trees say of rows."""
    with _one_thread():
        return np.asarray(trees.predict(X))


def _one_thread() -> Any:
    """Threads that wait for each other at every node take longer than one where others want the processors as well."""
    return threadpool_limits(1, user_api="openmp")
