"""The space-switch study: combines its parts."""

from __future__ import annotations

from functools import partial
from importlib.resources import files

from daybreak.studies.protocol import Experiment, Study
from daybreak.studies.space_switch import beyond, claims, fit, plots, testbed
from daybreak.studies.space_switch import settings as grids
from daybreak.studies.space_switch.measured import REDUCTION, Measurements, again, of_runs
from daybreak.studies.space_switch.settings import SCALES, Scale, Setting
from daybreak.sweeps import Job


def job(setting: Setting, seed: int, engine: str) -> Job:
    """The job of a setting."""
    return Job(testbed.scenario(setting, seed), seed, setting.engine or engine)


def cost(setting: Setting) -> float:
    """Approximate number of bytes sent; the kernel is slower."""
    return setting.transfers / setting.divisor * (20 if setting.engine else 1)


def compared(scale: Scale, scheme: str) -> list[Setting]:
    """A scheme and no direct link."""
    return grids.printed(scale, ("no_direct_link", scheme))


STUDY: Study[Setting, Scale, Measurements] = Study(
    name="space-switch",
    folder=files(__package__),
    scales=SCALES,
    experiments={
        "tables": Experiment(grids.printed, claims.tables, plots.tables, plots.cells),
        "3": Experiment(grids.epochs, claims.figure3, plots.figure3),
        "4": Experiment(lambda scale: compared(scale, "ut"), claims.ut, partial(plots.of_scheme, "ut", 4)),
        "6": Experiment(lambda scale: compared(scale, "dt"), claims.dt, partial(plots.of_scheme, "dt", 6)),
        "8": Experiment(grids.printed, claims.on_demand, partial(plots.of_scheme, "on_demand", 8)),
        "instant": Experiment(
            lambda scale: [*(one for pair in grids.instant(scale).items() for one in pair), *compared(scale, "ut")],
            claims.instant, plots.instant, plots.instant_cells,
        ),
        "100G": Experiment(
            lambda scale: [one for pair in grids.fast(scale).items() for one in pair],
            claims.scaling, plots.scaling, plots.scaling_cells,
        ),
        "ecmp": Experiment(
            lambda scale: grids.printed(scale, ("no_direct_link", grids.ECMP, "on_demand")),
            claims.capacity, plots.spread, plots.spread_cells,
        ),
        "policies": Experiment(
            lambda scale: list(grids.brokers(scale).values()), claims.nothing, plots.policies, plots.policy_table
        ),
        "gap": Experiment(grids.fits, claims.nothing, fit.draw, fit.tables),
        "causes": Experiment(beyond.cause_settings, claims.nothing, beyond.causes, beyond.cause_table),
        "variants": Experiment(
            beyond.variant_settings, beyond.judge_variants, beyond.variants, beyond.variant_table
        ),
        "delays": Experiment(plots.delay_settings, claims.nothing, plots.delays, plots.delay_cells),
        "kernel": Experiment(
            lambda scale: [one for pair in grids.kernel_cells(scale).items() for one in pair],
            claims.kernel, plots.kernel, of_model=True,
        ),
    },
    job=job,
    reduction=REDUCTION,
    measured=of_runs,
    cost=cost,
    again=again,
)  # fmt: skip
"""The study."""
