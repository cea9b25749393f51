"""A regression with intervals that cover: conformalised quantile regression.

Romano, Patterson and Candes, "Conformalized Quantile Regression" (NeurIPS 2019): two quantiles are fitted on a part of
the data; on the rest it is measured how far values lie outside of them, and the interval is widened by so much that the
wanted share lies inside. Rows of one group (runs of one scenario) go to one part together, else the measured distances
would be those of known scenarios. With few groups coverage holds for runs of exchangeable groups, not for each of them.
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.model_selection import GroupShuffleSplit
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from .neural import NeuralMean

Array = np.ndarray[Any, Any]


class QuantileForest(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Meinshausen's quantile regression forest (JMLR 2006): quantiles of the training values that share leaves."""

    def __init__(self, n_estimators: int = 200, min_samples_leaf: int = 3, random_state: int | None = 1):
        self.n_estimators = n_estimators
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    def fit(self, X: Array, y: Array) -> Self:
        """Fits the forest to rows and values."""
        X, y = validate_data(self, X, y, y_numeric=True)
        self.forest_ = RandomForestRegressor(
            self.n_estimators, min_samples_leaf=self.min_samples_leaf, max_features=0.5, random_state=self.random_state
        ).fit(X, y)
        self.leaves_ = self.forest_.apply(X)
        self.values_ = np.asarray(y, dtype=float)
        return self

    def predict(self, X: Array) -> Array:
        """The means of rows."""
        check_is_fitted(self)
        return np.asarray(self.forest_.predict(validate_data(self, X, reset=False)))

    def quantiles(self, X: Array, levels: tuple[float, float]) -> Array:
        """One row of quantiles for each row."""
        # Runs of one scenario have one row of features.
        different, which = np.unique(X, axis=0, return_inverse=True)
        # By tree the training rows in the order of their leaves, and where each row's leaf begins and ends there.
        order = np.argsort(self.leaves_, axis=0, kind="stable")
        ordered = np.take_along_axis(self.leaves_, order, axis=0)
        asked = self.forest_.apply(different)
        trees = range(asked.shape[1])
        ends = [[np.searchsorted(ordered[:, t], asked[:, t], side) for side in ("left", "right")] for t in trees]
        found = np.empty((len(asked), len(levels)))
        for row in range(len(asked)):
            same = [order[first[row] : last[row], t] for t, (first, last) in enumerate(ends)]
            # A tree's vote is shared by the training rows of the leaf.
            weights = np.concatenate([np.full(len(rows), 1 / len(rows)) for rows in same]) / len(same)
            values = self.values_[np.concatenate(same)]
            by_value = np.argsort(values, kind="stable")
            above = np.searchsorted(np.cumsum(weights[by_value]), levels)
            found[row] = values[by_value][np.minimum(above, len(values) - 1)]
        return found[which.reshape(-1)]


class ConformalRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Means with intervals that hold the wanted ``share`` of new scenarios' runs.

    ``base`` is what fits: "boosting" (gradient boosted trees), "ensemble" (the mean of these and of neural networks,
    with the trees' quantiles) or "forest" (`QuantileForest`).
    """

    def __init__(
        self,
        base: Literal["ensemble", "boosting", "forest"] = "ensemble",
        share: float = 0.9,
        calibration: float = 0.25,
        random_state: int | None = 1,
    ):
        self.base = base
        self.share = share
        self.calibration = calibration
        self.random_state = random_state

    def fit(self, X: Array, y: Array, groups: Array | None = None, representative: Array | None = None) -> Self:
        """Fits to rows and values; rows of one group belong together, each row is its own group without.

        Intervals are calibrated on the ``representative`` rows: on all without, else on those that are spread as the
        rows are that will be asked for.
        """
        X, y = validate_data(self, X, y, y_numeric=True)
        groups = np.arange(len(y)) if groups is None else np.asarray(groups)
        rows = np.arange(len(y)) if representative is None else np.flatnonzero(representative)
        if len(np.unique(groups[rows])) < 2:
            raise ValueError(f"groups: n_samples=1 group, of {len(rows)} rows: expected at least two")
        split = GroupShuffleSplit(1, test_size=self.calibration, random_state=self.random_state)
        held_out = rows[next(split.split(rows, groups=groups[rows]))[1]]
        proper = np.flatnonzero(~np.isin(groups, groups[held_out]))
        bases = ("boosting", "networks") if self.base == "ensemble" else (self.base,)
        self.centers_ = [_fitted(base, None, X, y, self.random_state) for base in bases]
        tails = ((1 - self.share) / 2, (1 + self.share) / 2)
        if self.base == "forest":
            self.quantiles_ = [_fitted("forest", None, X[proper], y[proper], self.random_state)]
        else:
            self.quantiles_ = [_fitted("boosting", tail, X[proper], y[proper], self.random_state) for tail in tails]
        low, high = self._quantiles(X[held_out]).T
        outside = np.maximum(low - y[held_out], y[held_out] - high)
        level = min(1.0, np.ceil((len(outside) + 1) * self.share) / len(outside))
        self.widened_ = float(np.quantile(outside, level, method="higher"))
        return self

    def predict(self, X: Array) -> Array:
        """The means of rows."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return np.asarray(np.mean([_predicted(center, X) for center in self.centers_], axis=0))

    def predict_interval(self, X: Array) -> Array:
        """Low and high end for each row."""
        check_is_fitted(self)
        low, high = self._quantiles(validate_data(self, X, reset=False)).T
        low, high = np.minimum(low, high) - self.widened_, np.maximum(low, high) + self.widened_
        middle = (low + high) / 2
        return np.column_stack([np.minimum(low, middle), np.maximum(high, middle)])

    def _quantiles(self, X: Array) -> Array:
        if self.base == "forest":
            forest: QuantileForest = self.quantiles_[0]
            return forest.quantiles(X, ((1 - self.share) / 2, (1 + self.share) / 2))
        return np.column_stack([_predicted(one, X) for one in self.quantiles_])


def _fitted(base: str, quantile: float | None, X: Array, y: Array, seed: int | None) -> Any:
    if base == "forest":
        return QuantileForest(random_state=seed).fit(X, y)
    if base == "networks":
        return NeuralMean(random_state=seed).fit(X, y)
    if base != "boosting":
        raise ValueError(f'base: "{base}": expected ensemble, boosting or forest')
    loss = "squared_error" if quantile is None else "quantile"
    # Small leaves: there are few runs of a scenario. Quantiles of a leaf are known less well than its mean.
    iterations, leaves = (600, 31) if quantile is None else (300, 15)
    trees = HistGradientBoostingRegressor(
        loss=loss, quantile=quantile, max_iter=iterations, learning_rate=0.05, max_leaf_nodes=leaves,
        min_samples_leaf=6, l2_regularization=0.1, random_state=seed, early_stopping=False,
    )  # fmt: skip
    with _one_thread():
        return trees.fit(X, y)


def _predicted(fitted: Any, X: Array) -> Array:
    with _one_thread():
        return np.asarray(fitted.predict(X))


def _one_thread() -> Any:
    """Threads that wait for each other at every node take longer than one where others want the processors as well."""
    return threadpool_limits(1, user_api="openmp")
