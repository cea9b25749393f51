"""The migration study: combines its parts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib.resources import files

from daybreak._native import Stream
from daybreak.engines import kind
from daybreak.studies.migration import plots, testbed, ticks
from daybreak.studies.migration.claims import (
    figure3,
    figure4,
    figure5,
    figure6,
    figure7,
    figure8,
    kernel,
    table2,
    variants,
)
from daybreak.studies.migration.measured import REDUCTION, Measurements, of_runs
from daybreak.studies.migration.settings import MIXED_PERIODS, SCALES, Scale, Setting, of_figure
from daybreak.studies.protocol import Experiment, Study
from daybreak.sweeps import Job

EXPERIMENTS: dict[str, Experiment[Setting, Scale, Measurements]] = {
    "3": Experiment(partial(of_figure, "3"), figure3.judge, plots.figure3),
    "4": Experiment(partial(of_figure, "4"), figure4.judge, plots.figure4),
    "4-variants": Experiment(partial(of_figure, "4-variants"), variants.judge, plots.figure4_variants),
    "5": Experiment(partial(of_figure, "5"), figure5.judge, plots.figure5),
    "6a": Experiment(partial(of_figure, "6a"), figure6.judge_a, partial(plots.figure6, "a", MIXED_PERIODS[0])),
    "6b": Experiment(partial(of_figure, "6b"), figure6.judge_b, partial(plots.figure6, "b", MIXED_PERIODS[1])),
    "7": Experiment(partial(of_figure, "7"), figure7.judge, plots.figure7),
    "table2": Experiment(partial(of_figure, "table2"), table2.judge, plots.table2),
    "table2-exchanges": Experiment(
        partial(of_figure, "table2-exchanges"), table2.judge_exchanges, plots.table2_exchanges
    ),
    "8": Experiment(partial(of_figure, "8"), figure8.judge, plots.figure8),
    "8-ticks": Experiment(partial(of_figure, "8-ticks"), draw=ticks.draw, tables=ticks.tables, of_model=True),
    "kernel": Experiment(partial(of_figure, "kernel"), kernel.judge, plots.kernel, of_model=True),
}
"""The values of `--figure`, in the order of the page."""


LATEST_BEGIN_NS = 1_000_000_000
"""Flows and switch begin within this time, which spans many ticks and several turns of the timer wheel's second
level."""


def job(setting: Setting, seed: int, engine: str) -> Job:
    """The job of a setting. Its phase relative to the hosts' ticks is drawn for each seed, equal for all settings. On
    the kernel engine the hosts are Linux 6.1.192 with the ticks that the study infers."""
    if kind(engine) == "kernel":
        setting = replace(setting, testbed=replace(setting.testbed, older=0))
    begin_ns = Stream(seed, "migration/begin").below(LATEST_BEGIN_NS) if setting.testbed.phase else 0
    return Job(testbed.scenario(setting, begin_ns), seed, engine)


STUDY: Study[Setting, Scale, Measurements] = Study(
    name="migration",
    folder=files(__package__),
    scales=SCALES,
    experiments=EXPERIMENTS,
    job=job,
    reduction=REDUCTION,
    measured=of_runs,
    cost=lambda setting: setting.mib * (1 if setting.kind == "single" else 2),
)
"""The study."""
