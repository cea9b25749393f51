"""Small neural networks that are averaged: a regression whose file is small."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

Array = np.ndarray[Any, Any]

STAGES = ((2e-3, 25), (5e-4, 10), (1e-4, 5))
"""Learning rates, each with its passes over the data. With large steps to the end the networks are much worse."""


class NeuralMean(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The mean of perceptrons that differ by where they start.

    Columns without values of zero or less are taken as logarithms. Beyond the data each column is taken as the nearest
    value that was seen, as trees do. Equal rows are learnt as their mean with the weight of their number, which has the
    same squared error and takes less time.
    """

    def __init__(
        self,
        members: int = 8,
        width: int = 96,
        layers: int = 3,
        alpha: float = 0.03,
        random_state: int | None = 1,
    ):
        self.members = members
        self.width = width
        self.layers = layers
        self.alpha = alpha
        self.random_state = random_state

    def fit(self, X: Array, y: Array) -> Self:
        """Fits the networks to rows and values."""
        X, y = validate_data(self, X, y, y_numeric=True)
        rows, number, counts = np.unique(X, axis=0, return_inverse=True, return_counts=True)
        means = np.bincount(number.reshape(-1), y) / counts
        self.low_, self.high_ = rows.min(axis=0), rows.max(axis=0)
        self.logarithmic_ = self.low_ > 0
        columns = self._columns(rows)
        self.center_, self.spread_ = columns.mean(axis=0), columns.std(axis=0)
        self.spread_[self.spread_ < 1e-12] = 1.0
        self.mean_, self.scale_ = float(means.mean()), float(means.std()) or 1.0
        inputs = ((columns - self.center_) / self.spread_).astype(np.float32)
        values = ((means - self.mean_) / self.scale_).astype(np.float32)
        first = np.random.RandomState(self.random_state).randint(2**31 - self.members)
        self.weights_ = [self._trained(inputs, values, counts, first + member) for member in range(self.members)]
        return self

    def predict(self, X: Array) -> Array:
        """The means of rows."""
        check_is_fitted(self)
        inputs = self._inputs(validate_data(self, X, reset=False))
        total = np.zeros(len(inputs))
        with _one_thread():
            for layers in self.weights_:
                values = inputs
                for matrix, offset in layers[:-1]:
                    values = np.maximum(values @ matrix + offset, 0)
                total += (values @ layers[-1][0] + layers[-1][1])[:, 0]
        return np.asarray(self.mean_ + self.scale_ * total / self.members)

    def _columns(self, X: Array) -> Array:
        inside = np.clip(np.asarray(X, dtype=float), self.low_, self.high_)
        return np.where(self.logarithmic_, np.log(np.where(self.logarithmic_, inside, 1.0)), inside)

    def _inputs(self, X: Array) -> Array:
        return np.asarray((self._columns(X) - self.center_) / self.spread_)

    def _trained(self, inputs: Array, values: Array, weights: Array, seed: int) -> list[tuple[Array, Array]]:
        """The matrix and the offsets of each layer: what a network is, without what its training needs."""
        network = MLPRegressor(
            hidden_layer_sizes=(self.width,) * self.layers, alpha=self.alpha, batch_size=min(256, len(values)),
            random_state=seed, warm_start=True, tol=0, n_iter_no_change=sum(passes for _, passes in STAGES),
        )  # fmt: skip
        with _one_thread(), warnings.catch_warnings():
            # All passes are made, whether or not the last ones still change anything.
            warnings.simplefilter("ignore", ConvergenceWarning)
            for rate, passes in STAGES:
                network.set_params(learning_rate_init=rate, max_iter=passes).fit(inputs, values, weights)
        return list(zip(network.coefs_, network.intercepts_, strict=True))


def _one_thread() -> Any:
    """Sums are in another order with another number of threads, and small matrices are not faster with more."""
    return threadpool_limits(1, user_api="blas")
