"""Runs settings with seeds, keeps what each run showed, and never runs the same thing twice.

A run's measured tables are kept in a directory named by everything that they depend on: the plan (which has the
seed) and the engine's program. A run that is interrupted leaves nothing, one that is finished is found again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from daybreak.engines import run_many
from daybreak.runs import kept
from daybreak.scenario.lowering import lower
from daybreak.studies.migration import measured, testbed
from daybreak.studies.migration.measured import Measured
from daybreak.studies.migration.settings import Setting

TABLES = ("flows", "throughput", "windows")
FORMAT = 1
"""Version of the kept tables; a new one forgets the old ones."""

Job = tuple[Setting, int]
Progress = Callable[[float, float], object]
"""Told how many runs are done (with fractions), and of how many."""
RunMany = Callable[..., list[Any]]
"""`daybreak.engines.run_many`, or what a test puts in its place."""


@dataclass(frozen=True)
class Store:
    """Where measured tables are kept. ``engine`` makes the runs, with its ``program``."""

    directory: Path
    engine: str
    program: str

    def place(self, setting: Setting, seed: int) -> Path:
        """The directory of one run."""
        plan = lower(testbed.scenario(setting), seed)
        return self.directory / setting.name / kept.name(seed, FORMAT, plan.hash, self.engine, self.program)

    def has(self, setting: Setting, seed: int) -> bool:
        """Whether the run is kept."""
        return self.place(setting, seed).is_dir()

    def put(self, setting: Setting, seed: int, tables: Mapping[str, pl.DataFrame]) -> None:
        """Keeps a run: all of its tables, or nothing."""
        kept.put(self.place(setting, seed), {name: tables[name] for name in TABLES})

    def get(self, setting: Setting, seeds: Iterable[int]) -> Measured:
        """Reads the runs of a setting."""
        places = {seed: self.place(setting, seed) for seed in seeds}
        return measured.of_runs(
            setting,
            {
                seed: {name: pl.read_parquet(place / f"{name}.parquet") for name in TABLES}
                for seed, place in places.items()
            },
        )


def execute(
    jobs: Iterable[Job],
    store: Store,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    many: RunMany = run_many,
) -> None:
    """Runs the jobs that are not kept yet, the longest first. What is finished is kept whatever happens later."""
    wanted = sorted(set(jobs), key=_cost, reverse=True)
    missing = [job for job in wanted if not store.has(*job)]
    done = len(wanted) - len(missing)
    settings = {setting.name: setting for setting, _ in missing}

    def keep(run: Any) -> None:
        store.put(settings[run.manifest["name"]], run.manifest["seed"], measured.of_run(run))

    def report(now: float, _: float) -> None:
        if progress:
            progress(done + now, len(wanted))

    report(0, 0)
    many(
        [(testbed.scenario(setting), seed) for setting, seed in missing],
        engine=store.engine,
        workers=workers,
        progress=report,
        reduce=keep,
    )


def _cost(job: Job) -> tuple[int, str, int]:
    setting, seed = job
    return (setting.mib * (1 if setting.kind == "single" else 2), setting.name, seed)
