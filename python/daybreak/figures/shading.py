"""Shading of what the network did: when flows shared a link, and the nights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from daybreak.figures.style import DAY, NIGHT

MOST_BANDS = 80
"""With more bands than this on an axis they blur into one tone, and are left out."""


@dataclass(frozen=True)
class Shading:
    """A schedule that alternates between two states every ``period_s``, each change with a night at its start.

    State 0 runs from 0 to ``period_s``, state 1 (shaded) to twice that, and so on. ``night_s`` may be 0.
    """

    period_s: float
    night_s: float = 0.0
    shaded: str = "sharing one link"

    def bands(self, end_s: float) -> Iterator[tuple[float, float]]:
        """Spans of state 1 up to ``end_s``."""
        number = 1
        while number * self.period_s < end_s:
            yield number * self.period_s, min((number + 1) * self.period_s, end_s)
            number += 2

    def nights(self, end_s: float) -> Iterator[tuple[float, float]]:
        """Spans of the nights up to ``end_s``."""
        number = 1
        while self.night_s > 0 and number * self.period_s < end_s:
            yield number * self.period_s, min(number * self.period_s + self.night_s, end_s)
            number += 1

    def draw(self, axes: Axes, end_s: float) -> list[Patch]:
        """Shades the axes, unless the bands would be too narrow to see; returns the legend's entries."""
        if end_s / self.period_s > 2 * MOST_BANDS:
            return []
        for start, end in self.bands(end_s):
            axes.axvspan(start, end, color=DAY, linewidth=0, zorder=0, snap=False)
        for start, end in self.nights(end_s):
            axes.axvspan(start, end, color=NIGHT, alpha=0.55, linewidth=0, zorder=0.1, snap=False)
        entries = [Patch(facecolor=DAY, label=self.shaded)]
        if self.night_s > 0:
            entries.append(Patch(facecolor=NIGHT, alpha=0.55, label="night"))
        return entries
