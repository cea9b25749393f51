"""A fitted model with what it was fitted to, and its file.

The target is relative to the time that the group's bytes take at the rate, on a logarithmic scale on both sides of
zero: sign(r) log(1 + |r|), since prolongations span five orders of magnitude. A prediction is the back-transformed
mean, which is closer to a median than to a mean of the seconds.

Files are skops archives, which hold no code; they are read only if they consist of types that are expected.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile

import numpy as np
import skops.io

from daybreak.errors import OutputError, reason

from . import features
from .conformal import ConformalRegressor
from .dataset import Array, Dataset

SHARE = 0.9
"""Of runs that an interval is to hold."""
_TRUSTED = (
    "daybreak.learn.conformal.ConformalRegressor", "daybreak.learn.conformal.QuantileForest",
    "daybreak.learn.neural.NeuralMean",
    "sklearn._loss.link.Interval", "sklearn._loss.link.IdentityLink", "sklearn._loss.loss.HalfSquaredError",
    "sklearn._loss.loss.PinballLoss", "sklearn._loss._loss.CyHalfSquaredError", "sklearn._loss._loss.CyPinballLoss",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
)  # fmt: skip


@dataclass(frozen=True)
class Prediction:
    """What is expected of a setting, in seconds."""

    prolongation_s: float
    low_s: float
    high_s: float
    warnings: tuple[str, ...]
    """Where the setting lies outside of what was measured."""
    similar: tuple[dict[str, Any], ...]
    """The most similar measured settings, with their mean prolongation."""


@dataclass(frozen=True)
class Model:
    """A regressor with its training settings."""

    regressor: ConformalRegressor
    settings: tuple[dict[str, Any], ...]
    """Each with ``prolongation_s``, its mean over the seeds."""
    fingerprint: str
    """Of the data."""

    def predict(self, settings: list[Mapping[str, Any]], similar: int = 3) -> list[Prediction]:
        """What is expected of settings (`features.describe`). Raises OutputError for an unknown variant."""
        for setting in settings:
            for group in features.GROUPS:
                if setting[f"{group}_variant"] not in features.VARIANTS:
                    names = ", ".join(features.VARIANTS)
                    raise OutputError(f'variant "{setting[f"{group}_variant"]}": the model knows {names}')
        x = np.array([features.vector(setting) for setting in settings])
        ideal = np.array([features.ideal_s(setting) for setting in settings])
        means = seconds(self.regressor.predict(x), ideal)
        ends = [seconds(part, ideal) for part in self.regressor.predict_interval(x).T]
        # Mean and quantiles are fitted apart; where runs differ by orders of magnitude they may contradict each other.
        means = np.clip(means, *ends)
        known = np.array([features.vector(setting) for setting in self.settings])
        spread = np.where(known.std(axis=0) > 0, known.std(axis=0), 1.0)
        return [
            Prediction(
                float(means[row]), float(ends[0][row]), float(ends[1][row]), _warnings(setting, x[row], known),
                tuple(
                    self.settings[index]
                    for index in np.argsort(np.linalg.norm((known - x[row]) / spread, axis=1))[:similar]
                ),
            )
            for row, setting in enumerate(settings)
        ]  # fmt: skip


def target(data: Dataset) -> Array:
    """What is learnt."""
    relative = data.seconds() / data.ideal_s()
    return np.asarray(np.sign(relative) * np.log1p(np.abs(relative)))


def seconds(values: Array, ideal_s: Array) -> Array:
    """Prolongations of values of the target."""
    return np.asarray(np.sign(values) * np.expm1(np.abs(values)) * ideal_s)


def fit(data: Dataset, base: Any = "ensemble") -> Model:
    """The model of all data. Its intervals are calibrated on scenarios of which there are several runs."""
    regressor = ConformalRegressor(base, SHARE).fit(
        data.features(), target(data), data.scenarios(), data.of_common_seeds()
    )
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in data.table.iter_rows(named=True):
        rows.setdefault(row["scenario"], []).append(row)
    settings = []
    for same in rows.values():
        mean = float(np.mean([row["prolongation_s"] for row in same]))
        kept = {name: value for name, value in same[0].items() if name not in ("seed", "scenario")}
        settings.append(kept | {"prolongation_s": mean})
    return Model(regressor, tuple(settings), data.fingerprint)


def save(model: Model, path: Path) -> None:
    """Writes a model file. Raises OutputError."""
    content = {
        "regressor": model.regressor,
        "settings": json.dumps(model.settings),
        "fingerprint": model.fingerprint,
        "features": list(features.NAMES),
    }
    try:
        skops.io.dump(content, path, compression=ZIP_DEFLATED)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {reason(error)}") from None


def load(path: Path | None = None) -> Model:
    """Reads a model file, or the model that comes with Daybreak. Raises OutputError."""
    place = path or Path(str(files(__package__) / "networks.skops"))
    try:
        unknown = [name for name in skops.io.get_untrusted_types(file=place) if name not in _TRUSTED]
        if unknown:
            raise OutputError(f"{place} is not a model: it has parts of type {unknown[0]}")
        content = skops.io.load(place, trusted=list(_TRUSTED))
        if content["features"] != list(features.NAMES):
            raise OutputError(f"{place} is a model of another version: its features differ")
        if not hasattr(content["regressor"], "centers_"):
            raise OutputError(f"{place} is a model of another version: make it anew with daybreak learn networks")
        return Model(content["regressor"], tuple(json.loads(content["settings"])), content["fingerprint"])
    except (OSError, BadZipFile, ValueError, KeyError, TypeError) as error:
        raise OutputError(f"{place} is not a model: {reason(error)}") from None


def _warnings(setting: Mapping[str, Any], row: Array, known: Array) -> tuple[str, ...]:
    found = []
    for name, value, column in zip(features.NAMES, row, known.T, strict=True):
        if not column.min() <= value <= column.max():
            found.append(
                f"{name} = {value:.4g} is outside of what was measured ({column.min():.4g} to {column.max():.4g})"
            )
    if setting["downtime"] not in ("none", "drop", "hold"):
        found.append(f'downtime "{setting["downtime"]}" was not measured; it is taken for "hold"')
    for name in ("mib", "flows"):
        if setting[f"migrated_{name}"] != setting[f"main_{name}"]:
            found.append(
                f"the groups differ in {name}; only equal ones were measured, it is taken for the migrated one's"
            )
    return tuple(found)
