"""One run of a sweep: the job, what is stored of it, and the task that is sent to a worker.

All of them can be pickled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from daybreak.engines import Progress, lowered, program, single
from daybreak.errors import EngineError
from daybreak.runs import Run
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import Plan

Tables = Mapping[str, pl.DataFrame]
"""Tables by name."""


@dataclass(frozen=True)
class Job:
    """A scenario with a seed, on an engine."""

    scenario: Scenario
    seed: int = 1
    engine: str = "simulated"

    def plan(self) -> Plan:
        """What the engine runs. Raises ScenarioError."""
        return lowered(self.scenario, self.seed, self.engine)


@dataclass(frozen=True)
class Reduction:
    """Selects what is stored of a run: `function` makes tables of it. It must be a module's function, to be picklable.

    Change the `version` when the function changes, so that results of the old one are not reused.
    """

    name: str
    version: int
    function: Callable[[Run], Tables]


@dataclass(frozen=True)
class StoredRun:
    """What is stored of a run."""

    manifest: Mapping[str, Any]
    """The run's manifest: scenario, seed, engine and program."""
    tables: Tables


@dataclass(frozen=True)
class Task:
    """A job as it is sent to a worker: calling it runs it and returns what is stored.

    `program` identifies the engine's program that the result is stored for; a worker with another one raises an error.
    """

    job: Job
    reduction: Reduction
    program: str
    digest: str
    """The name of the result; see `Store`."""
    plan: Plan | None = None
    """The job's plan, which a worker lowers again rather than receives."""

    def __call__(self, watch: Callable[[Progress], object] | None = None) -> StoredRun:
        plan = self.plan
        if plan is None:
            plan = self.job.plan()
            self._check_program(plan)
        run = single.execute(self.job.scenario, plan, self.job.engine, watch)
        return StoredRun(run.manifest, dict(self.reduction.function(run)))

    def __reduce__(self) -> tuple[type[Task], tuple[object, ...]]:
        return Task, (self.job, self.reduction, self.program, self.digest)

    def _check_program(self, plan: Plan) -> None:
        here = program(self.job.engine, plan)
        if here != self.program:
            raise EngineError(f"engine {self.job.engine} is {here} where the run was to be made, not {self.program}")
