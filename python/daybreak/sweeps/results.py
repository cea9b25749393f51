"""Reads the results of a sweep: its axes with their values, and the flows of all runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from daybreak.errors import OutputError, reason
from daybreak.metrics import confidence, measures

from . import dataset, numbers, replacing
from .folder import purpose_of
from .labels import labels

SUMMARY = ("fct.mean", "fct.p99", "slowdown.p99", "goodput.mean", "retransmits", "rtos")
"""The measures of `Results.summary`."""


@dataclass(frozen=True)
class AxisOf:
    """An axis: its values as in the column of its name, and their numbers in the unit of `column`, if any."""

    name: str
    values: tuple[Any, ...]
    column: str | None = None
    numbers: tuple[float, ...] = ()


@dataclass(frozen=True)
class Results:
    """The results of a sweep in a folder."""

    directory: Path
    document: dict[str, Any]
    axes: tuple[AxisOf, ...]
    flows: pl.DataFrame
    """Table `flows` of all runs, with ``point``, ``seed`` and a column for each axis."""

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.directory.resolve().name

    @property
    def is_complete(self) -> bool:
        """Whether the dataset is that of the last sweep into the folder, which has finished, with failures or not."""
        return "points" in self.document and not self.document.get(replacing.UNFINISHED)

    @property
    def unfinished(self) -> str:
        """A sentence if the last sweep into the folder has not finished; empty if it has."""
        if self.is_complete:
            return ""
        return f"the last sweep into {self.directory} has not finished: these are the results of the one before"

    def summary(self) -> pl.DataFrame:
        """One row per point and group of flows: the axes, ``group``, ``runs``, ``complete`` of ``limited`` flows over
        all runs, and for each of `SUMMARY` the mean over the runs with its 95 % interval, as ``NAME``, ``NAME low`` and
        ``NAME high``; null where the value of any run is unknown."""
        keys = ["point", *(axis.name for axis in self.axes), "group"]
        limited = pl.col("bytes").is_not_null()
        found = self.flows.group_by(keys, maintain_order=True).agg(
            pl.col("seed").n_unique().cast(pl.Int64).alias("runs"),
            (limited & pl.col("fct_ns").is_not_null()).sum().cast(pl.Int64).alias("complete"),
            limited.sum().cast(pl.Int64).alias("limited"),
        )
        for name in SUMMARY:
            over_runs = self.over_runs(name, keys)
            renamed = over_runs.rename({"mean": name, "low": f"{name} low", "high": f"{name} high"})
            found = found.join(renamed.drop("runs"), on=keys, how="left", maintain_order="left", nulls_equal=True)
        return found.drop("point")

    def over_runs(self, name: str, keys: Sequence[str], flows: pl.DataFrame | None = None) -> pl.DataFrame:
        """A measure's mean over the runs of each combination of ``keys``, with the 95 % interval; null where the value
        of any run is unknown. ``flows`` are those of all runs if not given."""
        keyed = list(dict.fromkeys(["point", "seed", *keys]))
        of_runs = measures.of_runs(self.flows if flows is None else flows, name, by=keyed)
        found = confidence.over_runs(of_runs, keys, "value")
        unknown = of_runs.group_by(list(keys), maintain_order=True).agg(
            pl.col("value").is_null().any().alias("unknown")
        )
        marked = found.join(unknown, on=list(keys), how="left", maintain_order="left", nulls_equal=True)
        known = [pl.when(~pl.col("unknown")).then(pl.col(one)).alias(one) for one in ("mean", "low", "high")]
        return marked.with_columns(known).drop("unknown")


def is_sweep(directory: Path) -> bool:
    """Whether a folder holds a sweep."""
    return purpose_of(directory) == "sweep"


def read_results(directory: str | Path) -> Results:
    """The results of a sweep. Raises OutputError."""
    place = Path(directory)
    try:
        document = json.loads((place / dataset.MANIFEST).read_text(encoding="utf-8"))
        grid = document["grid"]
        if "flows" not in grid.get("keep", ["flows"]):
            raise OutputError(f'{place} has no table of flows: set keep = ["flows"] in the grid')
        if not any((place / "flows").glob("*.parquet")):
            raise OutputError(f"{place} has no finished sweep: the same command as before goes on with it")
        flows = pl.read_parquet(place / "flows" / "*.parquet")
        axes = tuple(_axis(name, axis, flows) for name, axis in grid.get("axes", {}).items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, pl.exceptions.PolarsError) as error:
        raise OutputError(f"{place} cannot be read as a sweep: {reason(error)}") from None
    is_known = all(set(flows[axis.name].unique()) <= set(axis.values) for axis in axes)
    if "ideal_fct_ns" not in flows.columns or not is_known:
        raise OutputError(f"{place} is of an earlier version of Daybreak: run the sweep again")
    return Results(place, document, axes, flows)


def _axis(name: str, axis: dict[str, Any], flows: pl.DataFrame) -> AxisOf:
    given = list(axis.get("points") or axis["values"])
    column = numbers.column(name, given) if axis.get("values") else None
    if flows.schema[name] == pl.String:
        texts = tuple(labels(given))
        return AxisOf(name, texts, column[0], tuple(column[1])) if column else AxisOf(name, texts)
    return AxisOf(name, tuple(given), name, tuple(float(value) for value in given))
