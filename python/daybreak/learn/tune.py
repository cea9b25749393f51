"""Advice: the period, and perhaps buffer and variant, that keep the prolongation small.

What is advised was simulated.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from daybreak.engines import run_many
from daybreak.errors import ScenarioError
from daybreak.metrics import fct
from daybreak.metrics.confidence import Interval, interval
from daybreak.runs import Run
from daybreak.scenario import Scenario

from . import features
from .model import Model, Prediction

PERIODS_MS = (2, 5, 10, 20, 40, 80)
"""Candidates for the period: those of the data."""


@dataclass(frozen=True)
class Candidate:
    """One setting that could be chosen."""

    changes: dict[str, Any]
    """Of the scenario; none for the scenario as it is."""
    duty: float
    """Part of the time in which there is a path: a longer period has fewer nights."""
    predicted: Prediction
    simulated: Interval | None = None
    """Mean prolongation in seconds over the seeds; none where it was not simulated, or a flow did not end."""


def tune(
    scenario: Scenario,
    model: Model,
    *,
    buffers: Sequence[int] = (),
    variants: Sequence[str] = (),
    verified: int = 4,
    seeds: int = 5,
    workers: int | None = None,
    progress: Callable[[float, int], object] | None = None,
) -> list[Candidate]:
    """Candidates, the best first: by simulation those that were simulated, then the others by prediction.

    The ``verified`` candidates that are predicted to be best, and the scenario as it is, are run with the same seeds.
    The night stays what it is: it is the switch's. Raises ScenarioError where the scenario is not of the testbed's
    kind.
    """
    features.describe(scenario)
    night = scenario.timelines[0].night / 1e9  # type: ignore[union-attr]
    periods = [period for period in PERIODS_MS if period > night]
    if not periods:
        raise ScenarioError(
            f"timelines.0.night = {night:g} ms: no period that was measured is longer", "timelines.0.night"
        )
    number = next(i for i, flow in enumerate(scenario.flows) if (flow.group or flow.name) == "migrated")
    found: list[dict[str, Any]] = [{}]
    for period, buffer, variant in itertools.product(periods, buffers or (0,), variants or ("",)):
        changes: dict[str, Any] = {"timelines.0.period": f"{period} ms"}
        changes |= {"topology.queue": f"{buffer} packets"} if buffer else {}
        found.append(changes | ({f"flows.{number}.variant": variant} if variant else {}))
    scenarios = [scenario.with_(changes) if changes else scenario for changes in found]
    settings = [features.describe(one) for one in scenarios]
    predictions = model.predict(list(settings))
    candidates = [
        Candidate(changes, 1 - setting["night_ms"] / setting["period_ms"], prediction)
        for changes, setting, prediction in zip(found, settings, predictions, strict=True)
    ]
    best = sorted(range(1, len(found)), key=lambda index: predictions[index].prolongation_s)[:verified]
    chosen = [0, *best]
    jobs = [(scenarios[index], seed) for index in chosen for seed in range(1, seeds + 1)]
    values = run_many(jobs, reduce=prolongation, workers=workers, progress=progress)
    for at, index in enumerate(chosen):
        mine = values[at * seeds : (at + 1) * seeds]
        known = [value for value in mine if value is not None]
        mean = interval(known) if len(known) == seeds else None
        candidates[index] = Candidate(found[index], candidates[index].duty, predictions[index], mean)
    return sorted(candidates, key=_order)


def prolongation(run: Run) -> float | None:
    """Mean FCT of group migrated less that of group main in seconds; None where a flow did not end."""
    found: float | None = fct.prolongation(run.flows.with_columns(pl.lit(0).alias("run")))["prolongation_s"].item()
    return found


def _order(one: Candidate) -> tuple[int, float]:
    if one.simulated is not None and not math.isnan(one.simulated.mean):
        return 0, one.simulated.mean
    return 1, one.predicted.prolongation_s
