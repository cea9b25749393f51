"""Runs the settings of a study, and reads the results setting by setting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from daybreak.engines import kind
from daybreak.studies.protocol import C, M, S, Scale, Setting, Study
from daybreak.sweeps import Executor, Job, Report, Store, execute


@dataclass(frozen=True)
class Evidence(Generic[S, C, M]):
    """The stored results of a study's runs at one scale."""

    study: Study[S, C, M]
    scale: C
    engine: str
    store: Store

    def of_settings(self, settings: Iterable[S]) -> dict[S, M]:
        """Reads the runs of settings."""
        return {setting: self._of_setting(setting) for setting in settings}

    def of_figure(self, figure: str) -> dict[S, M]:
        """Reads the runs of the settings of one experiment."""
        return self.of_settings(self.study.experiments[figure].settings(self.scale))

    def hosts(self, figures: Sequence[str]) -> str:
        """The kernels that the runs had, as their manifests name them; empty where the study says what hosts are."""
        if kind(self.engine) == "simulated":
            return ""
        found: dict[str, None] = {}
        for figure in figures:
            for setting in self.study.experiments[figure].settings(self.scale)[:1]:
                kernel = self.store.get(self.study.job(setting, 1, self.engine)).manifest.get("kernel")
                if kernel:
                    found[f"Linux {kernel['version']} with {kernel['ticks']} ticks a second"] = None
        return " and ".join(found)

    def _of_setting(self, setting: S) -> M:
        jobs = {seed: self.study.job(setting, seed, self.engine) for seed in seeds(setting, self.scale)}
        return self.study.measured(setting, {seed: self.store.get(job).tables for seed, job in jobs.items()})


def gather(
    study: Study[S, C, M],
    scales: Sequence[C],
    directory: Path,
    *,
    figures: Sequence[str] = (),
    engine: str = "simulated",
    executor: Executor,
    progress: Report | None = None,
) -> list[Evidence[S, C, M]]:
    """Runs what the figures (all if none is named) need at each scale, except runs that ``directory`` holds already."""
    wanted: dict[tuple[S, int], Job] = {}
    for scale in scales:
        for setting in study.settings(scale, figures):
            for seed in seeds(setting, scale):
                wanted[setting, seed] = study.job(setting, seed, engine)
    store = Store(directory, study.reduction)
    longest_first = sorted(wanted, key=lambda one: (-study.cost(one[0]), one[0].name, one[1]))
    execute([wanted[one] for one in longest_first], store, executor=executor, progress=progress)
    return [Evidence(study, scale, engine, store) for scale in scales]


def seeds(setting: Setting, scale: Scale) -> range:
    """The seeds of a setting, from 1 to its number of runs."""
    return range(1, scale.runs_of(setting) + 1)
