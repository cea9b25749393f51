"""How many runs a point needs: until the mean completion time of each group is known well enough.

The seeds are the same series at every point (common random numbers), so that two points can be compared run by run over
the seeds that both have. A relative half width of a confidence interval is looked at after each round, which is chosen
so that the interval would be narrow enough if the deviation stayed what it is, and at most doubles the runs. Looking
several times makes the true coverage a little less than nominal; at least five runs keep this small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from daybreak.metrics import fct
from daybreak.metrics.confidence import interval

LEAST_RUNS = 5


@dataclass
class Replication:
    """The runs of one point so far."""

    width: float
    """Largest half width of the 95 % interval, over its mean."""
    most: int
    """Runs at most."""
    means: dict[str, list[float | None]] = field(default_factory=dict)
    """By group the mean FCT of each run; None where a flow did not end."""
    runs: int = 0

    def add(self, flows: pl.DataFrame) -> None:
        """Takes another run into account, by its table `flows`."""
        self.runs += 1
        of_run = fct.by_run(flows.with_columns(pl.lit(0).alias("run")))
        for group, mean in of_run.select("group", "fct_s").iter_rows():
            self.means.setdefault(group, []).append(mean)

    def half_width(self) -> float:
        """The widest of the groups' intervals, as a part of the mean; infinite where a flow did not end."""
        widest = 0.0
        for means in self.means.values():
            known = [mean for mean in means if mean is not None]
            if len(known) < max(2, self.runs):
                return math.inf
            found = interval(known)
            widest = max(widest, (found.high - found.mean) / found.mean)
        return widest

    @property
    def is_narrow(self) -> bool:
        """Whether the intervals are narrow enough."""
        return bool(self.means) and self.runs >= LEAST_RUNS and self.half_width() <= self.width

    def more(self) -> int:
        """How many runs are needed next; none when the mean is known, cannot be known, or there are too many."""
        if self.runs < LEAST_RUNS:
            return max(0, min(LEAST_RUNS, self.most) - self.runs)
        half = self.half_width()
        if not self.means or half <= self.width or math.isinf(half):
            return 0
        wanted = math.ceil(self.runs * min(2.0, (half / self.width) ** 2))
        return min(max(wanted, self.runs + 1), self.most) - self.runs


def next_seeds(used: Sequence[int], count: int) -> list[int]:
    """The seeds that go on after those that were used."""
    first = max(used, default=0) + 1
    return list(range(first, first + count))
