"""The data that models learn from and are judged by: one row a run, with its setting and what came of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from daybreak.runs import Run
from daybreak.scenario import Scenario
from daybreak.sweeps import Executor, Job, Reduction, Report, Store, Tables, claim, execute

from . import setting as settings_
from .columns import Array
from .setting import GROUPS

COUNTED = ("rtos", "tlps", "retransmits")
"""What is kept of a group beside its mean FCT, summed over its flows."""
RUNS = "runs"


@dataclass(frozen=True)
class Dataset:
    """Runs with their settings.

    ``table`` has the columns of `setting.describe`, ``scenario``, which tells settings apart (rows with one value
    belong together), ``seed``, and for each group its mean FCT (``migrated_fct_s``; none where a flow did not end) and
    what is `COUNTED`.
    """

    table: pl.DataFrame

    def settings(self) -> list[dict[str, Any]]:
        """Of each row."""
        return list(self.table.select(_SETTING).iter_rows(named=True))

    def seconds(self) -> Array:
        """Prolongations: mean FCT of the migrated group less that of the main group.

        A flow that does not end counts as ending with the run, as the least that it takes.
        """
        end_s = settings_.testbed().duration / 1e12
        migrated, main = (self.table[f"{group}_fct_s"].fill_null(end_s).to_numpy() for group in GROUPS)
        return np.asarray(migrated - main)

    def ideal_s(self) -> Array:
        """Time that the migrated group's bytes take at the rate."""
        return np.array([settings_.ideal_s(row) for row in self.settings()])

    def scenarios(self) -> Array:
        """Number of each row's scenario."""
        return self.table["scenario"].rank("dense").to_numpy().astype(int)

    @property
    def fingerprint(self) -> str:
        """Identifies the data."""
        return hashlib.sha256(self.table.write_csv().encode()).hexdigest()[:16]


_SETTING = (
    *(f"{group}_{name}" for group in GROUPS for name in ("variant", "mib", "flows")), "rate_gbps", "rtt_us",
    "buffer_packets", "period_ms", "night_ms", "downtime", "start_ms", "hz",
)  # fmt: skip


@dataclass(frozen=True)
class Drawn(Job):
    """A run of a setting of a list, by its place there."""

    place: int = 0


def made(
    settings: Sequence[Mapping[str, Any]],
    directory: Path,
    executor: Executor,
    *,
    runs: int = 1,
    seeds: Sequence[Sequence[int]] | None = None,
    engine: str = "simulated",
    progress: Report | None = None,
) -> Dataset:
    """The data of settings on the testbed, so many runs of each; those that `directory` lacks are made.

    Each run has a seed of its own, since what seeds decide (when flows start) must not be the same for all settings:
    1, 2, ..., or those that are given for each setting.
    Raises EngineError, OutputError, Interrupted; the same call goes on from there.
    """
    claim(directory, "learn")
    base = settings_.testbed()
    store = Store(directory / RUNS, Reduction("groups", 1, _kept))
    digests: dict[tuple[int, int], str] = {}

    def keep(job: Job, digest: str) -> None:
        assert isinstance(job, Drawn)
        digests[job.place, job.seed] = digest

    chosen = seeds or [range(1 + place * runs, 1 + (place + 1) * runs) for place in range(len(settings))]

    def jobs() -> Iterable[Job]:
        for place, (setting, of_setting) in enumerate(zip(settings, chosen, strict=True)):
            scenario = base.with_(settings_.changes(setting))
            for seed in of_setting:
                yield Drawn(scenario, seed, engine, place)

    def report(done: float, _: int | None) -> None:
        if progress:
            progress(done, sum(map(len, chosen)))

    execute(jobs(), store, executor=executor, progress=report, found=keep, kept=keep)
    rows = []
    for (place, seed), digest in sorted(digests.items()):
        of_run = store.read(digest).tables["groups"].row(0, named=True)
        rows.append(dict(settings[place]) | {"scenario": place, "seed": seed} | of_run)
    return Dataset(pl.DataFrame(rows, infer_schema_length=None))


def of_runs(found: Iterable[tuple[Scenario, pl.DataFrame]]) -> Dataset:
    """The data of scenarios, each with its table `flows` of several runs (column ``run``).

    Runs in which a flow did not end are left out.
    """
    rows = []
    for scenario, flows in found:
        setting = settings_.describe(scenario)
        name = " ".join(map(str, setting.values()))
        for (run,), some in flows.partition_by("run", as_dict=True, maintain_order=True).items():
            rows.append(setting | {"scenario": name, "seed": run} | of_groups(some))
    table = pl.DataFrame(rows, infer_schema_length=None)
    return Dataset(table.drop_nulls([f"{group}_fct_s" for group in GROUPS]))


def of_groups(flows: pl.DataFrame) -> dict[str, Any]:
    """What is kept of a run: by group the mean FCT, none where a flow did not end, and what is `COUNTED`."""
    found: dict[str, Any] = {}
    for group in GROUPS:
        mine = flows.filter(pl.col("group") == group)
        ends = mine["fct_ns"]
        found[f"{group}_fct_s"] = None if ends.null_count() else float(np.mean(ends.to_numpy())) / 1e9
        for name in COUNTED:
            found[f"{group}_{name}"] = int(mine[name].sum()) if name in mine.columns else 0
    return found


def _kept(run: Run) -> Tables:
    types = {f"{group}_fct_s": pl.Float64 for group in GROUPS}
    return {"groups": pl.DataFrame([of_groups(run.flows)], schema_overrides=types)}
