"""Advice: the period, and perhaps buffer and variant, that keep the prolongation small or the circuits busy.

What is advised was simulated.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import polars as pl

from daybreak.engines import run_many
from daybreak.errors import ScenarioError
from daybreak.metrics import fct
from daybreak.metrics.confidence import Interval, of_all
from daybreak.runs import Run
from daybreak.scenario import Scenario
from daybreak.scenario.topologies.migration_testbed import MigrationTestbed

from . import features
from .model import Model, Prediction

Objective = Literal["prolongation", "utilisation"]
"""What is best: the least prolongation, or the most utilisation."""
OBJECTIVES = get_args(Objective)
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
    utilisation: Interval | None = None
    """The same of `utilisation`."""


def tune(
    scenario: Scenario,
    model: Model,
    *,
    buffers: Sequence[int] = (),
    variants: Sequence[str] = (),
    objective: Objective = "prolongation",
    verified: int = 4,
    seeds: int = 5,
    workers: int | None = None,
    progress: Callable[[float, int], object] | None = None,
) -> list[Candidate]:
    """Candidates, the best first: by simulation those that were simulated, then the others by predicted prolongation.

    The ``verified`` candidates that are predicted to prolong least, and the scenario as it is, are run with the same
    seeds. Who ends late leaves circuits idle, so that these are the candidates for either objective.
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
    values = run_many(jobs, reduce=_outcome, workers=workers, progress=progress)
    for at, index in enumerate(chosen):
        mine = values[at * seeds : (at + 1) * seeds]
        means = [of_all(outcome[which] for outcome in mine) for which in (0, 1)]
        candidates[index] = replace(candidates[index], simulated=means[0], utilisation=means[1])
    return sorted(candidates, key=lambda one: _order(one, objective))


def _outcome(run: Run) -> tuple[float | None, float | None]:
    return prolongation(run), utilisation(run)


def prolongation(run: Run) -> float | None:
    """Mean FCT of group migrated less that of group main in seconds; None where a flow did not end."""
    found: float | None = fct.prolongation(run.flows.with_columns(pl.lit(0).alias("run")))["prolongation_s"].item()
    return found


def utilisation(run: Run) -> float | None:
    """The part of what both circuits can carry, from the first start to the last end, that was delivered as payload.

    None where a flow did not end.
    """
    flows, testbed = run.flows, run.scenario.topology
    assert isinstance(testbed, MigrationTestbed)
    if flows["end_ns"].null_count():
        return None
    span_ns = max(flows["end_ns"].to_list()) - min(flows["start_ns"].to_list())
    return float(sum(flows["bytes"].to_list()) * 8e9 / (2 * testbed.rate * span_ns))


def _order(one: Candidate, objective: Objective) -> tuple[int, float]:
    if one.simulated is None or one.utilisation is None or math.isnan(one.simulated.mean):
        return 1, one.predicted.prolongation_s
    return 0, one.simulated.mean if objective == "prolongation" else -one.utilisation.mean
