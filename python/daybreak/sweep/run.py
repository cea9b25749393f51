"""Runs a grid: every point with every seed, then the dataset of all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from daybreak.engines import program
from daybreak.errors import DaybreakError, ScenarioError
from daybreak.runs import Run

from . import dataset
from .execute import execute
from .executor import Executor, Local
from .folder import claim
from .grid import Points
from .job import Job, Reduction, Tables
from .replication import Replication, next_seeds
from .store import Store

Report = Callable[[float, int, str], object]
"""Told how many runs are done (with fractions), of how many so far, and a few words."""


@dataclass(frozen=True)
class PointJob(Job):
    """A run of a point."""

    point: int = 0


@dataclass(frozen=True)
class Failure:
    """A run, or a point without seed, that could not be made."""

    point: int
    seed: int | None
    values: Mapping[str, Any]
    """What the axes have there."""
    error: str


@dataclass
class Outcome:
    """What a sweep has done."""

    directory: Path
    points: int
    made: list[dataset.Made] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    new: int = 0
    """Runs that were not kept from an earlier sweep."""
    wide: list[int] = field(default_factory=list)
    """Points whose intervals are still wider than asked for."""
    seconds: float = 0.0

    def document(self) -> dict[str, Any]:
        """For machines."""
        return {
            "directory": str(self.directory), "points": self.points, "runs": len(self.made), "new_runs": self.new,
            "seconds": round(self.seconds, 3), "wide_points": self.wide,
            "failures": [vars(failure) for failure in self.failures],
        }  # fmt: skip


def tables(run: Run, names: Sequence[str]) -> Tables:
    """The tables of a run that a sweep keeps."""
    return {name: run.table(name) for name in names}


def reduction(names: Sequence[str]) -> Reduction:
    """Keeps these tables of each run."""
    return Reduction(f"tables {' '.join(names)}", 1, partial(tables, names=tuple(names)))


def sweep(
    points: Points,
    directory: str | Path,
    *,
    executor: Executor | None = None,
    width: float | None = None,
    most_runs: int = 100,
    progress: Report | None = None,
) -> Outcome:
    """Runs every point with the grid's seeds, unless `directory` has it already, and writes the dataset there.

    With `width` (0.02: 2 %) a point gets more seeds until the 95 % interval of each group's mean FCT is as narrow, or
    it has `most_runs`. What fails is told in the outcome and stops nothing else. Raises ScenarioError where nothing
    can be run, OutputError, Interrupted; the same call goes on from there.
    """
    grid, place = points.grid, Path(directory)
    if width and "flows" not in grid.keep:
        raise ScenarioError('keep: expected "flows" among the tables where runs are added until their mean is known')
    store = Store(place / dataset.RUNS, reduction(grid.keep), {grid.engine: program(grid.engine)})
    facts = {"grid": grid.model_dump(mode="json", exclude_defaults=True), "programs": dict(store.programs)}
    claim(place, "sweep")
    dataset.note(place, facts | {"complete": False})
    state = _State(points, store, executor or Local(), Outcome(place, len(points)), progress)
    if width:
        _replicate(state, width, most_runs)
    else:
        state.run(dict.fromkeys(points, grid.seeds))
    outcome = state.outcome
    outcome.seconds = time.monotonic() - state.start
    dataset.write(place, store, outcome.made, points.columns, grid.keep)
    dataset.note(place, facts | {"complete": not outcome.failures} | outcome.document())
    return outcome


@dataclass
class _State:
    points: Points
    store: Store
    executor: Executor
    outcome: Outcome
    progress: Report | None
    start: float = field(default_factory=time.monotonic)
    before: int = 0
    """Runs of earlier rounds."""
    unsound: int = 0
    """Runs that were not made because their point is no scenario."""

    def run(self, wanted: Mapping[int, Sequence[int]]) -> list[dataset.Made]:
        """Runs points with seeds; returns what is new."""
        jobs = _Jobs(self, wanted)
        first = len(self.outcome.made)

        def found(job: Job, digest: str) -> None:
            assert isinstance(job, PointJob)
            self.outcome.made.append(dataset.Made(job.point, job.seed, bytes.fromhex(digest)))

        def kept(job: Job, digest: str) -> None:
            found(job, digest)
            self.outcome.new += 1

        def failed(job: Job, error: Exception) -> None:
            assert isinstance(job, PointJob)
            self.fail(job.point, job.seed, error)

        def report(done: float, _: int | None) -> None:
            if self.progress:
                self._tell(self.before + self.unsound + done, self.before + len(jobs))

        execute(
            jobs, self.store, executor=self.executor, progress=report, failed=failed, found=found, kept=kept,
        )  # fmt: skip
        self.unsound = 0
        self.before += len(jobs)
        return self.outcome.made[first:]

    def fail(self, point: int, seed: int | None, error: Exception) -> None:
        text = str(error) if isinstance(error, DaybreakError) else f"{type(error).__name__}: {error}"
        self.outcome.failures.append(Failure(point, seed, self.points.columns(point), text))

    def _tell(self, done: float, total: int) -> None:
        assert self.progress
        rate = self.outcome.new / max(time.monotonic() - self.start, 1e-9)
        failed = f", {len(self.outcome.failures)} failed" if self.outcome.failures else ""
        self.progress(done, total, f"{int(done)} of {total}, {rate:.3g} runs/s{failed}")


class _Jobs:
    """The runs of points with seeds, in their order, made as they are taken."""

    def __init__(self, state: _State, wanted: Mapping[int, Sequence[int]]):
        self._state, self._wanted = state, wanted

    def __len__(self) -> int:
        return sum(map(len, self._wanted.values()))

    def __iter__(self) -> Iterator[Job]:
        engine = self._state.points.grid.engine
        for point, seeds in self._wanted.items():
            try:
                scenario = self._state.points.scenario(point)
            except DaybreakError as error:
                self._state.fail(point, None, error)
                self._state.unsound += len(seeds)
                continue
            for seed in seeds:
                yield PointJob(scenario, seed, engine, point)


def _replicate(state: _State, width: float, most: int) -> None:
    seeds = state.points.grid.seeds
    known = {point: Replication(width, most) for point in state.points}
    used = {point: list[int](seeds[:most]) for point in known}
    wanted: dict[int, list[int]] = used
    while wanted:
        for made in sorted(state.run(wanted), key=lambda one: (one.point, one.seed)):
            known[made.point].add(state.store.read(made.digest.hex()).tables["flows"])
        broken = {failure.point for failure in state.outcome.failures}
        wanted = {}
        for point, replication in known.items():
            more = 0 if point in broken else replication.more()
            if more:
                wanted[point] = next_seeds(used[point], more)
                used[point] = used[point] + wanted[point]
    state.outcome.wide = [point for point, replication in known.items() if not replication.is_narrow]
