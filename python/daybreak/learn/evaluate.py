"""How good a model is on settings that it has not seen, whatever engine they were run on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from daybreak.plan.downtimes import LEARNT
from daybreak.sweeps import Executor, Report

from . import dataset, features
from .columns import Array
from .dataset import Dataset
from .model import NOTABLE, Model, classes, scaled, seconds, target, tolerated
from .simulated import LOOKS, MOST, is_known

FIRST_SEED = 1_000_001
"""Of the runs that answers are made of: no data has as many runs."""


def judge(model: Model, data: Dataset, simulated: Sequence[Array] = ()) -> dict[str, Any]:
    """What a model says of the settings of data with several runs each, over all and within each downtime policy.

    ``predicted``: all settings that are inside, also those of which the model says that it is not sure. ``held``: those
    that `daybreak predict` predicts, and ``answers``: what it says of all. Where it simulates that is the mean of the
    setting's ``simulated`` runs (`answered`), prolongations in the ideal time, of which none may be a run of the data.

    ``r2`` is of each setting's mean target (`model.target`) over its runs, ``ceiling`` the highest that any model
    could have, since that mean is known from a few runs only. ``relative_error`` is the median, over the settings
    whose mean prolongation is above 5 % of the ideal time; ``within`` the share of all settings whose error is
    tolerated (`model.tolerated`). ``coverage`` is the share of single runs in the 90 % interval, and ``known`` that of
    simulated settings whose mean was known after so many runs as `daybreak predict` makes at most.
    """
    number = np.unique(data.scenarios(), return_inverse=True)[1]
    first = np.unique(number, return_index=True)[1]
    settings = [setting for row, setting in enumerate(data.settings()) if row in set(first)]
    found = model.predict(settings)
    outside = np.array([not one.is_inside for one in found])
    holds = np.array([one.holds for one in found])
    x = features.matrix(settings)
    which = classes(settings)
    center, ends = model.regressor.predict(x, which), model.regressor.predict_interval(x, which)
    known = _Known(target(data), number, data.seconds() / data.ideal_s(), center, ends, simulated=simulated)
    policies = np.array([setting["downtime"] for setting in settings])
    wanted = {"all": np.ones(len(settings), bool)} | {name: policies == name for name in LEARNT}
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

    def __init__(
        self, runs: Array, number: Array, relative: Array, center: Array, ends: Array, *, simulated: Sequence[Array]
    ):
        self.runs, self.number, self.relative, self.simulated = runs, number, relative, simulated
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
        """How good the answers are, of which some are simulated."""
        is_simulated = which & ~holds
        if which.sum() < 2 or (is_simulated.any() and not self.simulated):
            return {"settings": int(which.sum())}
        said, answer = self.center.copy(), _back(self.center)
        mine = {int(place): self.simulated[int(place)] for place in np.flatnonzero(is_simulated)}
        for place, values in mine.items():
            said[place], answer[place] = scaled(values).mean(), values.mean()
        means, truth = (_means(runs, self.number)[which] for runs in (self.runs, self.relative))
        return {
            "settings": int(which.sum()), "simulated": float((~holds[which]).mean()),
            "runs": float(np.mean([len(values) for values in mine.values()])) if mine else 0.0,
            "known": float(np.mean([is_known(values.tolist()) for values in mine.values()])) if mine else None,
            **_errors(said[which], answer[which], means, truth),
        }  # fmt: skip


def answered(
    model: Model,
    settings: Sequence[dict[str, Any]],
    directory: Path,
    executor: Executor,
    progress: Report | None = None,
) -> list[Array]:
    """The runs that `daybreak predict` simulates of settings, as prolongations in the ideal time; none if it is sure.

    As `simulated.simulated`, but with all settings side by side, and seeds of their own from `FIRST_SEED` on. Raises
    EngineError, OutputError, Interrupted; the same call goes on from there.
    """
    found = [np.zeros(0)] * len(settings)
    pending = [place for place, one in enumerate(model.predict(settings)) if not one.holds]
    for count in LOOKS if pending else ():
        first = [FIRST_SEED + place * MOST for place in pending]
        made = dataset.made(
            [settings[place] for place in pending], directory, executor,
            seeds=[range(one, one + count) for one in first], progress=progress,
        )  # fmt: skip
        relative = (made.seconds() / made.ideal_s()).reshape(len(pending), count)
        for place, values in zip(pending, relative, strict=True):
            found[place] = values
        pending = [place for place in pending if not is_known(found[place].tolist())]
        if not pending:
            break
    return found


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
