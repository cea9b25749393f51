"""Compares scenarios: the differences between their runs with the same seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from daybreak.engines import lowered, run_many
from daybreak.errors import OutputError, whole
from daybreak.metrics import confidence
from daybreak.metrics.comparison import check_groups, paired
from daybreak.metrics.fct import RUN_ENDED
from daybreak.runs import Run, read_all
from daybreak.scenario import Scenario, load

_MOST_RUNS = 100_000
Compared = Scenario | str | Path | Run | Iterable[Run]
"""What may be compared: a scenario, the path of a scenario file or of a folder of runs, or runs."""


def compare(
    first: Compared,
    second: Compared,
    *others: Compared,
    runs: int = 10,
    engine: str = "simulated",
    workers: int | None = None,
    progress: Callable[[float, int], object] | None = None,
) -> pl.DataFrame:
    """Differences of scenarios from the first one, group by group, with 95 % confidence intervals.

    A scenario is run with the seeds 1 to ``runs``; ``engine``, ``workers`` and ``progress`` are those of `run_many`.
    Only runs with a common seed are compared. The columns are those of `daybreak.metrics.comparison.paired`: FCT in
    seconds, goodput of flows without an end in Gbit/s, retransmissions and timeouts, each as a mean over the flows of a
    group. If more than two are compared, the first column is ``compared``: 1 for the rows of ``second``, 2 for those of
    the next one, and so on. Raises ScenarioError, OutputError.
    """
    whole("runs", runs, 1, _MOST_RUNS)
    if workers is not None:
        whole("workers", workers, 1)
    given = [opened(one) for one in (first, second, *others)]
    names = ["the first", "the second", *(f"number {number}" for number in range(3, len(given) + 1))]
    check(list(zip(names, given, strict=True)), [engine] * len(given))
    flows = [flows_of(runs_of(one, runs, engine, workers, progress)) for one in given]
    tables = differences(list(zip(names, flows, strict=True)))
    if not others:
        return tables[0]
    numbered = [
        table.select(pl.lit(number, pl.Int64).alias("compared"), pl.all()) for number, table in enumerate(tables, 1)
    ]
    return pl.concat(numbered)


def opened(one: Compared) -> Scenario | list[Run]:
    """A scenario, or runs: files and folders are read. Raises ScenarioError, OutputError."""
    if isinstance(one, str | Path):
        return read_all(one) if Path(one).is_dir() else load(one)
    if isinstance(one, Scenario):
        return one
    return [one] if isinstance(one, Run) else list(one)


def check(given: Sequence[tuple[str, Scenario | list[Run]]], engines: Sequence[str]) -> None:
    """Raises OutputError, before anything is run, for one that has no group of flows in common with the first.

    Each has the name by which a message calls it, and its engine.
    """
    (first, _), groups = given[0], [_groups(one, engine) for (_, one), engine in zip(given, engines, strict=True)]
    for (name, _), of_it in zip(given[1:], groups[1:], strict=True):
        with _compared(first, name):
            check_groups(groups[0], of_it)


def runs_of(
    one: Scenario | list[Run],
    runs: int,
    engine: str,
    workers: int | None,
    progress: Callable[[float, int], object] | None,
) -> list[Run]:
    """The runs of a scenario with the seeds 1 to ``runs``, or those given."""
    if not isinstance(one, Scenario):
        return one
    return run_many([(one, seed) for seed in range(1, runs + 1)], engine=engine, workers=workers, progress=progress)


def differences(flows: Sequence[tuple[str, pl.DataFrame]]) -> list[pl.DataFrame]:
    """The table of `paired` of each but the first, from the first. Each has its name. Raises OutputError."""
    (first, baseline), tables = flows[0], []
    for name, of_it in flows[1:]:
        with _compared(first, name):
            tables.append(paired(baseline, of_it))
    return tables


def flows_of(runs: Iterable[Run]) -> pl.DataFrame:
    """Table `flows` of all runs, with what `paired` needs of each."""
    return confidence.stack(
        (run.seed, run.flows.with_columns(pl.lit(run.manifest["totals"]["ended_ns"]).alias(RUN_ENDED))) for run in runs
    )


def _groups(one: Scenario | list[Run], engine: str) -> set[str]:
    if isinstance(one, Scenario):
        return set(lowered(one, 1, engine).content.groups)
    return {group for run in one for group in run.flows["group"]}


@contextmanager
def _compared(first: str, second: str) -> Iterator[None]:
    """Within it, a ValueError is about these two."""
    try:
        yield
    except ValueError as error:
        raise OutputError(f"{first} and {second} cannot be compared: {error}") from None
