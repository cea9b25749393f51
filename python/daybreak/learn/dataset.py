"""The data that models learn from: one row a run of a sweep, with its setting and what came of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from daybreak.errors import OutputError
from daybreak.metrics import fct
from daybreak.sweep import Executor, Points, read, sweep

from . import features

GRIDS = ("paper", "networks", "kernel", "advice")
"""The grids beside this module; the last one's are no data to learn from, but mixes to advise on (`advice`)."""
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
    """The data of a grid; runs that `directory` lacks are made. Raises OutputError when a run failed."""
    points = built_in(name)
    outcome = sweep(points, directory, executor=executor, progress=progress)
    if outcome.failures:
        raise OutputError(f"{len(outcome.failures)} runs of grid {name} failed; the first: {outcome.failures[0].error}")
    return of_sweep(points, pl.read_parquet(directory / "flows"))


def of_sweep(points: Points, flows: pl.DataFrame) -> Dataset:
    """The data of a sweep's table `flows`. Runs in which a flow did not end are left out."""
    settings = {number: features.describe(points.scenario(number)) for number in flows["point"].unique().sort()}
    rows = []
    for (point, seed), run in flows.partition_by("point", "seed", as_dict=True, maintain_order=True).items():
        found = fct.prolongation(run.with_columns(pl.lit(0).alias("run")))["prolongation_s"].item()
        rows.append(settings[point] | {"seed": seed, "prolongation_s": found})
    names = list(next(iter(settings.values())))
    # Two points may be one scenario: without a night its policy makes no difference.
    key = pl.concat_str([pl.col(name).cast(pl.String) for name in names], separator=" ")
    table = pl.DataFrame(rows).drop_nulls().with_columns(key.alias("scenario"))
    return Dataset(table.unique(["scenario", "seed"], maintain_order=True))
