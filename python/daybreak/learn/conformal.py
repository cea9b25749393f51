"""A regression with intervals that hold the wanted share of new values, in each class of rows.

The intervals are conformal (Vovk; Romano, Patterson and Candes, "Conformalized Quantile Regression", NeurIPS 2019):
quantiles of the errors are fitted on one half of the rows; on the other half it is measured how far errors lie outside
of them, and the interval is widened by so much that the wanted share lies inside. That is done in each class apart
("Mondrian"), so that no class pays for another. An error is that of a fit that has not seen the row (cross-fitting), so
no rows are lost for the mean; the final fit has seen some more, and its intervals are a little wider than they need be.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from . import trees
from .neural import NeuralMean

Array = np.ndarray[Any, Any]


class Ensemble(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The mean of gradient boosted trees and of small neural networks, of the first column of values."""

    def __init__(self, members: int = 5, random_state: int | None = 1):
        self.members = members
        self.random_state = random_state

    def fit(self, X: Array, y: Array) -> Self:
        """Fits to rows and values; further columns of values help the networks (`NeuralMean`)."""
        X, y = _checked(self, X, y)
        self.trees_ = trees.fitted(X, y if np.ndim(y) == 1 else y[:, 0], seed=self.random_state)
        self.networks_ = NeuralMean(members=self.members, random_state=self.random_state).fit(X, y)
        return self

    def predict(self, X: Array) -> Array:
        """The means of rows."""
        return self.with_doubt(X)[0]

    def with_doubt(self, X: Array) -> tuple[Array, Array]:
        """The means of rows, and how much the members differ about them: a standard deviation."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        of_trees, of_networks = trees.predicted(self.trees_, X), self.networks_.of_members(X)[:, :, 0]
        of_both = np.array([of_trees, of_networks.mean(axis=0)])
        return of_both.mean(axis=0), np.sqrt(of_networks.var(axis=0) + of_both.var(axis=0))


class ConformalRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Means with intervals that hold the wanted ``share`` of new rows' values."""

    def __init__(self, share: float = 0.9, folds: int = 3, members: int = 5, random_state: int | None = 1):
        self.share = share
        self.folds = folds
        self.members = members
        self.random_state = random_state

    def fit(self, X: Array, y: Array, classes: Array | None = None, representative: Array | None = None) -> Self:
        """Fits to rows and values, of which the first column is what is wanted.

        Intervals are calibrated in each of the ``classes``, one without, on the ``representative`` rows: all without,
        else those that are spread as the rows are that will be asked for.
        """
        X, y = _checked(self, X, y)
        classes = np.zeros(len(X), int) if classes is None else np.asarray(classes)
        is_asked = np.ones(len(X), bool) if representative is None else np.asarray(representative, dtype=bool)
        self.center_ = Ensemble(self.members, self.random_state).fit(X, y)
        errors = (y if np.ndim(y) == 1 else y[:, 0]) - self._left_out(X, y)
        calibrates = np.random.RandomState(self.random_state).permutation(len(X)) % 2 == 0
        tails = ((1 - self.share) / 2, (1 + self.share) / 2)
        self.quantiles_ = [trees.fitted(X[~calibrates], errors[~calibrates], tail, self.random_state) for tail in tails]
        low, high = self._quantiles(X)
        outside = np.maximum(low - errors, errors - high)
        used = calibrates & is_asked
        self.classes_ = np.unique(classes)
        self.widened_ = np.array([widening(outside[used & (classes == one)], self.share) for one in self.classes_])
        return self

    def predict(self, X: Array) -> Array:
        """The means of rows."""
        check_is_fitted(self)
        return self.center_.predict(validate_data(self, X, reset=False))

    def predict_with_doubt(self, X: Array) -> tuple[Array, Array]:
        """The means of rows, and how much those who are averaged differ about them."""
        check_is_fitted(self)
        return self.center_.with_doubt(validate_data(self, X, reset=False))

    def predict_interval(self, X: Array, classes: Array | None = None) -> Array:
        """Low and high end for each row; infinite for a class that was not seen."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        classes = np.full(len(X), self.classes_[0]) if classes is None else np.asarray(classes)
        by_class = dict(zip(self.classes_, self.widened_, strict=True))
        widened = np.array([by_class.get(one, math.inf) for one in classes])
        center, (low, high) = self.center_.predict(X), self._quantiles(X)
        # Quantiles that are fitted apart may cross, and an interval that shrinks may end before it began.
        middle = (low + high) / 2
        return np.column_stack([
            center + np.minimum(low - widened, middle), center + np.maximum(high + widened, middle)
        ])  # fmt: skip

    def _left_out(self, X: Array, y: Array) -> Array:
        """What each row is predicted by a fit to the others."""
        found = np.empty(len(X))
        for seen, left in KFold(self.folds, shuffle=True, random_state=self.random_state).split(X):
            found[left] = Ensemble(self.members, self.random_state).fit(X[seen], y[seen]).predict(X[left])
        return found

    def _quantiles(self, X: Array) -> tuple[Array, Array]:
        low, high = (trees.predicted(one, X) for one in self.quantiles_)
        return np.minimum(low, high), np.maximum(low, high)


def _checked(estimator: BaseEstimator, X: Array, y: Array) -> tuple[Array, Array]:
    X, y = validate_data(estimator, X, y, y_numeric=True, multi_output=True)
    return X, column_or_1d(y, warn=True) if np.ndim(y) == 2 and y.shape[1] == 1 else y


def widening(outside: Array, share: float) -> float:
    """By how much intervals are widened that values lie ``outside`` of by so much, negative inside.

    It is the value of rank ceil((n + 1) share): the new value may take each of the n + 1 places among the n known ones.
    Infinite where there are too few for that.
    """
    rank = math.ceil((len(outside) + 1) * share)
    return float(np.sort(outside)[rank - 1]) if rank <= len(outside) else math.inf
