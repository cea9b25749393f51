"""Advice: the period, and perhaps buffer and variant, that keep the prolongation small or the circuits busy.

What is advised was simulated.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from daybreak.engines import run_many
from daybreak.errors import ScenarioError
from daybreak.metrics.confidence import Interval, of_all
from daybreak.runs import Run
from daybreak.scenario import Scenario
from daybreak.scenario.timelines import Migrate
from daybreak.scenario.topologies.migration_testbed import MigrationTestbed

from . import setting as settings_
from .dataset import of_groups
from .model import Model, Prediction
from .setting import GROUPS, VARIANTS

Objective = Literal["prolongation", "utilisation"]
"""What is best: the least prolongation, or the most utilisation."""
OBJECTIVES = get_args(Objective)
_SHORTEST_MS = 2
_STEPS = (1, 2, 5)


@dataclass(frozen=True)
class Candidate:
    """One setting that could be chosen."""

    changes: dict[str, Any]
    """Of the scenario; none for the scenario as it is."""
    period_ms: float
    duty: float
    """Part of the time in which there is a path: a longer period has fewer nights."""
    predicted: Prediction
    simulated: Interval | None = None
    """Mean prolongation in seconds over the seeds; none where it was not simulated, or a flow did not end."""
    utilisation: Interval | None = None
    """The same of `utilisation`."""
    is_unmoved: bool = False
    """Whether in every simulated run the migrated flows had ended before their first move."""

    @property
    def wait_ms(self) -> float:
        """How long a flow that comes at any time waits for the other path, on average: half a period."""
        return self.period_ms / 2


@dataclass(frozen=True)
class Advice:
    """What `tune` has found."""

    candidates: tuple[Candidate, ...]
    """The best first: by simulation those that were simulated, then the others by predicted prolongation."""
    longest_ms: float
    """The longest period that was offered."""

    @property
    def best(self) -> Candidate | None:
        """What is advised; none where in every simulated candidate a flow did not end."""
        first = self.candidates[0]
        return None if first.simulated is None or math.isnan(first.simulated.mean) else first

    @property
    def is_only_the_longest(self) -> bool:
        """Whether the advice is no more than the longest period that was offered: one that was not may be better."""
        return self.best is not None and bool(self.best.changes) and self.best.period_ms >= self.longest_ms


def periods(scenario: Scenario) -> list[float]:
    """Periods to choose from in ms: 1, 2 and 5 times powers of ten, longer than the night, as long as flows are moved.

    That is: up to the time that the migrated group's bytes take at the rate. With a longer one they are moved once at
    the very most.
    """
    setting = settings_.describe(scenario)
    night_ms, ideal_ms = _moves(scenario).night / 1e9, settings_.ideal_s(setting) * 1e3
    offered = [float(step * 10**power) for power in range(12) for step in _STEPS if step * 10**power >= _SHORTEST_MS]
    return [period for period in offered if night_ms < period <= ideal_ms]


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
) -> Advice:
    """Candidates, some of them simulated.

    The scenario as it is, the ``verified`` candidates that are predicted to prolong least, and those that the model
    cannot predict are run with the same seeds. Who ends late leaves circuits idle, so that these are the candidates
    for either objective. The night stays what it is: it is the switch's. Raises ScenarioError where the scenario is
    not of the testbed's kind, or a buffer or a variant is none.
    """
    _check(buffers, variants)
    settings_.describe(scenario)
    offered = periods(scenario)
    if not offered:
        ideal = settings_.ideal_s(settings_.describe(scenario))
        raise ScenarioError(
            f"timelines.0.period: there is none to choose, since the migrated flows' bytes take {ideal:.3g} s at the "
            f"rate, and periods are from {_SHORTEST_MS} ms, longer than the night, and no longer than that",
            "timelines.0.period",
        )
    number = next(i for i, flow in enumerate(scenario.flows) if (flow.group or flow.name) == "migrated")
    found: list[dict[str, Any]] = [{}]
    for period, buffer, variant in itertools.product(offered, buffers or (None,), variants or (None,)):
        changes: dict[str, Any] = {"timelines.0.period": f"{period:g} ms"}
        changes |= {"topology.queue": f"{buffer} packets"} if buffer is not None else {}
        found.append(changes | ({f"flows.{number}.variant": variant} if variant is not None else {}))
    scenarios = [scenario.with_(changes) if changes else scenario for changes in found]
    # What changes nothing is the scenario as it is.
    kept = [0, *(place for place in range(1, len(found)) if scenarios[place] != scenario)]
    scenarios, found = [scenarios[place] for place in kept], [found[place] for place in kept]
    predictions = model.of_scenarios(scenarios)
    candidates = [
        Candidate(changes, _moves(one).period / 1e9, 1 - _moves(one).night / _moves(one).period, prediction)
        for changes, one, prediction in zip(found, scenarios, predictions, strict=True)
    ]
    held = [place for place in range(1, len(found)) if predictions[place].holds]
    best = sorted(held, key=lambda place: predictions[place].prolongation_s)[:verified]
    chosen = [0, *best, *(place for place in range(1, len(found)) if not predictions[place].holds)]
    jobs = [(scenarios[place], seed) for place in chosen for seed in range(1, seeds + 1)]
    values = run_many(jobs, reduce=_outcome, workers=workers, progress=progress)
    for at, place in enumerate(chosen):
        mine = values[at * seeds : (at + 1) * seeds]
        means = [of_all(outcome[which] for outcome in mine) for which in (0, 1)]
        candidates[place] = replace(
            candidates[place], simulated=means[0], utilisation=means[1], is_unmoved=all(one[2] for one in mine)
        )
    in_order = sorted(candidates, key=lambda one: _order(one, objective))
    return Advice(tuple(in_order), offered[-1])


def _check(buffers: Sequence[int], variants: Sequence[str]) -> None:
    for buffer in buffers:
        if buffer < 1:
            raise ScenarioError(f"buffer {buffer}: expected at least 1 packet", "topology.queue")
    for name, given in (("buffer", buffers), ("variant", variants)):
        twice = next((one for place, one in enumerate(given) if one in given[:place]), None)
        if twice is not None:
            raise ScenarioError(f"{name} {twice}: it is given twice")
    for variant in variants:
        if variant not in VARIANTS:
            raise ScenarioError(f'variant "{variant}": expected one of {", ".join(VARIANTS)}', "flows")


def _moves(scenario: Scenario) -> Migrate:
    line = scenario.timelines[0]
    assert isinstance(line, Migrate)
    return line


def _outcome(run: Run) -> tuple[float | None, float | None, bool]:
    return prolongation(run), utilisation(run), _is_unmoved(run)


def prolongation(run: Run) -> float | None:
    """Mean FCT of group migrated less that of group main in seconds; None where a flow did not end."""
    found = of_groups(run.flows)
    migrated, main = (found[f"{group}_fct_s"] for group in GROUPS)
    return None if migrated is None or main is None else migrated - main


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


def _is_unmoved(run: Run) -> bool:
    ends = [end for group, end in run.flows.select("group", "end_ns").iter_rows() if group == "migrated"]
    moves = _moves(run.scenario)
    return all(end is not None and end * 1000 <= moves.start + moves.period for end in ends)


def _order(one: Candidate, objective: Objective) -> tuple[int, float]:
    if one.simulated is None or one.utilisation is None or math.isnan(one.simulated.mean):
        return (1, one.predicted.prolongation_s) if one.predicted.holds else (2, 0.0)
    return 0, one.simulated.mean if objective == "prolongation" else -one.utilisation.mean
