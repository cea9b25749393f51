"""The sender's window over time."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from daybreak.figures.curves import BAND, Panel, largest, small_multiples


def over_time(panels: Sequence[Panel], *, columns: int = 1, labels: dict[str, str] | None = None) -> Figure:
    """Mean bytes in flight with confidence bands in KB (1000 bytes)."""
    highest = max(largest(table["mean"]) for panel in panels for table in panel.curves.values())
    return small_multiples(
        panels, ylabel="In flight [KB]", top=max(highest, 1.0) * 1.08, columns=columns, labels=labels, band=BAND
    )
