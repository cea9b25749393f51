"""Shading of what the network did: one phase of a timeline, as when flows share a link, and the nights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from daybreak.figures.style import DAY, NIGHT

MOST_BANDS = 80
"""With more bands than this on an axis they blur into one tone, and are left out."""
DARK = "night"
"""What table `circuits` calls the phase without a path."""


@dataclass(frozen=True)
class Shading:
    """The phases of one run (see `metrics.phases.intervals`), of which one is shaded; ``label`` says what it is."""

    intervals: pl.DataFrame
    phase: str
    label: str

    def bands(self, end_s: float) -> list[tuple[float, float]]:
        """Spans of the shaded phase up to ``end_s``."""
        return list(self._spans(self.phase, end_s))

    def nights(self, end_s: float) -> list[tuple[float, float]]:
        """Spans of the nights up to ``end_s``."""
        return list(self._spans(DARK, end_s))

    def draw(self, axes: Axes, end_s: float) -> list[Patch]:
        """Shades the axes, unless the bands would be too narrow to see; returns the legend's entries."""
        bands, nights = self.bands(end_s), self.nights(end_s)
        if len(bands) > 1 and end_s / (bands[1][0] - bands[0][0]) > MOST_BANDS:
            return []
        for start, end in bands:
            axes.axvspan(start, end, color=DAY, linewidth=0, zorder=0, snap=False)
        for start, end in nights:
            axes.axvspan(start, end, color=NIGHT, alpha=0.55, linewidth=0, zorder=0.1, snap=False)
        entries = [Patch(facecolor=DAY, label=self.label)] if bands else []
        if nights:
            entries.append(Patch(facecolor=NIGHT, alpha=0.55, label=DARK))
        return entries

    def _spans(self, phase: str, end_s: float) -> Iterator[tuple[float, float]]:
        mine = self.intervals.filter(pl.col("phase") == phase)
        for start_ns, end_ns in mine.select("start_ns", "end_ns").iter_rows():
            if start_ns / 1e9 < end_s:
                yield start_ns / 1e9, end_s if end_ns is None else min(end_ns / 1e9, end_s)
