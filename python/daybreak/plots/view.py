"""Which part of the time a figure shows, and at which resolution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from daybreak.errors import PlotError
from daybreak.figures.shading import DARK, Shading
from daybreak.metrics import phases
from daybreak.metrics.over_time import Edges

SLOTS = 600
"""Largest number of steps of a curve: more than a figure of a page's width can show."""
WEEK_SLOTS = 200
MOST_WEEKS = 1000
"""Further weeks are left out."""
MOST_VALUES = 3_000_000
"""Approximate limit on the values of all curves together: many flows are drawn in fewer steps."""
_COARSEST = 4
"""A week needs at least this number of steps."""


@dataclass(frozen=True)
class Timeline:
    """The steps of one timeline from table `circuits`; with several runs, those of the longest."""

    name: str
    circuits: pl.DataFrame

    @property
    def first_ns(self) -> int:
        """Time of the first step of the repeating program."""
        return int(self._periodic["time_ns"][0])

    @property
    def period_ns(self) -> int | None:
        """Time until its first step recurred; None if it did not."""
        again = self._periodic.filter(pl.col("step") == pl.col("step").first())["time_ns"]
        return int(again[1]) - int(again[0]) if len(again) > 1 else None

    @property
    def _periodic(self) -> pl.DataFrame:
        """The steps of the repeating program: another one closes, once, the links that are dark until a circuit
        starts."""
        return self.circuits.filter(pl.col("timeline") == pl.col("timeline").max())

    @property
    def phases(self) -> list[str]:
        """The phases with a path, in the order in which they first begin."""
        found = self.circuits["phase"].unique(maintain_order=True).to_list()
        return [phase for phase in found if phase != DARK]

    def shading(self, shown: Sequence[str], label: str) -> Shading:
        """Shades some of its phases alike, and the nights."""
        one = pl.when(pl.col("phase").is_in(shown)).then(pl.lit(shown[0])).otherwise("phase").alias("phase")
        return Shading(phases.intervals(self.circuits).with_columns(one), shown[0], label)


@dataclass(frozen=True)
class Stretch:
    """The contiguous time from ``start_ns`` to ``end_ns``."""

    start_ns: int
    end_ns: int
    most_slots: int = SLOTS
    finer: int = 1
    """How many times as many steps there are as in a figure that is not zoomed into."""
    run_ended_ns: int | None = None
    """The end of a run that ended before ``end_ns``: no step lies after it."""

    def edges(self, *, every_ns: int = 0, slots: int = SLOTS) -> Edges:
        """The edges (ns) of at most about ``slots`` steps; with ``every_ns`` a step is a multiple of it, counted from
        time 0."""
        width = self.step_ns(every_ns=every_ns, slots=slots)
        last = self.end_ns if self.run_ended_ns is None else self.run_ended_ns
        inner = np.arange(self.start_ns // width + 1, -(-last // width), dtype=np.int64) * width
        return np.concatenate([[self.start_ns], inner, [last]])

    def step_ns(self, *, every_ns: int = 0, slots: int = SLOTS) -> int:
        """The length of a step in ns."""
        length, slots = self.end_ns - self.start_ns, min(slots, self.most_slots) * self.finer
        if every_ns:
            return every_ns * max(1, -(-length // (every_ns * slots)))
        return _round_number(length / slots)

    @property
    def axis(self) -> tuple[float, float]:
        """Start and end of the time axis in seconds."""
        return self.start_ns / 1e9, self.end_ns / 1e9


def slots_for(curves: int) -> int:
    """The largest number of steps per curve when `curves` curves are drawn."""
    return max(50, min(SLOTS, MOST_VALUES // curves))


def weeks_for(curves: int) -> int:
    """The largest number of weeks per curve when `curves` curves are drawn."""
    return max(1, min(MOST_WEEKS, MOST_VALUES // (WEEK_SLOTS * curves)))


@dataclass(frozen=True)
class Weeks:
    """Successive weeks of ``week_ns`` from ``start_ns`` on, all overlaid on the first."""

    start_ns: int
    week_ns: int
    weeks: int

    def edges(self, *, every_ns: int = 0, slots: int = WEEK_SLOTS) -> Edges:
        """The edges (ns) of the steps of all weeks in order. Raises PlotError if a week has too few steps."""
        parts = self.parts(every_ns=every_ns, slots=slots)
        return self.start_ns + self.week_ns * np.arange(parts * self.weeks + 1, dtype=np.int64) // parts

    def parts(self, *, every_ns: int = 0, slots: int = WEEK_SLOTS) -> int:
        """Number of steps in a week."""
        width = every_ns or _round_number(self.week_ns / slots)
        most = self.week_ns // width
        if every_ns and most < _COARSEST:
            raise PlotError(f"is recorded every {text(every_ns)}, too seldom for weeks of {text(self.week_ns)}")
        return max(1, most // -(-most // slots))

    def step_ns(self, *, every_ns: int = 0, slots: int = WEEK_SLOTS) -> int:
        """The length of a step in ns, rounded down."""
        return self.week_ns // self.parts(every_ns=every_ns, slots=slots)

    @property
    def axis(self) -> tuple[float, float]:
        """Start and end of the time axis in seconds."""
        return 0.0, self.week_ns / 1e9

    def shading(self, shading: Shading) -> Shading:
        """The phases of the first week, which repeat in every week."""
        end = self.start_ns + self.week_ns
        ends = pl.col("end_ns").fill_null(end)
        inside = shading.intervals.filter((ends > self.start_ns) & (pl.col("start_ns") < end))
        return Shading(
            inside.with_columns(
                (pl.col("start_ns") - self.start_ns).clip(lower_bound=0),
                end_ns=ends.clip(upper_bound=end) - self.start_ns,
            ),
            shading.phase,
            shading.label,
        )


View = Stretch | Weeks


def text(time_ns: int) -> str:
    """A time in the unit that reads best."""
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if time_ns >= size:
            return f"{time_ns / size:.6g} {unit}"
    return f"{time_ns} ns"


def _round_number(least: float) -> int:
    """The smallest of 1, 2, 5, 10, 20 ... that is at least ``least``."""
    power = 1
    while 10 * power < least:
        power *= 10
    return next((factor * power for factor in (1, 2, 5) if factor * power >= least), 10 * power)
