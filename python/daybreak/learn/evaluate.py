"""How good a model is on settings that it has not seen, whatever engine they were run on."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import features
from .columns import Array
from .dataset import Dataset
from .model import Model, classes, scaled, target

SIMULATED = 8
"""Runs of a setting that `daybreak predict` makes where the model does not hold."""
NOTABLE = 0.05
"""Prolongations above this part of the ideal time are judged by their relative error."""
_POLICIES = ("none", "drop", "hold")


def judge(model: Model, data: Dataset) -> dict[str, Any]:
    """What a model says of the settings of data with several runs each, over all and within each downtime policy.

    ``predicted``: all settings that are inside, also those of which the model says that it is not sure. ``held``: those
    that `daybreak predict` predicts, and ``answers``: what it says of all, the mean of a setting's first `SIMULATED`
    runs where it simulates, held against the mean of the other runs.

    ``r2`` is of each setting's mean target (`model.target`) over its runs, ``ceiling`` the highest that any model
    could have, since that mean is known from a few runs only. ``relative_error`` is the median, over the settings
    whose mean prolongation is above 5 % of the ideal time. ``coverage`` is the share of single runs in the 90 %
    interval.
    """
    number = np.unique(data.scenarios(), return_inverse=True)[1]
    first = np.unique(number, return_index=True)[1]
    settings = [setting for row, setting in enumerate(data.settings()) if row in set(first)]
    found = model.predict(settings)
    outside = np.array([bool(model.domain.reasons(setting)) for setting in settings])
    holds = np.array([one.holds for one in found])
    x = features.matrix(settings)
    center, ends = model.regressor.predict(x), model.regressor.predict_interval(x, classes(settings))
    known = _Known(target(data), number, data.seconds() / data.ideal_s(), center, ends)
    policies = np.array([setting["downtime"] for setting in settings])
    wanted = {"all": np.ones(len(settings), bool)} | {name: policies == name for name in _POLICIES}
    return {
        "settings": len(settings), "runs": data.table.height,
        "unended_runs": int(data.table["migrated_fct_s"].is_null().sum()), "outside": int(outside.sum()),
        "unsure": int((~holds & ~outside).sum()),
        "policies": {
            name: {
                "predicted": known.numbers(which & ~outside), "held": known.numbers(which & holds),
                "answers": known.answers(which, holds),
            }
            for name, which in wanted.items()
        },
    }  # fmt: skip


class _Known:
    """What runs and a model say of settings."""

    def __init__(self, runs: Array, number: Array, relative: Array, center: Array, ends: Array):
        self.runs, self.number, self.relative = runs, number, relative
        self.center, self.ends = center, ends
        self.inside = (ends[number, 0] <= runs) & (runs <= ends[number, 1])

    def numbers(self, which: Array) -> dict[str, Any]:
        """How good the model is on some of the settings."""
        of_runs = which[self.number]
        if which.sum() < 2:
            return {"settings": int(which.sum())}
        count = np.bincount(self.number)[which]
        means = _means(self.runs, self.number)[which]
        spread = _means(self.runs**2, self.number)[which] - means**2
        chance = (spread / np.maximum(count - 1, 1)).mean()
        return {
            "settings": int(which.sum()), **self._errors(self.center[which], means, self.relative, self.number, which),
            "ceiling": float(1 - chance / means.var()), "coverage": float(self.inside[of_runs].mean()),
        }  # fmt: skip

    def answers(self, which: Array, holds: Array) -> dict[str, Any]:
        """How good the answers are, of which some are simulated: judged by the runs that they are not made of."""
        place = np.concatenate([np.arange(count) for count in np.bincount(self.number)])
        early = place < SIMULATED
        if which.sum() < 2 or not (~early).any():
            return {"settings": int(which.sum())}
        late = self.number[~early]
        simulated = _means(self.runs[early], self.number[early])
        said = np.where(holds, self.center, simulated)[which]
        means = _means(self.runs[~early], late)[which]
        errors = self._errors(said, means, self.relative[~early], late, which)
        return {"settings": int(which.sum()), "simulated": float((~holds[which]).mean()), **errors}

    @staticmethod
    def _errors(said: Array, means: Array, relative: Array, number: Array, which: Array) -> dict[str, Any]:
        truth = _means(relative, number)[which]
        is_notable = truth > NOTABLE
        answer = np.sign(said) * np.expm1(np.abs(said))
        apart = np.abs(answer - truth)[is_notable] / truth[is_notable]
        return {
            "r2": float(1 - ((means - said) ** 2).mean() / means.var()),
            "relative_error": float(np.median(apart)) if len(apart) else None, "notable": int(is_notable.sum()),
            "relative_error_of_typical": _of_typical(answer, means),
        }  # fmt: skip


def _of_typical(answer: Array, means: Array) -> float | None:
    """The same against the back-transformed mean target, which is what the model predicts."""
    truth = np.sign(means) * np.expm1(np.abs(means))
    assert np.allclose(scaled(truth), means)
    is_notable = truth > NOTABLE
    return float(np.median(np.abs(answer - truth)[is_notable] / truth[is_notable])) if is_notable.any() else None


def _means(values: Array, number: Array) -> Array:
    return np.asarray(np.bincount(number, values) / np.bincount(number))
