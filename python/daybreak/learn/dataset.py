"""The data that models learn from: one row a run of a sweep, with its setting and what came of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from daybreak.errors import OutputError
from daybreak.metrics import fct
from daybreak.scenario import Scenario
from daybreak.sweep import Executor, Points, read, sweep

from . import features

DATA = {"networks": ("networks", "wide", "dense", "nightless", "nights"), "kernel": ("kernel",)}
"""What there is to learn from and to test with, each of one or more of the grids beside this module."""
WIDTHS = {"networks": 0.1}
"""Grids whose points get more seeds until each group's mean FCT is known this well (`sweep`'s `width`)."""
MOST_RUNS = 32
"""Of such a point."""
MIXES = ("advice-short", "advice-long")
"""Grids of mixes to advise on (`advice`)."""
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Dataset:
    """Runs with their settings.

    ``table`` has the columns of `features.describe`, ``seed``, ``prolongation_s`` (mean FCT of the migrated group less
    that of the main group) and ``scenario``, which tells settings apart: rows with one value belong together.
    """

    table: pl.DataFrame

    def features(self) -> Array:
        """One row a run, columns as `features.NAMES`."""
        return np.array([features.vector(row) for row in self.table.iter_rows(named=True)])

    def seconds(self) -> Array:
        """Prolongations."""
        return self.table["prolongation_s"].to_numpy()

    def ideal_s(self) -> Array:
        """Time that the migrated group's bytes take at the rate."""
        return np.array([features.ideal_s(row) for row in self.table.iter_rows(named=True)])

    def scenarios(self) -> Array:
        """Number of each row's scenario."""
        return self.table["scenario"].rank("dense").to_numpy().astype(int)

    def repeated(self) -> Array:
        """Whether there are several runs of each row's scenario."""
        counts = self.table.select(pl.len().over("scenario"))
        return np.asarray((counts > 1).to_series().to_numpy())

    def of_common_seeds(self) -> Array:
        """Whether each row is of a repeated scenario and of a seed that most of these have.

        Scenarios whose runs differ much may have more runs than others. Among these rows none weighs more.
        """
        repeated = self.repeated()
        runs = self.table.filter(repeated)
        scenarios = runs["scenario"].n_unique()
        common = runs.group_by("seed").agg(pl.col("scenario").n_unique()).filter(2 * pl.col("scenario") > scenarios)
        return np.asarray(repeated & self.table["seed"].is_in(common["seed"].implode()).to_numpy())

    @property
    def fingerprint(self) -> str:
        """Identifies the data."""
        return hashlib.sha256(self.table.write_csv().encode()).hexdigest()[:16]


def built_in(name: str) -> Points:
    """One of the grids."""
    path = files(__package__) / "grids" / f"{name}.toml"
    return read(Path(str(path)))


def made(
    name: str, directory: Path, executor: Executor, progress: Callable[[float, int, str], object] | None = None
) -> Dataset:
    """Data of `DATA`; runs that `directory` lacks are made. Raises OutputError when a run failed."""
    parts = []
    for grid in DATA[name]:
        points, place = built_in(grid), directory / grid
        outcome = sweep(
            points, place, executor=executor, width=WIDTHS.get(grid), most_runs=MOST_RUNS, progress=progress
        )
        if outcome.failures:
            first = outcome.failures[0].error
            raise OutputError(f"{len(outcome.failures)} runs of grid {grid} failed; the first: {first}")
        parts.append(of_sweep(points, pl.read_parquet(place / "flows")).table)
    # A scenario may be in two grids, and some of its seeds.
    return Dataset(pl.concat(parts).unique(["scenario", "seed"], maintain_order=True))


def of_sweep(points: Points, flows: pl.DataFrame) -> Dataset:
    """The data of a sweep's table `flows`. Runs in which a flow did not end are left out."""
    runs = flows.rename({"seed": "run"}).partition_by("point", as_dict=True, maintain_order=True)
    return of_runs(
        (points.scenario(int(point)), fct.prolongation(some).rename({"run": "seed"})) for (point,), some in runs.items()
    )


def of_runs(found: Iterable[tuple[Scenario, pl.DataFrame]]) -> Dataset:
    """The data of scenarios with tables ``seed``, ``prolongation_s``. Runs in which a flow did not end are left out."""
    rows = []
    for scenario, runs in found:
        setting = features.describe(scenario)
        rows += [setting | row for row in runs.select("seed", "prolongation_s").iter_rows(named=True)]
    names = [name for name in rows[0] if name not in ("seed", "prolongation_s")]
    # Two points may be one scenario: without a night its policy makes no difference.
    key = pl.concat_str([pl.col(name).cast(pl.String) for name in names], separator=" ")
    table = pl.DataFrame(rows).drop_nulls().with_columns(key.alias("scenario"))
    return Dataset(table.unique(["scenario", "seed"], maintain_order=True))
