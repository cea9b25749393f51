"""How many runs a point needs until the mean completion time of each group is known well enough.

The seeds are the same series at every point (common random numbers), so that two points can be compared run by run over
the seeds that both have. The relative half width of the confidence interval is checked after each batch of runs. A
batch is large enough to make the interval narrow enough if the deviation stayed the same, but at most doubles the runs.
Repeated checks lower the true coverage a little below the nominal one; starting with five runs keeps this small.
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
    """Largest accepted half width of the 95 % interval, relative to its mean."""
    most: int
    """Largest number of runs."""
    means: dict[str, list[float | None]] = field(default_factory=dict)
    """The mean FCT of each run by group; None where a flow did not end."""
    runs: int = 0

    def add(self, flows: pl.DataFrame) -> None:
        """Adds a run, given its table `flows`."""
        self.runs += 1
        of_run = fct.by_run(flows.with_columns(pl.lit(0).alias("run")))
        for group, mean in of_run.select("group", "fct_s").iter_rows():
            self.means.setdefault(group, []).append(mean)

    def half_width(self) -> float:
        """The widest of the groups' half widths, relative to the mean; infinite where a flow did not end."""
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
        """Number of runs in the next batch; 0 when the mean is known, cannot be known, or the limit is reached."""
        if self.runs < LEAST_RUNS:
            return max(0, min(LEAST_RUNS, self.most) - self.runs)
        half = self.half_width()
        if not self.means or half <= self.width or math.isinf(half):
            return 0
        wanted = math.ceil(self.runs * min(2.0, (half / self.width) ** 2))
        return min(wanted, self.most) - self.runs


def next_seeds(used: Sequence[int], count: int) -> list[int]:
    """The next `count` seeds of the series after those already used."""
    first = max(used, default=0) + 1
    return list(range(first, first + count))
