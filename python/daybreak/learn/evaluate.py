"""How good a model is on settings that it has not seen, whatever engine they were run on."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import features
from .columns import Array
from .dataset import Dataset
from .model import NOTABLE, Model, classes, seconds, target, tolerated
from .simulated import MOST, enough

_POLICIES = ("none", "drop", "hold")


def judge(model: Model, data: Dataset) -> dict[str, Any]:
    """What a model says of the settings of data with several runs each, over all and within each downtime policy.

    ``predicted``: all settings that are inside, also those of which the model says that it is not sure. ``held``: those
    that `daybreak predict` predicts, and ``answers``: what it says of all. Where it simulates that is the mean of as
    many of a setting's first `MOST` runs as are `enough`; all are held against the means of the other runs.

    ``r2`` is of each setting's mean target (`model.target`) over its runs, ``ceiling`` the highest that any model
    could have, since that mean is known from a few runs only. ``relative_error`` is the median, over the settings
    whose mean prolongation is above 5 % of the ideal time; ``within`` the share of all settings whose error is
    tolerated (`model.tolerated`). ``coverage`` is the share of single runs in the 90 % interval.
    """
    number = np.unique(data.scenarios(), return_inverse=True)[1]
    first = np.unique(number, return_index=True)[1]
    settings = [setting for row, setting in enumerate(data.settings()) if row in set(first)]
    found = model.predict(settings)
    outside = np.array([bool(model.domain.reasons(setting)) for setting in settings])
    holds = np.array([one.holds for one in found])
    x = features.matrix(settings)
    which = classes(settings)
    center, ends = model.regressor.predict(x, which), model.regressor.predict_interval(x, which)
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
        truth = _means(self.relative, self.number)[which]
        return {
            "settings": int(which.sum()), **_errors(self.center[which], _back(self.center[which]), means, truth),
            "ceiling": float(1 - chance / means.var()), "coverage": float(self.inside[of_runs].mean()),
        }  # fmt: skip

    def answers(self, which: Array, holds: Array) -> dict[str, Any]:
        """How good the answers are, of which some are simulated: judged by the runs that they are not made of."""
        place = np.concatenate([np.arange(count) for count in np.bincount(self.number)])
        is_late = place >= MOST
        if which.sum() < 2 or not is_late.any():
            return {"settings": int(which.sum())}
        needed = np.array([
            enough(self.relative[(self.number == one) & ~is_late].tolist()) for one in range(len(holds))
        ])  # fmt: skip
        is_used = place < needed[self.number]
        of_runs, of_relative = (_means(values[is_used], self.number[is_used]) for values in (self.runs, self.relative))
        said = np.where(holds, self.center, of_runs)[which]
        answer = np.where(holds, _back(self.center), of_relative)[which]
        means, truth = (_means(values[is_late], self.number[is_late])[which] for values in (self.runs, self.relative))
        is_simulated = which & ~holds
        return {
            "settings": int(which.sum()), "simulated": float((~holds[which]).mean()),
            "runs": float(needed[is_simulated].mean()) if is_simulated.any() else 0.0,
            **_errors(said, answer, means, truth),
        }  # fmt: skip


def _errors(said: Array, answer: Array, means: Array, truth: Array) -> dict[str, Any]:
    """Of what is said in the target, and answered in the ideal time."""
    apart = np.abs(answer - truth)
    is_notable = truth > NOTABLE
    relative = apart[is_notable] / truth[is_notable]
    return {
        "r2": float(1 - ((means - said) ** 2).mean() / means.var()),
        "relative_error": float(np.median(relative)) if len(relative) else None, "notable": int(is_notable.sum()),
        "within": float(np.mean([one <= tolerated(of) for one, of in zip(apart, truth, strict=True)])),
    }  # fmt: skip


def _back(values: Array) -> Array:
    """Prolongations in the ideal time of values of the target."""
    return seconds(values, np.ones(len(values)))


def _means(values: Array, number: Array) -> Array:
    return np.asarray(np.bincount(number, values) / np.bincount(number))
