"""Small neural networks that are averaged: a regression whose file is small."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

Array = np.ndarray[Any, Any]

STAGES = ((2e-3, 20), (5e-4, 10), (1e-4, 6))
"""Learning rates, each with its passes over the data. With large steps to the end the networks are much worse."""


class NeuralMean(MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The mean of perceptrons that differ by where they start.

    With several columns of values the first one is what is wanted, and counts ``lead`` times as much; the others are
    learnt beside it, since what explains them explains it too. Beyond the data each input is taken as the nearest value
    that was seen, as trees do.
    """

    def __init__(
        self,
        *,
        members: int = 6,
        width: int = 128,
        layers: int = 3,
        alpha: float = 1.0,
        lead: float = 2.0,
        random_state: int | None = 1,
    ):
        self.members = members
        self.width = width
        self.layers = layers
        self.alpha = alpha
        self.lead = lead
        self.random_state = random_state

    def fit(self, X: Array, y: Array, weights: Array | None = None) -> Self:
        """Fits the networks to rows and values, of which each counts by its weight."""
        X, y = validate_data(self, X, y, y_numeric=True, multi_output=True)
        values = np.asarray(y, dtype=float).reshape(len(X), -1)
        self.is_flat_ = np.ndim(y) == 1
        self.low_, self.high_ = X.min(axis=0), X.max(axis=0)
        self.center_, self.spread_ = X.mean(axis=0), X.std(axis=0)
        self.spread_[self.spread_ < 1e-12] = 1.0
        self.mean_, self.scale_ = values.mean(axis=0), values.std(axis=0)
        self.scale_[self.scale_ < 1e-12] = 1.0
        self.scale_[0] /= self.lead
        inputs = self._inputs(X).astype(np.float32)
        values = ((values - self.mean_) / self.scale_).astype(np.float32)
        first = np.random.RandomState(self.random_state).randint(2**31 - self.members)
        self.weights_ = [self._trained(inputs, values, weights, first + member) for member in range(self.members)]
        return self

    def predict(self, X: Array) -> Array:
        """The means of rows."""
        found = self.of_members(X).mean(axis=0)
        return np.asarray(found[:, 0] if self.is_flat_ else found)

    def of_members(self, X: Array) -> Array:
        """What each network says: networks x rows x columns of values."""
        check_is_fitted(self)
        inputs = self._inputs(validate_data(self, X, reset=False))
        with _one_thread():
            return np.array([self.mean_ + self.scale_ * _forward(layers, inputs) for layers in self.weights_])

    def _inputs(self, X: Array) -> Array:
        return np.asarray((np.clip(np.asarray(X, dtype=float), self.low_, self.high_) - self.center_) / self.spread_)

    def _trained(self, inputs: Array, values: Array, weights: Array | None, seed: int) -> list[tuple[Array, Array]]:
        """The matrix and the offsets of each layer: what a network is, without what its training needs."""
        network = MLPRegressor(
            hidden_layer_sizes=(self.width,) * self.layers, alpha=self.alpha, batch_size=min(256, len(values)),
            random_state=seed, warm_start=True, tol=0, n_iter_no_change=sum(passes for _, passes in STAGES),
        )  # fmt: skip
        with _one_thread(), warnings.catch_warnings():
            # All passes are made, whether or not the last ones still change anything.
            warnings.simplefilter("ignore", ConvergenceWarning)
            for rate, passes in STAGES:
                network.set_params(learning_rate_init=rate, max_iter=passes)
                network.fit(inputs, values if values.shape[1] > 1 else values[:, 0], sample_weight=weights)
        return list(zip(network.coefs_, network.intercepts_, strict=True))


def _forward(layers: list[tuple[Array, Array]], values: Array) -> Array:
    for matrix, offset in layers[:-1]:
        values = np.maximum(values @ matrix + offset, 0)
    return np.asarray(values @ layers[-1][0] + layers[-1][1])


def _one_thread() -> Any:
    """Sums are in another order with another number of threads, and small matrices are not faster with more."""
    return threadpool_limits(1, user_api="blas")
