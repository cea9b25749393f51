"""Measurements from the runs of one setting: their flows, with a column ``run`` (the seed)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import polars as pl

from daybreak.metrics import confidence, fct
from daybreak.metrics.confidence import Interval
from daybreak.runs import Run
from daybreak.studies.kept import FLOW_COLUMNS
from daybreak.studies.space_switch.settings import Setting
from daybreak.sweeps import Reduction, Tables

VmClass = Literal["elephant", "mouse"]
Metric = Literal["throughput", "completion"]
CLASSES: Mapping[VmClass, str] = {"elephant": "elephant VM", "mouse": "mice VM"}
METRICS: Mapping[Metric, str] = {"throughput": "Mbit/s", "completion": "s"}


@dataclass(frozen=True)
class Measurements:
    """The runs of one setting."""

    setting: Setting
    flows: pl.DataFrame

    def of(self, vm_class: VmClass, metric: Metric) -> list[float | None]:
        """One value per run, the mean over its transfers of a class: throughput in Mbit/s, or completion time in
        seconds at the paper's sizes and rate. None if a transfer was not complete."""
        value = pl.col("mbps") if metric == "throughput" else pl.col("completion_s")
        return (
            self._scaled()
            .filter(pl.col("group") == vm_class)
            .group_by("run")
            .agg(pl.when(value.is_null().any()).then(None).otherwise(value.mean()).alias("mean"))
            .sort("run")["mean"]
            .to_list()
        )

    def interval(self, vm_class: VmClass, metric: Metric) -> Interval:
        """Mean over the runs with its interval, without missing values."""
        return confidence.interval(value for value in self.of(vm_class, metric) if value is not None)

    def extremes(self, vm_class: VmClass, metric: Metric) -> tuple[float, float, float]:
        """Minimum, mean and maximum over the runs; NaN if a run has no value."""
        values = self.of(vm_class, metric)
        known = [value for value in values if value is not None]
        if len(known) < len(values) or not known:
            return (float("nan"),) * 3
        return min(known), sum(known) / len(known), max(known)

    def mean(self, vm_class: VmClass, metric: Metric) -> float:
        """Their mean."""
        return self.extremes(vm_class, metric)[1]

    def mean_of_all(self, metric: Metric) -> list[float]:
        """One value per run: the mean over all transfers."""
        value = pl.col("mbps") if metric == "throughput" else pl.col("completion_s")
        return self._scaled().group_by("run").agg(value.mean().alias("mean")).sort("run")["mean"].to_list()

    def count(self, vm_class: VmClass, name: str) -> float:
        """Mean of a counter of `flows` per transfer of a class."""
        return float(self.flows.filter(pl.col("group") == vm_class)[name].cast(pl.Float64).mean() or 0.0)  # type: ignore[arg-type]

    def _scaled(self) -> pl.DataFrame:
        # Throughput is compared at the paper's rate, so it is scaled as well.
        return self.flows.with_columns(
            (pl.col("goodput_gbps") * 1e6 / self.setting.rate_mbps).alias("mbps"),
            (pl.col("fct_s") * self.setting.time_factor).alias("completion_s"),
        )


Evidence = Mapping[Setting, Measurements]
"""The settings of a figure."""


def of_run(run: Run) -> Tables:
    """The tables of one run, small enough to store."""
    return {"flows": run.flows.select(FLOW_COLUMNS)}


REDUCTION = Reduction("space-switch", 1, of_run)
"""The reduction of each run."""


def of_runs(setting: Setting, runs: Mapping[int, Tables]) -> Measurements:
    """Combines the tables of a setting's runs; ``runs`` maps seeds to tables."""
    if not runs:
        raise ValueError(f'setting "{setting.name}": no runs')
    return Measurements(setting, fct.table(confidence.stack((seed, runs[seed]["flows"]) for seed in sorted(runs))))


def again(setting: Setting, tables: Path) -> Mapping[int, Tables]:
    """What table `flows` of a result has of the runs of a setting, by seed."""
    mine = _flows(tables / "flows.parquet").filter(setting=setting.name)
    return {
        int(run): {"flows": flows.select(FLOW_COLUMNS)} for (run,), flows in mine.group_by("run", maintain_order=True)
    }


@cache
def _flows(path: Path) -> pl.DataFrame:
    return pl.read_parquet(path)
