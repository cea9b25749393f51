"""Advice: the period, and perhaps buffer and variant, that keep the prolongation small or the circuits busy.

What is advised was simulated.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import polars as pl

from daybreak.engines import run_many
from daybreak.errors import ScenarioError
from daybreak.metrics import slowdown as slowdowns
from daybreak.metrics.confidence import Interval, of_all
from daybreak.plan.downtimes import POLICIES
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
SEEDS = 16
"""Runs of each candidate. After fewer of them a margin of error is too small too often (see `simulated`)."""
MORE = 4
"""How many times as often those candidates are run that may be best."""
MOST_RUNS = 1_000_000
"""All candidates together, before any is run more often."""
_SHORTEST_MS = 2
_STEPS = (1, 2, 5)


@dataclass(frozen=True)
class Outcome:
    """What came of one run."""

    prolongation_s: float | None
    """None where a flow did not end."""
    utilisation: float | None
    """The same."""
    is_moved: bool
    """Whether one of the migrated flows was moved before it ended."""
    slowdown: float | None = None
    """Mean FCT of the migrated flows over that of each alone on its path; None where one did not end."""

    def cost(self, objective: Objective) -> float | None:
        """What is to be small."""
        if objective == "prolongation" or self.utilisation is None:
            return self.prolongation_s
        return -self.utilisation


@dataclass(frozen=True)
class Candidate:
    """One setting that could be chosen."""

    changes: dict[str, Any]
    """Of the scenario; none for the scenario as it is."""
    period_ms: float
    dark_ms: float
    """In which no path is there after each move."""
    predicted: Prediction
    runs: tuple[Outcome, ...] = ()
    """With the seeds from 1 on; none where it was not simulated."""

    @property
    def duty(self) -> float:
        """Part of the time in which there is a path: a longer period has fewer nights."""
        return 1 - self.dark_ms / self.period_ms

    @property
    def wait_ms(self) -> float:
        """How long a flow that arrives at a random time waits for the other path, on average.

        The next move is half a period away, and the path is there after the night that follows it.
        """
        return self.period_ms / 2 + self.dark_ms

    @property
    def simulated(self) -> Interval | None:
        """Mean prolongation in seconds; none where it was not simulated, or a flow did not end."""
        return of_all(run.prolongation_s for run in self.runs)

    @property
    def utilisation(self) -> Interval | None:
        """Mean utilisation of the runs; none where it is missing in one."""
        return of_all(run.utilisation for run in self.runs)

    @property
    def slowdown(self) -> Interval | None:
        """Mean slowdown of the migrated flows; none where it is missing in a run."""
        return of_all(run.slowdown for run in self.runs)

    @property
    def unended(self) -> int:
        """Runs in which a flow did not end."""
        return sum(run.prolongation_s is None for run in self.runs)

    @property
    def unmoved(self) -> int:
        """Runs in which the migrated flows ended before they were moved."""
        return sum(not run.is_moved for run in self.runs)

    def worse_than(self, other: Candidate, objective: Objective) -> Interval | None:
        """By how much it is worse, run by run of the same seeds; None where a flow did not end, or nothing was run."""
        both = zip(self.runs, other.runs, strict=False)
        costs = [(mine.cost(objective), its.cost(objective)) for mine, its in both]
        return of_all(None if mine is None or its is None else mine - its for mine, its in costs)


@dataclass(frozen=True)
class Advice:
    """What `tune` has found."""

    candidates: tuple[Candidate, ...]
    """The best first: those that were run most often, then by simulation; those that were not simulated by predicted
    prolongation; at last those in which a flow did not end."""
    longest_ms: float
    """The longest period that was offered."""
    objective: Objective

    @property
    def best(self) -> Candidate | None:
        """What is advised; none where in every simulated candidate a flow did not end."""
        return self.candidates[0] if self.candidates[0].simulated else None

    @property
    def not_told_apart(self) -> tuple[Candidate, ...]:
        """Those that the runs do not show to be worse than the best one."""
        if self.best is None:
            return ()
        return tuple(one for one in self.candidates[1:] if _may_be_best(one, self.best, self.objective))

    @property
    def is_only_the_longest(self) -> bool:
        """Whether the advice is no more than the longest period: one that was not offered may be better."""
        as_good = [one for one in (self.best, *self.not_told_apart) if one]
        return bool(as_good) and all(one.period_ms >= self.longest_ms for one in as_good)


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
    seeds: int = SEEDS,
    workers: int | None = None,
    progress: Callable[[float, int], object] | None = None,
) -> Advice:
    """Candidates, some of them simulated.

    The scenario as it is, the ``verified`` candidates that are predicted to prolong least, and those that the model
    cannot predict are run with the same ``seeds``, and those that may still be best up to `MORE` times as often. Who
    ends late leaves circuits idle, so that these are the candidates for either objective. The night stays what it is:
    it is the switch's. Raises ScenarioError where the scenario is not of the testbed's kind, or a buffer or a variant
    is none.
    """
    check(buffers, variants)
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
        Candidate(changes, _moves(one).period / 1e9, _dark_ms(_moves(one)), prediction)
        for changes, one, prediction in zip(found, scenarios, predictions, strict=True)
    ]
    held = [place for place in range(1, len(found)) if predictions[place].holds]
    best = sorted(held, key=lambda place: predictions[place].prolongation_s)[:verified]
    chosen = [0, *best, *(place for place in range(1, len(found)) if not predictions[place].holds)]
    if len(chosen) * seeds > MOST_RUNS:
        raise ScenarioError(f"{len(chosen)} candidates with {seeds} runs each: expected at most {MOST_RUNS} runs")
    done = 0
    for rounds in range(MORE.bit_length()):
        before = {place: len(candidates[place].runs) for place in chosen}
        jobs = [(place, seed) for place in chosen for seed in range(before[place] + 1, (seeds << rounds) + 1)]

        def report(part: float, of: int, done: int = done) -> None:
            if progress:
                progress(done + part, done + of)

        values = run_many(
            [(scenarios[place], seed) for place, seed in jobs], reduce=_outcome, workers=workers, progress=report
        )
        for (place, _), value in zip(jobs, values, strict=True):
            candidates[place] = replace(candidates[place], runs=(*candidates[place].runs, value))
        done += len(jobs)
        chosen = _undecided(candidates, objective)
        if not chosen:
            break
    in_order = sorted(candidates, key=lambda one: _order(one, objective))
    return Advice(tuple(in_order), offered[-1], objective)


def _undecided(candidates: Sequence[Candidate], objective: Objective) -> list[int]:
    """The places of the best candidate and of those that may be better; none where more runs would decide nothing."""
    best = min(candidates, key=lambda one: _order(one, objective))
    others = [
        place
        for place, one in enumerate(candidates)
        if one is not best and _may_be_best(one, best, objective) and not _is_same(one, best)
    ]
    return [next(place for place, one in enumerate(candidates) if one is best), *others] if others else []


def _may_be_best(one: Candidate, best: Candidate, objective: Objective) -> bool:
    worse = one.worse_than(best, objective) if one.simulated and best.simulated else None
    return worse is not None and not worse.low > 0


def _is_same(one: Candidate, other: Candidate) -> bool:
    """Whether no run differs, as where flows end before they are moved."""
    return all(mine == its for mine, its in zip(one.runs, other.runs, strict=False))


def check(buffers: Sequence[int], variants: Sequence[str]) -> None:
    """Raises ScenarioError for a buffer or a variant that cannot be a candidate, or is given twice."""
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


def _dark_ms(moves: Migrate) -> float:
    return moves.night / 1e9 if POLICIES[moves.downtime].is_night else 0.0


def _outcome(run: Run) -> Outcome:
    return Outcome(prolongation(run), utilisation(run), is_moved(run), slowdown(run))


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


def slowdown(run: Run) -> float | None:
    """Mean slowdown of the migrated flows (column ``ideal_fct_ns`` of table `flows`); None where one did not end."""
    migrated = slowdowns.table(run.flows.filter(pl.col("group") == "migrated"))
    mean: float | None = slowdowns.summary(migrated, by=())["mean_slowdown"].item()
    return mean


def is_moved(run: Run) -> bool:
    """Whether one of the migrated flows was moved between its start and its end."""
    moves = _moves(run.scenario)
    late = 0 if POLICIES[moves.downtime].is_night else moves.night
    first = moves.start + moves.period + late

    def moved(until_ns: int) -> int:
        """Moves before then."""
        return max(0, -((first - until_ns * 1000) // moves.period))

    flows = run.flows.filter(pl.col("group") == "migrated").select("start_ns", "end_ns")
    return any(end is None or moved(end) > moved(start) for start, end in flows.iter_rows())


def _order(one: Candidate, objective: Objective) -> tuple[int, int, float]:
    """What was run more often was not worse in the runs before; means over other runs say less than that."""
    if one.simulated is None or one.utilisation is None:
        return (2, 0, 0.0) if one.runs else (1, 0, one.predicted.prolongation_s)
    return 0, -len(one.runs), one.simulated.mean if objective == "prolongation" else -one.utilisation.mean
