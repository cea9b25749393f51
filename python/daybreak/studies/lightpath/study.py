"""The lightpath study: its parts put together."""

from __future__ import annotations

from importlib.resources import files

from daybreak.studies.lightpath import costs, plots, testbed
from daybreak.studies.lightpath import settings as grids
from daybreak.studies.lightpath.claims import cells, figure3, figure4, figure5, figure6, grid, others, setup, variants
from daybreak.studies.lightpath.measured import REDUCTION, Measured, of_runs
from daybreak.studies.lightpath.settings import RATES_MBPS, SCALES, STACKS, Scale, Setting
from daybreak.studies.protocol import Experiment, Study
from daybreak.sweep import Job


def job(setting: Setting, seed: int, engine: str) -> Job:
    """A run of a setting."""
    return Job(testbed.scenario(setting), seed, engine)


def cost(setting: Setting) -> float:
    """Packets that it sends, roughly."""
    after = RATES_MBPS[setting.rate_mbps] if setting.scenario == "C2" and setting.moved else setting.rate_mbps
    return setting.rate_mbps * setting.move_s + after * setting.after_s


STUDY: Study[Setting, Scale, Measured] = Study(
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
        "causes": Experiment(
            costs.causes_settings, costs.nothing_published, costs.draw_causes, costs.causes_table
        ),
        "remedies": Experiment(
            costs.remedies_settings, costs.nothing_published, costs.draw_remedies, costs.remedies_table
        ),
    },
    job=job,
    reduction=REDUCTION,
    measured=of_runs,
    cost=cost,
)
"""The study."""
