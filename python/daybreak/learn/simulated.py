"""The mean prolongation of a scenario by simulation: as many runs as it takes to know it, up to `MOST`."""

from __future__ import annotations

from collections.abc import Sequence

from daybreak.engines import run_many
from daybreak.metrics.confidence import interval
from daybreak.scenario import Scenario

from . import setting as settings_
from .model import tolerated
from .tune import prolongation

BATCH, MOST = 8, 24
"""Runs that are made at once, and altogether."""


def simulated(scenario: Scenario, least: int = 0, workers: int | None = None) -> list[float | None]:
    """Prolongations in seconds of runs with the seeds from 1 on: as many as it takes, and no fewer than ``least``.

    None for a run in which a flow did not end; then there is no mean, and no more than ``least`` are run after it.
    Raises EngineError, Interrupted.
    """
    ideal_s = settings_.ideal_s(settings_.describe(scenario))
    found: list[float | None] = []
    while len(found) < max(least, MOST):
        seeds = range(len(found) + 1, len(found) + BATCH + 1)
        found += run_many([(scenario, seed) for seed in seeds], reduce=prolongation, workers=workers)
        ended = [value / ideal_s for value in found if value is not None]
        if len(found) >= least and (len(ended) < len(found) or is_known(ended)):
            break
    return found


def enough(relative: Sequence[float]) -> int:
    """How many of these runs `simulated` would have made; all where their mean is never known."""
    counts = range(BATCH, len(relative), BATCH)
    return next((count for count in counts if is_known(relative[:count])), len(relative))


def is_known(relative: Sequence[float]) -> bool:
    """Whether the margin of error of the mean (95 %) is tolerated. Prolongations are in the ideal time."""
    found = interval(relative)
    return found.margin <= tolerated(found.mean)
