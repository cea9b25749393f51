"""Compares two scenarios: the differences between their runs with the same seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import polars as pl

from daybreak.engines import run_many
from daybreak.errors import OutputError, whole
from daybreak.metrics import confidence
from daybreak.metrics.comparison import paired
from daybreak.metrics.fct import RUN_ENDED
from daybreak.runs import Run, read_all
from daybreak.scenario import Scenario, load

_MOST_RUNS = 100_000
Compared = Scenario | str | Path | Run | Iterable[Run]
"""What may be compared: a scenario, the path of a scenario file or of a folder of runs, or runs."""


def compare(
    first: Compared,
    second: Compared,
    *,
    runs: int = 10,
    engine: str = "simulated",
    workers: int | None = None,
    progress: Callable[[float, int], object] | None = None,
) -> pl.DataFrame:
    """Differences between two scenarios, group by group, with 95 % confidence intervals.

    A scenario is run with the seeds 1 to ``runs``; ``engine``, ``workers`` and ``progress`` are those of `run_many`.
    Only runs with a common seed are compared. The columns are those of `daybreak.metrics.comparison.paired`: FCT in
    seconds, goodput of flows without an end in Gbit/s, retransmissions and timeouts, each as a mean over the flows of a
    group. Raises ScenarioError, OutputError.
    """
    whole("runs", runs, 1, _MOST_RUNS)
    if workers is not None:
        whole("workers", workers, 1)
    tables = [_flows(one, runs, engine, workers, progress) for one in (first, second)]
    try:
        return paired(*tables)
    except ValueError as error:
        raise OutputError(f"the two cannot be compared: {error}") from None


def _flows(
    one: Compared, runs: int, engine: str, workers: int | None, progress: Callable[[float, int], object] | None
) -> pl.DataFrame:
    if isinstance(one, str | Path):
        one = read_all(one) if Path(one).is_dir() else load(one)
    if isinstance(one, Scenario):
        jobs = [(one, seed) for seed in range(1, runs + 1)]
        one = run_many(jobs, engine=engine, workers=workers, progress=progress)
    return flows_of([one] if isinstance(one, Run) else one)


def flows_of(runs: Iterable[Run]) -> pl.DataFrame:
    """Table `flows` of all runs, with what `paired` needs of each."""
    return confidence.stack(
        (run.seed, run.flows.with_columns(pl.lit(run.manifest["totals"]["ended_ns"]).alias(RUN_ENDED))) for run in runs
    )
