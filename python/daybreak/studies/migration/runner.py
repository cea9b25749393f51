"""The study's runs as a sweep."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from daybreak.engines import program
from daybreak.studies.migration import measured, testbed
from daybreak.studies.migration.measured import Measured
from daybreak.studies.migration.settings import Setting
from daybreak.sweep import Job, Reduction, Store

REDUCTION = Reduction("migration", 1, measured.of_run)


def store(directory: Path, engine: str) -> Store:
    """Where the runs of an engine are kept."""
    return Store(directory, REDUCTION, {engine: program(engine)})


def jobs(settings: Iterable[tuple[Setting, int]], engine: str) -> list[Job]:
    """The runs of settings with seeds, the longest first."""
    ordered = sorted(set(settings), key=_cost, reverse=True)
    return [Job(testbed.scenario(setting), seed, engine) for setting, seed in ordered]


def get(store: Store, setting: Setting, seeds: Iterable[int], engine: str) -> Measured:
    """Reads the runs of a setting."""
    scenario = testbed.scenario(setting)
    return measured.of_runs(setting, {seed: store.get(Job(scenario, seed, engine)) for seed in seeds})


def _cost(job: tuple[Setting, int]) -> tuple[int, str, int]:
    setting, seed = job
    return (setting.mib * (1 if setting.kind == "single" else 2), setting.name, seed)
