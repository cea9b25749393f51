"""Section V-B, last sentence on throughput: the finding of figure 4 for CUBIC holds for the other variants."""

from __future__ import annotations

from daybreak.studies.migration.measured import Evidence
from daybreak.studies.migration.settings import NAMES, PAIR_PERIODS, Scale, pair
from daybreak.studies.scoreboard import Scoreboard, text

OTHERS = tuple(variant for variant in NAMES if variant != "cubic")
SHORT_MS = (10, 1)
"""The periods at which figure 4's finding is clear: the intervals of both flows are disjoint."""


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """The migrated flow takes longer than a main flow of its own variant."""
    for variant in OTHERS:
        runs = {period: evidence[pair(scale, variant, variant, period)] for period in PAIR_PERIODS}
        longer = {period: measured.prolongation() for period, measured in runs.items()}
        known = [longer[period] for period in SHORT_MS]
        is_longer = all(one is not None and one.low > 0 for one in known)
        note = ", ".join(f"{text(value)} s at {period} ms" for period, value in longer.items())
        board.shape("fig4.variants", is_longer, longer[1], suffix=variant, variant=NAMES[variant], note=note)
