"""Shading of the network's phases: one phase of a timeline, such as when flows share a link, and the nights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from daybreak.figures.style import DAY, NIGHT

MOST_BANDS = 80
"""With more bands than this on an axis they blur, and are left out."""
DARK = "night"
"""The name of the phase without a path in table `circuits`."""


@dataclass(frozen=True)
class Shading:
    """The phases of one run (see `metrics.phases.intervals`), of which one is shaded; ``label`` is its legend entry."""

    intervals: pl.DataFrame
    phase: str
    label: str

    def until(self, end_ns: int) -> Shading:
        """A copy whose last phase ends at ``end_ns``."""
        ends = pl.col("end_ns").fill_null(end_ns)
        return Shading(self.intervals.with_columns(ends), self.phase, self.label)

    def bands(self, end_s: float, start_s: float = 0.0) -> list[tuple[float, float]]:
        """Spans of the shaded phase between two times."""
        return list(self._spans(self.phase, start_s, end_s))

    def nights(self, end_s: float, start_s: float = 0.0) -> list[tuple[float, float]]:
        """Spans of the nights between two times."""
        return list(self._spans(DARK, start_s, end_s))

    def too_narrow(self, end_s: float, start_s: float = 0.0) -> bool:
        """Whether the bands between two times are too many to be seen apart."""
        # The first band may have begun before the axis.
        apart = (
            spans[2][0] - spans[1][0]
            for spans in (self.bands(end_s, start_s), self.nights(end_s, start_s))
            if len(spans) > 2
        )
        return any((end_s - start_s) / distance > MOST_BANDS for distance in apart)

    def draw(self, axes: Axes, end_s: float, *, start_s: float = 0.0) -> list[Patch]:
        """Shades the axes, unless the bands would be too narrow to see; returns the legend's entries."""
        if self.too_narrow(end_s, start_s):
            return []
        bands, nights = self.bands(end_s, start_s), self.nights(end_s, start_s)
        for start, end in bands:
            axes.axvspan(start, end, color=DAY, linewidth=0, zorder=0, snap=False)
        for start, end in nights:
            axes.axvspan(start, end, color=NIGHT, linewidth=0, zorder=0.1, snap=False)
        entries = [Patch(facecolor=DAY, label=self.label)] if bands else []
        if nights:
            entries.append(Patch(facecolor=NIGHT, label=DARK))
        return entries

    def _spans(self, phase: str, start_s: float, end_s: float) -> Iterator[tuple[float, float]]:
        mine = self.intervals.filter(pl.col("phase") == phase)
        for start_ns, end_ns in mine.select("start_ns", "end_ns").iter_rows():
            start, end = max(start_ns / 1e9, start_s), end_s if end_ns is None else min(end_ns / 1e9, end_s)
            if start < end:
                yield start, end
