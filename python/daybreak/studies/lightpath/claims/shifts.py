"""How far the rate falls if the move is shifted by up to half a second, in ns-2 and here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import polars as pl
from matplotlib.figure import Figure

from daybreak.figures.points import beside
from daybreak.studies.lightpath.claims.cells import asked
from daybreak.studies.lightpath.measured import WITHIN_S, Evidence
from daybreak.studies.lightpath.ns2 import Cell, shifted
from daybreak.studies.lightpath.settings import AT_LIMIT, Scale, Setting
from daybreak.studies.published import PublishedValues
from daybreak.studies.scoreboard import Scoreboard

NS2_NAME, OUR_NAME = "ns-2.35", "ours"
ALIKE = 0.05
"""Smallest p-value of a rank test at which two samples count as alike."""
FALLS = 0.5
"""Part of the rate before below which the worst second is a collapse, as in `D.severe`."""


@dataclass(frozen=True)
class Moves:
    """A cell moved at several times: relative rate in the worst second, by shift in seconds."""

    cell: Cell
    ns2: Mapping[float, float]
    ours: Mapping[float, float]

    @property
    def falls(self) -> tuple[int, int]:
        """Number of moves after which the rate falls by more than half: here, and in ns-2."""
        mine, theirs = (sum(part < FALLS for part in side.values()) for side in (self.ours, self.ns2))
        return mine, theirs

    @property
    def p_value(self) -> float:
        """p-value of the Mann-Whitney test: how often samples of one distribution differ as much."""
        from scipy.stats import mannwhitneyu  # noqa: PLC0415

        mine, theirs = list(self.ours.values()), list(self.ns2.values())
        return float(mannwhitneyu(mine, theirs, alternative="two-sided").pvalue)


def settings(scale: Scale) -> list[Setting]:
    """The settings of all cells for which ns-2 has shifted moves."""
    return [setting for cell in _cells(scale) for setting in _settings(cell).values()]


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Judges whether moves of ns-2 and ours could come from one distribution."""
    for one in _moves(evidence, scale):
        mine, theirs = one.falls
        count = len(one.ns2)
        board.shape(
            "shifts", one.p_value >= ALIKE, float(mine), suffix=one.cell.name, cell=one.cell.name,
            note=f"of {count} moves, {theirs} in ns-2; worst second {_span(one.ours)} of the rate before, in ns-2 "
            f"{_span(one.ns2)}; p = {one.p_value:.2g}",
        )  # fmt: skip


def draw(evidence: Evidence, scale: Scale, published: PublishedValues) -> dict[str, Figure]:
    """The worst second by the time of the move."""
    panels = {
        title(one.cell): {NS2_NAME: _percent(one.ns2), OUR_NAME: _percent(one.ours)} for one in _moves(evidence, scale)
    }
    if not panels:
        return {}
    figure = beside(panels, xlabel="Move shifted by [s]", ylabel="Worst second [% of the rate before]", level=50.0)
    return {"shifts": figure}


def title(cell: Cell) -> str:
    """A cell as people read it, with what is not as in the grid."""
    one = cell.setting
    rate = f"{one.rate_mbps // 1000} Gb/s" if one.rate_mbps >= 1000 else f"{one.rate_mbps} Mb/s"
    parts = [f"{one.scenario}, {rate}, {one.rtt_ms} ms"]
    if one.move != AT_LIMIT:
        parts.append(f"around {one.move} s")
    if one.changes:
        parts[-1] += ", no drop at the sender"
    return "\n".join(parts)


def table(evidence: Evidence, scale: Scale) -> Mapping[str, pl.DataFrame]:
    """Every move."""
    rows = [
        (one.cell.name, shift, one.ns2[shift], one.ours[shift])
        for one in _moves(evidence, scale)
        for shift in sorted(one.ns2)
    ]
    columns = {"cell": pl.String, "shift_s": pl.Float64, "ns2": pl.Float64, "ours": pl.Float64}
    return {"shifts": pl.DataFrame(rows, schema=columns, orient="row")}


def _moves(evidence: Evidence, scale: Scale) -> Iterator[Moves]:
    for cell in _cells(scale):
        runs: dict[float, Mapping[str, float | None]] = {0.0: cell.values, **shifted()[cell.name]}
        theirs = {shift: (run["trough"] or 0.0) / (run["before"] or 1.0) for shift, run in runs.items()}
        ours = {shift: 1 - evidence[one].reduction for shift, one in _settings(cell).items()}
        yield Moves(cell, theirs, ours)


def _cells(scale: Scale) -> list[Cell]:
    return [cell for cell in asked(scale) if cell.name in shifted()]


def _settings(cell: Cell) -> dict[float, Setting]:
    within_s = WITHIN_S[cell.setting.rtt_ms]
    return {
        shift: replace(cell.setting, move=f"{cell.setting.move_s + shift:g}", after_s=within_s)
        for shift in (0.0, *shifted()[cell.name])
    }


def _percent(parts: Mapping[float, float]) -> dict[float, float]:
    return {shift: 100 * part for shift, part in parts.items()}


def _span(parts: Mapping[float, float]) -> str:
    return f"{100 * min(parts.values()):.0f} to {100 * max(parts.values()):.0f} %"
