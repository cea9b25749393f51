"""The light-path study: combines its parts."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

from daybreak.runs import Run
from daybreak.studies.lightpath import costs, management, measured, plots, testbed
from daybreak.studies.lightpath import settings as grids
from daybreak.studies.lightpath.claims import (
    cells,
    figure3,
    figure4,
    figure5,
    figure6,
    grid,
    others,
    setup,
    shifts,
    variants,
)
from daybreak.studies.lightpath.claims import kernel as kernel_board
from daybreak.studies.lightpath.settings import RATES_MBPS, SCALES, STACKS, ManagedSetting, Setting
from daybreak.studies.protocol import AnyStudy, Experiment, Study
from daybreak.sweeps import Job, Reduction, Tables


def job(setting: Setting | ManagedSetting, seed: int, engine: str) -> Job:
    """The job of a setting."""
    make = management.scenario(setting) if isinstance(setting, ManagedSetting) else testbed.scenario(setting)
    return Job(make, seed, engine)


def of_run(run: Run) -> Tables:
    """Reduces a run: for managed runs to the flows and the manager's decisions."""
    is_timed = "move" in run.circuits["timeline_name"]
    return measured.of_run(run) if is_timed else management.of_run(run)


def of_runs(
    setting: Setting | ManagedSetting, runs: Mapping[int, Tables]
) -> measured.Measurements | management.Outcome:
    """Combines the stored tables of a setting's runs, by seed."""
    return management.of_runs(runs) if isinstance(setting, ManagedSetting) else measured.of_runs(setting, runs)


def cost(setting: Setting | ManagedSetting) -> float:
    """Approximate number of packets that it sends."""
    if isinstance(setting, ManagedSetting):
        return 20_000.0
    after = RATES_MBPS[setting.rate_mbps] if setting.scenario == "C2" and setting.moved else setting.rate_mbps
    return setting.rate_mbps * setting.move_s + after * setting.after_s


STUDY: AnyStudy = Study(
    name="lightpath",
    folder=files(__package__),
    scales=SCALES,
    experiments={
        "setup": Experiment(setup.settings, setup.judge, plots.nothing),
        "3": Experiment(
            lambda scale: [one for stack in STACKS for one in grids.figure3(scale, stack).values()],
            figure3.judge,
            plots.of_figure3,
        ),
        "4": Experiment(
            lambda scale: [one for stack in STACKS for one in figure4.settings(scale, stack)],
            figure4.judge,
            plots.of_figure4,
        ),
        "5": Experiment(
            lambda scale: [one for stack in STACKS for one in grids.figure5(scale, stack).values()],
            figure5.judge,
            plots.of_figure5,
        ),
        "6": Experiment(
            lambda scale: [one for stack in STACKS for one in figure6.settings(scale, stack)],
            figure6.judge,
            plots.of_figure6,
        ),
        "7": Experiment(
            lambda scale: [grids.figure6(scale, stack) for stack in STACKS], figure6.judge_queue, plots.of_figure7
        ),
        "grid": Experiment(
            lambda scale: [one for stack in STACKS for one in grids.grid(scale, stack)], grid.judge, plots.of_grid
        ),
        "variants": Experiment(
            lambda scale: [one for stack in STACKS for one in grids.grid(scale.of_variants(), stack, grids.NAMES)],
            variants.judge,
            plots.of_variants,
        ),
        "others": Experiment(others.settings, others.judge, plots.nothing),
        "cells": Experiment(cells.settings, cells.judge, plots.nothing, cells.table),
        "shifts": Experiment(shifts.settings, shifts.judge, shifts.draw, shifts.table),
        "kernel": Experiment(lambda scale: [], kernel_board.judge, plots.nothing, kernel_board.table, of_model=True),
        "management": Experiment(management.settings, management.judge, management.draw, management.tables),
        "causes": Experiment(costs.causes_settings, costs.nothing_published, costs.draw_causes, costs.causes_table),
        "remedies": Experiment(
            costs.remedies_settings, costs.nothing_published, costs.draw_remedies, costs.remedies_table
        ),
    },
    job=job,
    reduction=Reduction("lightpath", 2, of_run),
    measured=of_runs,
    cost=cost,
)
"""The study."""
