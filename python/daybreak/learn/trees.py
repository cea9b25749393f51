"""Gradient boosted trees, as all models here use them."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
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
        trees.fit(X, y, sample_weight=weights)
    for (tree,) in trees._predictors:
        # To what a file has of them: a model that is read is the one that was written.
        tree.nodes["value"] = tree.nodes["value"].astype(np.float32)
    return trees


def predicted(trees: HistGradientBoostingRegressor, X: Array) -> Array:
    """What trees say of rows."""
    with _one_thread():
        return np.asarray(trees.predict(X))


def packed(trees: HistGradientBoostingRegressor) -> tuple[HistGradientBoostingRegressor, dict[str, Array]]:
    """Trees without their nodes, and of the nodes what predictions need, as arrays over all trees.

    The nodes of a tree follow each other depth first, the left branch before the right one, so where a node's branches
    are need not be kept. A node compares with one of the thresholds of its input, so a number of one byte says which.
    """
    nodes = np.concatenate([tree.nodes for (tree,) in trees._predictors])
    is_leaf = nodes["is_leaf"] == 1
    bare = copy.copy(trees)
    bare._predictors = []
    return bare, {
        # -1 is a leaf.
        "inputs": np.where(is_leaf, -1, nodes["feature_idx"].astype(int)).astype(np.int16),
        "thresholds": nodes["bin_threshold"][~is_leaf],
        "values": nodes["value"][is_leaf].astype(np.float32),
    }


def unpacked(bare: HistGradientBoostingRegressor, arrays: dict[str, Array]) -> HistGradientBoostingRegressor:
    """Trees with their nodes again. Raises ValueError where these are no nodes of such trees."""
    inputs, places, values = arrays["inputs"], arrays["thresholds"], arrays["values"]
    if inputs.dtype != np.int16 or inputs.ndim != 1 or (inputs >= bare.n_features_in_).any():
        raise ValueError("a node of a tree asks for what there is not")
    is_leaf = inputs < 0
    if places.dtype != np.uint8 or places.shape != (np.count_nonzero(~is_leaf),):
        raise ValueError("a node of a tree has no threshold")
    if values.dtype != np.float32 or values.shape != (np.count_nonzero(is_leaf),) or not np.isfinite(values).all():
        raise ValueError("a leaf of a tree has no value")
    known = bare._bin_mapper.bin_thresholds_
    if (places >= np.array([len(one) for one in known])[inputs[~is_leaf]]).any():
        raise ValueError("a node of a tree asks for a threshold that there is not")
    nodes = np.zeros(len(inputs), PREDICTOR_RECORD_DTYPE)
    nodes["is_leaf"] = is_leaf
    nodes["value"][is_leaf] = values
    nodes["feature_idx"][~is_leaf] = inputs[~is_leaf]
    nodes["bin_threshold"][~is_leaf] = places
    # Places of an input are below 256 here, so that one row is one input.
    table = np.zeros((len(known), 256))
    for row, thresholds in zip(table, known, strict=True):
        row[: len(thresholds)] = thresholds
    nodes["num_threshold"][~is_leaf] = table[inputs[~is_leaf], places]
    starts, right = _grown(is_leaf.tolist())
    none = np.zeros((0, 8), np.uint32)
    whole = copy.copy(bare)
    whole._predictors = []
    for start, end in zip(starts, [*starts[1:], len(nodes)], strict=True):
        one = nodes[start:end]
        inner = one["is_leaf"] == 0
        one["left"][inner] = np.flatnonzero(inner) + 1
        one["right"][inner] = right[start:end][inner] - start
        whole._predictors.append([TreePredictor(one, none, none)])
    return whole


def _grown(is_leaf: list[bool]) -> tuple[list[int], Array]:
    """Where each tree starts, and the right branch of each node: what comes after the last leaf of the left one."""
    starts, right, waiting = [0], np.zeros(len(is_leaf), int), list[int]()
    for place, ends in enumerate(is_leaf, 1):
        if not ends:
            waiting.append(place - 1)
        elif waiting:
            right[waiting.pop()] = place
        else:
            starts.append(place)
    if starts.pop() != len(is_leaf):
        raise ValueError("the nodes of a tree do not follow each other")
    return starts, right


def _one_thread() -> Any:
    """Threads that wait for each other at every node take longer than one where others want the processors as well."""
    return threadpool_limits(1, user_api="openmp")
