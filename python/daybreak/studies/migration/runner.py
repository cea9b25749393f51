"""Runs settings with seeds, keeps what each run showed, and never runs the same thing twice.

A run's measured tables are kept in a directory named by everything that they depend on: the scenario, the seed,
and the engine's program. A run that is interrupted leaves nothing, one that is finished is found again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from daybreak import _native
from daybreak.scenario import Scenario
from daybreak.studies.migration import measured, testbed
from daybreak.studies.migration.measured import Measured
from daybreak.studies.migration.settings import Setting

TABLES = ("flows", "throughput", "windows")
FORMAT = 1
"""Version of the kept tables; a new one forgets the old ones."""

Job = tuple[Setting, int]
Progress = Callable[[int, int, str], None]
"""Told how many runs are done, of how many, and the name of the setting that was last."""
RunOne = Callable[[Scenario, int], Any]
"""Runs a scenario with a seed and returns its `Run`."""


@dataclass(frozen=True)
class Store:
    """Where measured tables are kept. ``engine`` and ``version`` name the program that makes the runs."""

    directory: Path
    engine: str
    version: str

    def place(self, setting: Setting, seed: int) -> Path:
        """The directory of one run."""
        document = testbed.scenario(setting).document()
        facts = json.dumps([FORMAT, document, seed, self.engine, self.version], sort_keys=True)
        return self.directory / setting.name / f"{seed}-{hashlib.sha256(facts.encode()).hexdigest()[:16]}"

    def has(self, setting: Setting, seed: int) -> bool:
        """Whether the run is kept."""
        return self.place(setting, seed).is_dir()

    def put(self, setting: Setting, seed: int, tables: Mapping[str, pl.DataFrame]) -> None:
        """Keeps a run: all of its tables, or nothing."""
        place = self.place(setting, seed)
        draft = place.with_name(f"{place.name}.{uuid.uuid4().hex[:8]}.part")
        draft.mkdir(parents=True)
        for name in TABLES:
            tables[name].write_parquet(draft / f"{name}.parquet")
        try:
            draft.rename(place)
        except OSError:
            # Somebody else finished the same run first; both are the same.
            shutil.rmtree(draft)

    def get(self, setting: Setting, seeds: Iterable[int]) -> Measured:
        """Reads the runs of a setting."""
        runs = {
            seed: {name: pl.read_parquet(self.place(setting, seed) / f"{name}.parquet") for name in TABLES}
            for seed in seeds
        }
        return measured.of_runs(setting, runs)


def execute(jobs: Iterable[Job], store: Store, run: RunOne, *, workers: int, progress: Progress | None = None) -> None:
    """Runs the jobs that are not kept yet, the longest first.

    On an interruption the runs under way are finished and kept, and the others are given up.
    """
    wanted = sorted(set(jobs), key=_cost, reverse=True)
    missing = [job for job in wanted if not store.has(*job)]
    done = len(wanted) - len(missing)
    if progress:
        progress(done, len(wanted), "")
    pool = ThreadPoolExecutor(max_workers=workers)
    try:
        pending = {pool.submit(_one, setting, seed, store, run): setting for setting, seed in missing}
        for future in as_completed(pending):
            future.result()
            done += 1
            if progress:
                progress(done, len(wanted), pending[future].name)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def engine_version() -> str:
    """What identifies the simulator's program: the digest of the native module."""
    return hashlib.sha256(Path(str(_native.__file__)).read_bytes()).hexdigest()[:16]


def default_workers() -> int:
    """A worker for each processor that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _one(setting: Setting, seed: int, store: Store, run: RunOne) -> None:
    store.put(setting, seed, measured.of_run(run(testbed.scenario(setting), seed)))


def _cost(job: Job) -> tuple[int, str, int]:
    setting, seed = job
    return (setting.mib * (1 if setting.kind == "single" else 2), setting.name, seed)
