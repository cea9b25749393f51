"""A regression that knows how wrong it is: intervals for new values, and what error its means are expected to have.

The intervals are conformal (Vovk; Romano, Patterson and Candes, "Conformalized Quantile Regression", NeurIPS 2019):
quantiles of the errors are fitted on one half of the rows; on the other half it is measured how far errors lie outside
of them, and the interval is widened by so much that the wanted share lies inside. That is done in each class apart
("Mondrian"), so that no class pays for another. An error is that of a fit that has not seen the row (cross-fitting), so
no rows are lost for the mean; the final fit has seen some more, and its intervals are a little wider than they need be.

The error of a mean is not that of a value, which chance makes larger. It is measured on rows that nothing was fitted
to and whose means are known from many values (`calibrate`): in groups of rows in which those who are averaged differ
alike, as the upper end of the confidence interval of the mean square, so that few rows that happen to be right support
nothing. It is taken not to fall where they differ more.

Where chance is large a value says little. Rows of some classes are weighted by one over its variance, which is learnt
from the errors of trees that have not seen the row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from daybreak.metrics.confidence import interval

from . import trees
from .neural import NeuralMean

Array = np.ndarray[Any, Any]

OF_CLASS = 0.3
"""The part of a class's variance that is added to that of chance, so that no few rows decide."""
_GROUP = 20
"""Rows in which errors are measured together, at least."""
_LEVEL = 0.9
"""Of the interval of their mean square: it is larger than its upper end once in twenty times."""
_LEAST = 1e-4
"""Added to squared errors, so that none has a logarithm as well."""


