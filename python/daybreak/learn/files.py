"""The file of a model: a skops archive, which holds no code.

It is read only if it consists of types that are expected, and believed only if its parts fit each other: what is broken
is said when it is read, in one sentence, not by what it predicts.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import redirect_stderr
from importlib.resources import files
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED

import numpy as np
import skops.io
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

from daybreak.errors import OutputError, reason

from . import features
from .columns import Array
from .conformal import ConformalRegressor
from .domain import NUMBERS, Domain
from .model import Model, compact, expanded

_TRUSTED = (
    "daybreak.learn.conformal.ConformalRegressor", "daybreak.learn.conformal.Ensemble",
    "daybreak.learn.neural.NeuralMean",
    "sklearn._loss.link.Interval", "sklearn._loss.link.IdentityLink", "sklearn._loss.loss.HalfSquaredError",
    "sklearn._loss.loss.PinballLoss", "sklearn._loss._loss.CyHalfSquaredError", "sklearn._loss._loss.CyPinballLoss",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
)  # fmt: skip


def save(model: Model, path: Path) -> None:
    """Writes a model file. Raises OutputError."""
    content = {
        "regressor": model.regressor, "settings": compact(model.settings), "fingerprint": model.fingerprint,
        "features": list(features.NAMES), "numbers": model.domain.numbers, "names": model.domain.names,
        "limit": model.domain.limit,
    }  # fmt: skip
    try:
        skops.io.dump(content, path, compression=ZIP_DEFLATED)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {reason(error)}") from None


def load(path: Path | None = None) -> Model:
    """Reads a model file, or the model that comes with Daybreak. Raises OutputError."""
    place = path or Path(str(files(__package__) / "networks.skops"))
    try:
        content = _content(place)
        if content["features"] != list(features.NAMES):
            raise OutputError(f"{place} is a model of another version: make it anew with daybreak learn networks")
        found = Model(
            content["regressor"], Domain(content["numbers"], content["names"], float(content["limit"])),
            expanded(content["settings"]), content["fingerprint"],
        )  # fmt: skip
        _check(found)
    except OutputError:
        raise
    except Exception as error:
        # There is no end to what libraries raise for a file that is broken somewhere.
        raise OutputError(f"{place} is not a model: {reason(error) or type(error).__name__}") from None
    return found


def _content(place: Path) -> dict[str, Any]:
    # Once into memory, so that all of it is of one version of the file.
    data = place.read_bytes()
    with redirect_stderr(io.StringIO()):
        unknown = [name for name in skops.io.get_untrusted_types(data=data) if name not in _TRUSTED]
        if unknown:
            raise OutputError(f"{place} is not a model: it has parts of type {unknown[0]}")
        found: dict[str, Any] = skops.io.loads(data, trusted=list(_TRUSTED))
    return found


def _check(model: Model) -> None:
    """Raises ValueError where the parts of a model do not fit each other."""
    regressor, domain = model.regressor, model.domain
    if not isinstance(regressor, ConformalRegressor):
        raise ValueError("it has no regressor")
    for trees in (regressor.center_.trees_, *regressor.quantiles_):
        _check_trees(trees)
    networks = regressor.center_.networks_
    width, values = len(features.NAMES), len(networks.scale_)
    for name in ("low_", "high_", "center_", "spread_"):
        _expect(name, getattr(networks, name), (width,))
    for name in ("mean_", "scale_"):
        _expect(name, getattr(networks, name), (values,))
    for layers in networks.weights_:
        before = width
        for number, (matrix, offset) in enumerate(layers):
            after = len(offset) if number < len(layers) - 1 else values
            _expect("a layer", matrix, (before, after))
            _expect("a layer's offsets", offset, (after,))
            before = after
    _expect("classes", regressor.classes_, (len(regressor.widened_),))
    _expect("shares", regressor.shares_, regressor.classes_.shape)
    if np.isnan(regressor.widened_).any():
        raise ValueError("its intervals are not numbers")
    for _, (doubts, squares) in zip(regressor.classes_, regressor.squares_, strict=True):
        _expect("doubts", doubts, (len(squares),))
        if np.isnan(squares).any():
            raise ValueError("its errors are not numbers")
    rows = len(model.settings)
    _expect("numbers", np.nan_to_num(domain.numbers), (rows, len(NUMBERS)))
    _expect("names", domain.names, (rows, 3))


def _check_trees(trees: HistGradientBoostingRegressor) -> None:
    for nodes in _nodes(trees):
        if nodes.dtype != PREDICTOR_RECORD_DTYPE or nodes.ndim != 1:
            raise ValueError("a tree has other nodes than trees have")
        inner = np.flatnonzero(nodes["is_leaf"] == 0)
        children = np.stack([nodes["left"][inner], nodes["right"][inner]]).astype(int)
        # A child comes after its parent: so there is no way round, and no way out.
        if (children <= inner).any() or (children >= len(nodes)).any():
            raise ValueError("the nodes of a tree do not follow each other")
        if (nodes["feature_idx"][inner] >= len(features.NAMES)).any() or not np.isfinite(nodes["value"]).all():
            raise ValueError("a node of a tree asks for what there is not")


def _nodes(trees: HistGradientBoostingRegressor) -> Iterator[Array]:
    if trees.n_features_in_ != len(features.NAMES):
        raise ValueError(f"its trees know {trees.n_features_in_} inputs, not {len(features.NAMES)}")
    for iteration in trees._predictors:
        for tree in iteration:
            yield tree.nodes


def _expect(name: str, found: Array, shape: tuple[int, ...]) -> None:
    if not isinstance(found, np.ndarray) or found.shape != shape or found.dtype.kind not in "fiu":
        raise ValueError(f"{name} is not an array of numbers of shape {shape}")
    if not np.isfinite(found).all():
        raise ValueError(f"{name} has values that are no finite numbers")
