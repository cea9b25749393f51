"""Whether the advice of `tune` is right on another engine: mixes as a publication sets them, and as advised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl

from daybreak.metrics import confidence, fct
from daybreak.metrics.confidence import Interval
from daybreak.runs import Run
from daybreak.scenario import Scenario
from daybreak.sweeps import Executor, Job, Points, Reduction, Store, Tables, claim, execute, read

from .model import Model
from .setting import describe
from .tune import tune

RUNS = "runs"
MIXES = ("advice-short", "advice-long")
"""Grids of mixes to advise on, beside this module."""
Report = Callable[[float, int], object]


@dataclass(frozen=True)
class Judged:
    """One mix."""

    setting: dict[str, Any]
    """As `setting.describe` has it, with the default cycle."""
    changes: dict[str, Any]
    """The advice; none where it is to leave all as it is."""
    default: Interval | None
    """Mean prolongation in seconds with the default settings; None where a flow did not end."""
    advised: Interval | None
    """The same with the advice."""
    difference: Interval | None
    """Of the advice from the default, run by run of the same seeds."""

    @property
    def is_better(self) -> bool:
        """Whether the flow is prolonged less with the advice. Advice under which a flow does not end never is."""
        if self.advised is None:
            return False
        return self.default is None or self.advised.mean < self.default.mean

    def row(self) -> dict[str, Any]:
        """A row of a table."""
        found = dict(self.setting) | {
            "advice": ", ".join(f"{name}={value}" for name, value in self.changes.items()) or "as it is"
        }
        for name, one in (("default", self.default), ("advised", self.advised), ("difference", self.difference)):
            found[f"{name}_s"] = one.mean if one else None
            found[f"{name}_low_s"], found[f"{name}_high_s"] = (one.low, one.high) if one else (None, None)
        return found | {"is_better": self.is_better}


def built_in(name: str) -> Points:
    """One of `MIXES`."""
    return read(Path(str(files(__package__) / "grids" / f"{name}.toml")))


def judge(
    points: Points, model: Model, directory: Path, executor: Executor, progress: Report | None = None
) -> list[Judged]:
    """Asks `tune` for each point, then runs the point and the advice with the grid's seeds on the grid's engine.

    Finished runs are kept in `directory`. Raises OutputError, EngineError, Interrupted.
    """
    claim(directory, "advice")
    mixes = [points.scenario(point) for point in points]
    found = [tune(mix, model, verified=4).best for mix in mixes]
    advised = [best.changes if best else {} for best in found]
    engine, seeds = points.grid.engine, points.seeds
    store = Store(directory / RUNS, Reduction("prolongation", 1, _kept))

    def jobs(scenario: Scenario) -> list[Job]:
        return [Job(scenario, seed, engine) for seed in seeds]

    defaults = [jobs(mix) for mix in mixes]
    # What is to be left as it is is run once.
    others = [
        jobs(mix.with_(changes)) if changes else same
        for mix, changes, same in zip(mixes, advised, defaults, strict=True)
    ]
    wanted = [
        job
        for same, other in zip(defaults, others, strict=True)
        for job in (*same, *(other if other is not same else ()))
    ]
    execute(wanted, store, executor=executor, progress=lambda done, total: _tell(progress, done, total))
    return [
        _judged(mix, changes, *([_value(store, job) for job in some] for some in (same, other)))
        for mix, changes, same, other in zip(mixes, advised, defaults, others, strict=True)
    ]


def _tell(progress: Report | None, done: float, total: int | None) -> None:
    if progress:
        progress(done, total or 0)


def _kept(run: Run) -> Tables:
    return {"flows": run.flows.select("group", "bytes", "start_ns", "end_ns", "fct_ns")}


def _value(store: Store, job: Job) -> float | None:
    flows = store.get(job).tables["flows"].with_columns(pl.lit(job.seed).alias("run"))
    value: float | None = fct.prolongation(flows)["prolongation_s"].item()
    return value


def _judged(mix: Scenario, changes: dict[str, Any], default: list[float | None], advised: list[float | None]) -> Judged:
    differences = [
        after - before if before is not None and after is not None else None
        for before, after in zip(default, advised, strict=True)
    ]
    return Judged(
        describe(mix),
        changes,
        confidence.of_all(default),
        confidence.of_all(advised),
        confidence.of_all(differences),
    )
