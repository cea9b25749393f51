"""The file of a model: a skops archive, which holds no code.

It is read only if it consists of types that are expected, and believed only if its parts fit each other: what is broken
is said when it is read, in one sentence, not by what it predicts.
"""

from __future__ import annotations

import copy
import io
from contextlib import redirect_stderr
from importlib.resources import files
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED

import numpy as np
import skops.io

from daybreak.errors import OutputError, reason

from . import domain, features, measured, trees
from .columns import Array
from .conformal import ConformalRegressor
from .model import Model

_TRUSTED = (
    "daybreak.learn.conformal.ConformalRegressor", "daybreak.learn.conformal.Ensemble",
    "daybreak.learn.neural.NeuralMean",
    "sklearn._loss.link.Interval", "sklearn._loss.link.IdentityLink", "sklearn._loss.loss.HalfSquaredError",
    "sklearn._loss.loss.PinballLoss", "sklearn._loss._loss.CyHalfSquaredError", "sklearn._loss._loss.CyPinballLoss",
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
)  # fmt: skip


def save(model: Model, path: Path) -> None:
    """Writes a model file. Raises OutputError."""
    regressor, nodes = _bare(model.regressor)
    content = {
        "regressor": regressor, "nodes": nodes, "settings": measured.packed(model.settings),
        "limit": model.domain.limit, "fingerprint": model.fingerprint, "features": list(features.NAMES),
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
        if not isinstance(content["regressor"], ConformalRegressor):
            raise ValueError("it has no regressor")
        settings = measured.unpacked(content["settings"])
        found = Model(
            _whole(content["regressor"], content["nodes"]), domain.of(settings, float(content["limit"])), settings,
            content["fingerprint"],
        )  # fmt: skip
        _check(found)
    except OutputError:
        raise
    except Exception as error:
        # There is no end to what libraries raise for a file that is broken somewhere.
        raise OutputError(f"{place} is not a model: {reason(error) or type(error).__name__}") from None
    return found


def _bare(regressor: ConformalRegressor) -> tuple[ConformalRegressor, list[dict[str, Array]]]:
    """The regressor without the nodes of its trees, and these as arrays: as a thousand objects they are large."""
    bare = copy.copy(regressor)
    bare.center_ = copy.copy(regressor.center_)
    bare.center_.trees_, of_center = trees.packed(regressor.center_.trees_)
    quantiles = [trees.packed(one) for one in regressor.quantiles_]
    bare.quantiles_ = [one for one, _ in quantiles]
    return bare, [of_center, *(nodes for _, nodes in quantiles)]


def _whole(regressor: ConformalRegressor, nodes: list[dict[str, Array]]) -> ConformalRegressor:
    all_trees = [regressor.center_.trees_, *regressor.quantiles_]
    for one in all_trees:
        if one.n_features_in_ != len(features.NAMES):
            raise ValueError(f"its trees know {one.n_features_in_} inputs, not {len(features.NAMES)}")
    regressor.center_.trees_, *regressor.quantiles_ = (
        trees.unpacked(*one) for one in zip(all_trees, nodes, strict=True)
    )
    return regressor


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
    regressor = model.regressor
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


def _expect(name: str, found: Array, shape: tuple[int, ...]) -> None:
    if not isinstance(found, np.ndarray) or found.shape != shape or found.dtype.kind not in "fiu":
        raise ValueError(f"{name} is not an array of numbers of shape {shape}")
    if not np.isfinite(found).all():
        raise ValueError(f"{name} has values that are no finite numbers")
