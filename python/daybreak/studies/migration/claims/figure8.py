"""Figure 8 and section VI: the random forest that predicts the FCT prolongation, under the paper's own protocol.

The paper used the runs of all its scenarios. Here these are two flows of equal size, all pairs of its variants, at all
periods of Table I and all cycles of figure 7. Folds consist of runs, as they must have in the paper: runs of one
setting are in several folds. The note of ``fig8.r2`` states what that hides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from daybreak.metrics.confidence import interval
from daybreak.studies.migration.measured import Evidence
from daybreak.studies.migration.settings import CYCLES, FOREST_PERIODS, Scale, of_figure
from daybreak.studies.migration.testbed import scenario
from daybreak.studies.scoreboard import Scoreboard

if TYPE_CHECKING:
    from daybreak.learn.dataset import Dataset

_KEYS = ("r2", "mse", "range", "best", "least", "general", "shortest", "longer_day", "day", "night", "unexplained")
_MISSING = 'needs the packages of the extra "learn": pip install daybreak[learn]'
_WORST = "9+1 ms"
NONE_S = 0.1
"""What is no prolongation yet."""


@dataclass(frozen=True)
class ForestFit:
    """The forest's results, and its out-of-fold predictions of each run."""

    data: Dataset
    results: dict[str, Any]
    predicted: np.ndarray[Any, Any]
    cycles: Sequence[str]
    """Day and night of each run."""


def is_possible(scale: Scale) -> bool:
    """Whether there are runs to learn from, and the packages are installed."""
    return bool(scale.forest_runs) and find_spec("sklearn") is not None


def fitted(evidence: Evidence, scale: Scale, *, search: bool = False) -> ForestFit:
    """Fits the forest with the printed parameters, or the best ones of a ``search``."""
    # The packages of models are optional.
    from daybreak.learn import dataset, paper  # noqa: PLC0415

    data = dataset.of_runs((scenario(setting), evidence[setting].flows) for setting in of_figure("8", scale))
    results, predicted = paper.evaluate(data, search=search)
    return ForestFit(data, results, predicted, [cycle(row) for row in data.table.iter_rows(named=True)])


def cycle(row: dict[str, Any]) -> str:
    """Day and night in the paper's notation."""
    return f"{row['period_ms'] - row['night_ms']:g}+{row['night_ms']:g} ms"


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """The quality of the forest, its feature importances, and what it leaves unexplained."""
    if not is_possible(scale):
        reason = _MISSING if scale.forest_runs else "needs the full size and number of runs"
        for key in _KEYS:
            board.not_evaluated(f"fig8.{key}", reason)
        return
    from daybreak.learn import paper  # noqa: PLC0415

    found = fitted(evidence, scale, search=bool(scale.forest_search))
    results, seconds = found.results, found.data.seconds()
    left_out = results["settings_left_out"]["r2"]
    r2 = results["printed_parameters"]["r2"]
    note = f"with whole settings left out R^2 is {left_out:.2f}"
    if results["searched"]:
        note += f"; with the best parameters of the search; with the printed ones R^2 is {r2:.4f}"
        parameters = ", ".join(f"{name} {value}" for name, value in results["best"].items())
        board.shape("fig8.best", results["best"] == paper.PRINTED, note=f"best of {results['searched']}: {parameters}")
    else:
        board.not_evaluated("fig8.best", "needs --forest_search 1, which takes an hour")
    board.value("fig8.r2", interval([results["r2"]]), note=note)
    board.value("fig8.mse", interval([results["mse_s2"]]))
    board.value("fig8.range", interval([float(seconds.max())]), note=f"least {seconds.min():.2f} s")
    least = float(seconds.min())
    board.shape("fig8.least", least >= -NONE_S, least)
    general(board, evidence, scale)
    of_cycle = _by_cycle(found)
    worst, better = of_cycle[_WORST], of_cycle["18+2 ms"]
    means = ", ".join(f"{name}: {np.mean(values):.2f} s" for name, values in of_cycle.items())
    board.shape("fig8.shortest", interval(worst).low > 0 and np.mean(worst) == max(map(np.mean, of_cycle.values())),
                worst, note=f"means over all pairs: {means}")  # fmt: skip
    board.shape("fig8.longer_day", float(np.mean(better)) < float(np.mean(worst)) / 2, better,
                note=f"{np.mean(worst):.2f} s at {_WORST}")  # fmt: skip
    importances = results["importances"]
    said = ", ".join(f"{name} {part:.2f}" for name, part in importances.items())
    board.shape("fig8.day", importances["day"] == max(importances.values()), importances["day"], note=said)
    dark, light = ([s for s, row in _rows(found) if bool(row["night_ms"]) is is_dark] for is_dark in (True, False))
    board.shape("fig8.night", interval(dark).low > interval(light).high, dark,
                note=f"{np.mean(light):.2f} s without downtime")  # fmt: skip
    errors = (seconds - found.predicted) ** 2
    part = float(errors[np.array(found.cycles) == _WORST].sum() / errors.sum())
    board.shape("fig8.unexplained", part > 0.5, part, note=", ".join(
        f"{name} {errors[np.array(found.cycles) == name].sum() / errors.sum():.2f}" for name in of_cycle
    ))  # fmt: skip


def general(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Longer FCTs at shorter periods, without downtime and with a tenth of the period."""
    for suffix, night, schedules in (
        ("light", "without downtime", [(period, 0) for period in sorted(FOREST_PERIODS, reverse=True)]),
        ("dark", "cycles with a downtime", list(CYCLES)),
    ):
        means = []
        for schedule in schedules:
            settings = [one for one in of_figure("8", scale) if (one.period_ms, one.night_ms) == schedule]
            fcts = [value for one in settings for value in evidence[one].fcts("migrated")]
            means.append(float(np.mean([np.nan if value is None else value for value in fcts])))
        note = ", ".join(f"{mean:.3f} s at {period} ms" for mean, (period, _) in zip(means, schedules, strict=True))
        grows = all(a < b for a, b in pairwise(means))
        board.shape("fig8.general", grows, means[-1] - means[0], suffix=suffix, night=night, note=note)


def _rows(found: ForestFit) -> list[tuple[float, dict[str, Any]]]:
    return list(zip(found.data.seconds(), found.data.table.iter_rows(named=True), strict=True))


def _by_cycle(found: ForestFit) -> dict[str, list[float]]:
    """Prolongations of the runs at the cycles with a downtime."""
    names = [f"{period - night}+{night} ms" for period, night in CYCLES]
    values = pl.DataFrame({"cycle": found.cycles, "s": found.data.seconds()})
    return {name: values.filter(cycle=name)["s"].to_list() for name in names}
