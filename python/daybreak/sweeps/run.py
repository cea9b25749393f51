"""Runs a grid: every point with every seed, then writes the dataset."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from daybreak.engines import program
from daybreak.errors import DaybreakError, OutputError, ScenarioError, whole
from daybreak.runs import Run

from . import dataset, replacing
from .execute import execute
from .executor import Executor, Local
from .folder import claim
from .grid import Points, read
from .job import Job, Reduction, Tables
from .replication import Replication, next_seeds
from .results import Results, read_results
from .store import Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure

APPLICATION_OF = {"exchanges": "request_response", "datagrams": "constant_rate"}
"""Tables that a run has only if one of its flows has an application of this kind."""
MAX_RUNS = 1_000_000
"""Default limit on the runs of a sweep: each takes a file, and some hundred bytes of memory."""
OnSweepProgress = Callable[[float, int, str], object]
"""Called with the number of finished runs (may be fractional), the total so far, and a short description."""


@dataclass(frozen=True)
class PointJob(Job):
    """A run of a point."""

    point: int = 0


@dataclass(frozen=True)
class Failure:
    """A run that failed, or a point (without seed) that is no valid scenario."""

    point: int
    seed: int | None
    values: Mapping[str, Any]
    """The values of the axes there."""
    error: str


@dataclass
class Outcome:
    """The result of a sweep."""

    directory: Path
    points: int
    made: list[dataset.SweepRun] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    new: int = 0
    """Runs executed now, rather than found in the store."""
    wide: list[int] = field(default_factory=list)
    """Points whose intervals are still wider than asked for."""
    seconds: float = 0.0

    def table(self, name: str = "flows") -> pl.DataFrame:
        """A table of all runs, with ``point``, ``seed`` and one column per axis before its own. Raises OutputError."""
        place = self.directory / name
        if not any(place.glob("*.parquet")):
            raise OutputError(f'{place} cannot be read: the sweep has kept no table "{name}"')
        return pl.read_parquet(place)

    def results(self) -> Results:
        """The results: the axes with their values, and the flows of all runs. Raises OutputError."""
        return read_results(self.directory)

    def plot(
        self,
        *,
        x: str | None = None,
        y: str | None = None,
        colour: str | None = None,
        facet: str | None = None,
        only: Mapping[str, str] | None = None,
    ) -> Figure:
        """Draws a measure over the axes, as `daybreak plot` of the folder does.

        ``x``, ``colour`` and ``facet`` are axes, or "group" or "variant" of the flows; ``y`` is a measure such as
        "fct.p99", by default "fct.mean": lines with the 95 % intervals over the seeds. With an axis as ``y`` and a
        measure as ``colour`` it is a heat map, with "fct" or "slowdown" as ``x`` the distribution over the flows.
        Options that are not given take the remaining axes in order. ``only`` fixes axes to one value each, such as
        ``{"period": "10 ms"}``. Raises OutputError, PlotError, UsageError.

        A notebook displays the figure as the result of a cell; in a script call its method `show`.
        """
        # Imported when it is first used, since plots know sweeps, and the import takes a while.
        drawn: Any = import_module("daybreak.plots.sweeps").draw(
            self.results(), x=x, y=y, colour=colour, facet=facet, only=only
        )
        figure: Figure = drawn.figure
        return figure

    def document(self) -> dict[str, Any]:
        """For machines."""
        return {
            "directory": str(self.directory), "points": self.points, "runs": len(self.made), "new_runs": self.new,
            "seconds": round(self.seconds, 3), "wide_points": self.wide,
            "failures": [vars(failure) for failure in self.failures],
        }  # fmt: skip


def tables(run: Run, names: Sequence[str]) -> Tables:
    """The named tables of a run."""
    return {name: run.table(name) for name in names}


def reduction(names: Sequence[str]) -> Reduction:
    """The reduction that keeps these tables of each run."""
    return Reduction(f"tables {' '.join(names)}", 2, partial(tables, names=tuple(names)))


def sweep(
    points: Points | str | Path,
    directory: str | Path,
    *,
    executor: Executor | None = None,
    width: float | None = None,
    most_runs: int = 100,
    max_runs: int = MAX_RUNS,
    force: bool = False,
    progress: OnSweepProgress | None = None,
) -> Outcome:
    """Runs every point with the grid's seeds, except runs that `directory` holds already, and writes the dataset there.

    ``points`` come from `vary`, or are the path of a grid file. `Outcome.table` reads the dataset. With `width` (0.02:
    2 %) a point gets more seeds until the half width of the 95 % interval of each group's mean FCT is at most that part
    of the mean, or the point has `most_runs`. Failed runs are listed in the outcome and stop nothing else. A directory
    with the dataset of another grid is refused, unless `force`; a larger grid of the same axes counts as the same, and
    stored runs are kept in either case. Raises ScenarioError if nothing can be run or the sweep could exceed `max_runs`
    runs, OutputError, or Interrupted, after which the same call resumes.
    """
    if isinstance(points, str | Path):
        points = read(points)
    if not isinstance(points, Points):
        of_type = f"an object of type {type(points).__name__}"
        raise ScenarioError(f"points is {of_type}: expected what daybreak.vary makes, or the path of a grid file")
    whole("most_runs", most_runs, 1)
    whole("max_runs", max_runs, 1)
    if width is not None and not (isinstance(width, int | float) and 0 < width < 1):
        raise ScenarioError(f"width = {width!r}: expected a part of the mean between 0 and 1, such as 0.02")
    grid, place = points.grid, Path(directory)
    _check_size(points, most_runs if width else None, max_runs)
    _check_kept(points)
    if width and "flows" not in grid.keep:
        raise ScenarioError('keep: expected "flows" among the tables where runs are added until their mean is known')
    store = Store(place / dataset.RUNS, reduction(grid.keep))
    facts = replacing.facts(points) | {"programs": {grid.engine: program(grid.engine)}}
    claim(place, "sweep")
    replacing.begin(place, points, facts, force)
    state = _State(points, store, executor or Local(), Outcome(place, points.count), progress)
    if width:
        _replicate(state, width, most_runs)
    else:
        state.run(((point, points.seeds) for point in points), points.runs)
    outcome = state.outcome
    outcome.seconds = time.monotonic() - state.start
    dataset.write(place, store, outcome.made, points.row, grid.keep)
    dataset.note(place, facts | {"complete": not outcome.failures} | outcome.document())
    return outcome


def _check_size(points: Points, most_of_point: int | None, max_runs: int) -> None:
    """Raises ScenarioError, before anything is run, if there would be more than `max_runs` runs."""
    runs = points.runs if most_of_point is None else points.count * most_of_point
    if runs > max_runs:
        each = runs // points.count
        seeds = f"{each:,} seed{'s' if each > 1 else ''}{'' if most_of_point is None else ' at most'}"
        raise ScenarioError(
            f"the grid has {runs:,} runs ({points.count:,} point{'s' if points.count > 1 else ''} with {seeds} each), "
            f"more than {max_runs:,}: draw points with sample, or allow more with --max-runs (in Python max_runs)"
        )


def _check_kept(points: Points) -> None:
    """Raises ScenarioError, before anything is run, if runs would lack a table that is to be kept."""
    wanted = {table: kind for table, kind in APPLICATION_OF.items() if table in points.grid.keep}
    if not wanted:
        return
    for point in points if points.vary("flows", "arrivals") else itertools.islice(points, 1):
        try:
            scenario = points.scenario(point)
        except DaybreakError:
            # Such a point is listed among the failures.
            continue
        does = [flow.application for flow in scenario.flows] + [flow.application for flow in scenario.arrivals]
        kinds = {application.kind for application in does if application}
        for table, kind in wanted.items():
            if kind not in kinds:
                at = "".join(f", {name} = {json.dumps(value)}" for name, value in points.columns(point).items())
                raise ScenarioError(
                    f'keep = "{table}": no flow of scenario "{scenario.name}"{at} has an application of kind "{kind}"'
                )


@dataclass
class _State:
    points: Points
    store: Store
    executor: Executor
    outcome: Outcome
    progress: OnSweepProgress | None
    start: float = field(default_factory=time.monotonic)
    before: int = 0
    """Runs of earlier batches."""
    unsound: int = 0
    """Runs left out because their point is no valid scenario."""

    def run(self, wanted: Iterable[tuple[int, Sequence[int]]], count: int) -> list[dataset.SweepRun]:
        """Runs points with their seeds, `count` runs in all; returns those that are stored."""
        first = len(self.outcome.made)

        def found(job: Job, digest: str) -> None:
            assert isinstance(job, PointJob)
            self.outcome.made.append(dataset.SweepRun(job.point, job.seed, bytes.fromhex(digest)))

        def kept(job: Job, digest: str) -> None:
            found(job, digest)
            self.outcome.new += 1

        def failed(job: Job, error: Exception) -> None:
            assert isinstance(job, PointJob)
            self.fail(job.point, job.seed, error)

        def report(done: float, _: int | None) -> None:
            if self.progress:
                self._report(self.before + self.unsound + done, self.before + count)

        execute(
            self._jobs(wanted), self.store,
            executor=self.executor, progress=report, failed=failed, found=found, kept=kept,
        )  # fmt: skip
        self.unsound = 0
        self.before += count
        return self.outcome.made[first:]

    def _jobs(self, wanted: Iterable[tuple[int, Sequence[int]]]) -> Iterator[Job]:
        """The jobs of points with their seeds, in order, generated lazily."""
        for point, seeds in wanted:
            try:
                scenario = self.points.scenario(point)
            except DaybreakError as error:
                self.fail(point, None, error)
                self.unsound += len(seeds)
                continue
            for seed in seeds:
                yield PointJob(scenario, seed, self.points.grid.engine, point)

    def fail(self, point: int, seed: int | None, error: Exception) -> None:
        text = str(error) if isinstance(error, DaybreakError) else f"{type(error).__name__}: {error}"
        self.outcome.failures.append(Failure(point, seed, self.points.columns(point), text))

    def _report(self, done: float, total: int) -> None:
        assert self.progress
        failed = len(self.outcome.failures)
        self.progress(done, total, f"{failed} failed" if failed else "")


def _replicate(state: _State, width: float, most: int) -> None:
    points, first = state.points, state.points.seeds[:most]
    known: dict[int, Replication] = {}
    made = state.run(((point, first) for point in points), min(points.runs, points.count * most))
    wanted: dict[int, list[int]] = {}
    while made:
        for one in sorted(made, key=lambda one: (one.point, one.seed)):
            replication = known.setdefault(one.point, Replication(width, most))
            replication.add(state.store.read(one.digest.hex()).tables["flows"])
        broken = {failure.point for failure in state.outcome.failures}
        more = {point: known[point].more() for point in sorted(known) if point not in broken}
        wanted = {point: next_seeds(wanted.get(point, first), count) for point, count in more.items() if count}
        made = state.run(wanted.items(), sum(map(len, wanted.values())))
    state.outcome.wide = [point for point in points if point not in known or not known[point].is_narrow]