class Ensemble(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The mean of gradient boosted trees and of small neural networks, of the first column of values."""

    def __init__(self, members: int = 4, random_state: int | None = 1):
        self.members = members
        self.random_state = random_state

    def fit(self, X: Array, y: Array, weights: Array | None = None) -> Self:
        """Fits to rows and values. In the networks each counts by its weight, and further columns help; trees, which
        average over the rows of a leaf anyway, are worse with weights."""
        X, y = _checked(self, X, y)
        self.trees_ = trees.fitted(X, _first(y), seed=self.random_state)
        self.networks_ = NeuralMean(members=self.members, random_state=self.random_state).fit(X, y, weights)
        return self

    def predict(self, X: Array) -> Array:
        """The means of rows."""
        return np.asarray(self.parts(X)[:2].mean(axis=0))

    def parts(self, X: Array) -> Array:
        """What the trees say of rows, what the networks do, and how much all differ: a standard deviation."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        of_trees, of_networks = trees.predicted(self.trees_, X), self.networks_.of_members(X)[:, :, 0]
        both = np.array([of_trees, of_networks.mean(axis=0)])
        return np.array([*both, np.sqrt(of_networks.var(axis=0) + both.var(axis=0))])


class ConformalRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Means, what errors they are expected to have, and intervals with the wanted ``share`` of new rows' values."""

    def __init__(self, share: float = 0.9, folds: int = 2, members: int = 4, random_state: int | None = 1):
        self.share = share
        self.folds = folds
        self.members = members
        self.random_state = random_state

    def fit(
        self,
        X: Array,
        y: Array,
        classes: Array | None = None,
        representative: Array | None = None,
        groups: Array | None = None,
    ) -> Self:
        """Fits to rows and values, of which the first column is what is wanted.

        Intervals are calibrated in each of the ``classes``, one without, on the ``representative`` rows: all without,
        else those that are spread as the rows are that will be asked for. Rows of one of the ``groups`` have the same
        inputs; without groups each row is one. Errors are infinite until `calibrate` has measured them.
        """
        X, y = _checked(self, X, y)
        classes = np.zeros(len(X), int) if classes is None else np.asarray(classes)
        is_asked = np.ones(len(X), bool) if representative is None else np.asarray(representative, dtype=bool)
        groups = np.arange(len(X)) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
        weights = self._weights(X, _first(y), classes, groups)
        self.center_ = Ensemble(self.members, self.random_state).fit(X, y, weights)
        of_trees, of_networks = self._left_out(X, y, weights, groups)
        self.classes_ = np.unique(classes)
        self._fit_shares(_first(y), of_trees, of_networks, weights, classes)
        left_out = self._mixed(of_trees, of_networks, classes)
        errors = _first(y) - left_out
        self._fit_intervals(X, errors, classes, is_asked, groups)
        self.squares_ = [(np.zeros(1), np.full(1, math.inf)) for _ in self.classes_]
        return self

    def calibrate(self, X: Array, means: Array, classes: Array | None = None) -> Self:
        """Measures what errors means have, on rows that it was not fitted to and their true means."""
        center, doubt = self._with_doubt(X, classes)
        classes = np.full(len(center), self.classes_[0]) if classes is None else np.asarray(classes)
        squares = (np.asarray(means) - center) ** 2
        self.squares_ = [_supported(doubt[classes == one], squares[classes == one]) for one in self.classes_]
        return self

    def predict(self, X: Array, classes: Array | None = None) -> Array:
        """The means of rows; those of a class that was not seen are the mean of trees and networks."""
        return self._with_doubt(X, classes)[0]

    def predict_error(self, X: Array, classes: Array | None = None) -> Array:
        """What errors the rows' means are expected to have (roots of mean squares); infinite if none were measured."""
        check_is_fitted(self)
        doubt = self._with_doubt(X, classes)[1]
        classes = np.full(len(doubt), self.classes_[0]) if classes is None else np.asarray(classes)
        found = np.full(len(doubt), math.inf)
        for one, (doubts, squares) in zip(self.classes_, self.squares_, strict=True):
            mine = classes == one
            found[mine] = np.sqrt(np.maximum(np.interp(doubt[mine], doubts, squares), doubt[mine] ** 2))
        return found

    def predict_interval(self, X: Array, classes: Array | None = None) -> Array:
        """Low and high end for each row; infinite for a class that was not seen."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        widened = self._of_classes(self.widened_, len(X), classes)
        center, (low, high) = self.predict(X, classes), self._quantiles(X)
        # Quantiles that are fitted apart may cross, and an interval that shrinks may end before it began.
        middle = (low + high) / 2
        return np.column_stack([
            center + np.minimum(low - widened, middle), center + np.maximum(high + widened, middle)
        ])  # fmt: skip

    def _weights(self, X: Array, y: Array, classes: Array, groups: Array) -> Array:
        """What each row counts: one over the variance of chance there and a part of that of its class, 1 on average."""
        found = np.empty(len(X))
        for seen, left in self._folds(groups):
            rough = trees.fitted(X[seen], y[seen], seed=self.random_state, kind="chance")
            found[left] = trees.predicted(rough, X[left])
        squares = (y - found) ** 2
        chance = np.exp(
            trees.predicted(trees.fitted(X, np.log(squares + _LEAST), seed=self.random_state, kind="chance"), X)
        )
        weights = np.ones(len(X))
        for one in np.unique(classes):
            mine = classes == one
            scaled = chance[mine] * np.mean(squares[mine] / chance[mine])
            weights[mine] = 1 / (scaled + OF_CLASS * y[mine].var() + _LEAST)
            weights[mine] /= weights[mine].mean()
        return weights

    def _left_out(self, X: Array, y: Array, weights: Array, groups: Array) -> Array:
        """What trees and networks say of each row, by a fit to the other groups."""
        found = np.empty((2, len(X)))
        for seen, left in self._folds(groups):
            one = Ensemble(self.members, self.random_state).fit(X[seen], y[seen], weights[seen])
            found[:, left] = one.parts(X[left])[:2]
        return found

    def _fit_shares(self, y: Array, of_trees: Array, of_networks: Array, weights: Array, classes: Array) -> None:
        """What the trees count in the means of each class: so that the squared errors are least."""
        self.shares_ = np.empty(len(self.classes_))
        for number, one in enumerate(self.classes_):
            mine = classes == one
            apart, missing = (of_trees - of_networks)[mine], (y - of_networks)[mine]
            least = np.average(apart * missing, weights=weights[mine])
            self.shares_[number] = np.clip(least / max(np.average(apart**2, weights=weights[mine]), _LEAST**2), 0, 1)

    def _mixed(self, of_trees: Array, of_networks: Array, classes: Array | None) -> Array:
        shares = self._of_classes(self.shares_, len(of_trees), classes)
        shares[np.isinf(shares)] = 0.5
        return np.asarray(shares * of_trees + (1 - shares) * of_networks)

    def _with_doubt(self, X: Array, classes: Array | None) -> tuple[Array, Array]:
        check_is_fitted(self)
        of_trees, of_networks, doubt = self.center_.parts(validate_data(self, X, reset=False))
        return self._mixed(of_trees, of_networks, classes), doubt

    def _folds(self, groups: Array) -> Iterator[tuple[Array, Array]]:
        names = np.unique(groups)
        for _, left in KFold(self.folds, shuffle=True, random_state=self.random_state).split(names):
            is_left = np.isin(groups, names[left])
            yield np.flatnonzero(~is_left), np.flatnonzero(is_left)

    def _fit_intervals(self, X: Array, errors: Array, classes: Array, is_asked: Array, groups: Array) -> None:
        """The errors' quantiles on one half of the groups, and on the other by how much they are widened."""
        half = np.random.RandomState(self.random_state).permutation(groups.max() + 1) % 2 == 0
        calibrates = half[groups]
        tails = ((1 - self.share) / 2, (1 + self.share) / 2)
        self.quantiles_ = [trees.fitted(X[~calibrates], errors[~calibrates], tail, self.random_state) for tail in tails]
        low, high = self._quantiles(X)
        outside = np.maximum(low - errors, errors - high)
        used = calibrates & is_asked
        self.widened_ = np.array([widening(outside[used & (classes == one)], self.share) for one in self.classes_])

    def _of_classes(self, values: Array, count: int, classes: Array | None) -> Array:
        """Of each row the value of its class; infinite for a class that was not seen."""
        classes = np.full(count, self.classes_[0]) if classes is None else np.asarray(classes)
        found = np.full((count, *values.shape[1:]), math.inf)
        for one, value in zip(self.classes_, values, strict=True):
            found[classes == one] = value
        return found

    def _quantiles(self, X: Array) -> tuple[Array, Array]:
        low, high = (trees.predicted(one, X) for one in self.quantiles_)
        return np.minimum(low, high), np.maximum(low, high)


def _supported(doubt: Array, squares: Array) -> tuple[Array, Array]:
    """Doubts, and beside each what mean square of errors the rows with such a doubt support; infinite without rows."""
    if len(doubt) < _GROUP:
        return np.zeros(1), np.full(1, math.inf)
    order = np.argsort(doubt, kind="stable")
    groups = np.array_split(order, len(order) // _GROUP)
    ends = [interval(squares[group].tolist(), level=_LEVEL).high for group in groups]
    return np.array([doubt[group].mean() for group in groups]), np.maximum.accumulate(ends)


def _first(y: Array) -> Array:
    return y if np.ndim(y) == 1 else y[:, 0]


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
