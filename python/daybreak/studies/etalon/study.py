"""The Etalon study: combines its parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib.resources import files

from daybreak.engines import kind
from daybreak.studies.etalon import claims, eight_racks, plots, tables, testbed
from daybreak.studies.etalon.measured import REDUCTION, Evidence, Measurements, again, of_runs
from daybreak.studies.etalon.settings import (
    SCALES,
    VARIANTS,
    Scale,
    Setting,
    delayed,
    dilation_pairs,
    of_variant,
    switches,
    undilated,
)
from daybreak.studies.protocol import Experiment, Study
from daybreak.studies.published import PublishedValues
from daybreak.studies.scoreboard import Scoreboard
from daybreak.sweeps import Job

Judge = Callable[[Scoreboard, Evidence, Scale], None]
Draw = Callable[[Evidence, Scale, PublishedValues], plots.Figures]
Settings = Callable[[Scale], Sequence[Setting]]


def _nothing(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """No claims: nothing about it is published."""


def _no_figures(evidence: Evidence, scale: Scale, published: PublishedValues) -> plots.Figures:
    return {}


def _points(figure: str, scale: Scale) -> Sequence[Setting]:
    return list(claims.points(figure, scale).values())


def _variants(scale: Scale) -> Sequence[Setting]:
    return [setting for variant in VARIANTS for setting in of_variant(scale, variant)]


def _dilation(scale: Scale) -> Sequence[Setting]:
    pairs = [(setting, undilated(setting)) for setting in dilation_pairs(scale)]
    return [setting for pair in pairs for setting in pair]


def _delays(scale: Scale) -> Sequence[Setting]:
    return [one for settings in delayed(scale).values() for one in settings.values()]


def _judge_variants(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    for figure in ("4", "7"):
        claims.judge_points(figure, board, evidence, scale)


_PARTS: dict[str, tuple[Settings, Judge, Draw]] = {
    "2": (lambda scale: list(switches(scale).values()), claims.judge_switches, plots.figure2),
    "5": (partial(_points, "5"), partial(claims.judge_points, "5"), partial(plots.sweep, "5")),
    "6": (partial(_points, "6"), partial(claims.judge_points, "6"), partial(plots.sweep, "6")),
    "8": (partial(_points, "8"), partial(claims.judge_points, "8"), partial(plots.sweep, "8")),
    "9": (partial(_points, "9"), partial(claims.judge_points, "9"), partial(plots.sweep, "9")),
    "variants": (_variants, _judge_variants, plots.variants),
    eight_racks.KEY: (eight_racks.settings, eight_racks.judge, eight_racks.draw),
    "delays": (_delays, _nothing, plots.delays),
    "headline": (claims.headline, claims.judge_headline, _no_figures),
    "dilation": (_dilation, _nothing, plots.dilation),
}


def job(setting: Setting, seed: int, engine: str) -> Job:
    """The job of a setting. On the kernel engine hosts are those of its Linux 6.1."""
    return Job(testbed.scenario(setting, real_hosts=kind(engine) == "kernel"), seed, engine)


STUDY: Study[Setting, Scale, Measurements] = Study(
    name="etalon",
    folder=files(__package__),
    scales=SCALES,
    experiments={
        name: Experiment(settings, judge, draw, tables.delays if name == "delays" else partial(tables.values, name))
        for name, (settings, judge, draw) in _PARTS.items()
    },
    job=job,
    reduction=REDUCTION,
    measured=of_runs,
    again=again,
    cost=lambda setting: setting.weeks * (setting.racks - 1) * (setting.day_us + setting.night_us),
)
"""The study."""
