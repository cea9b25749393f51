"""Compares our runs of the TCP of ns-2 with ns-2 itself, cell by cell and value by value."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from daybreak.studies.lightpath.measured import Evidence
from daybreak.studies.lightpath.ns2 import FIGURE6_S, Cell, cells, is_near
from daybreak.studies.lightpath.settings import Scale, Setting
from daybreak.studies.scoreboard import Scoreboard

ENOUGH = 0.9
"""Share of all values that has to be within tolerance."""


def asked(scale: Scale) -> list[Cell]:
    """The cells that this scale runs."""
    is_whole = scale.figure6_s >= FIGURE6_S
    return [cell for cell in cells() if cell.setting.packets <= scale.ns2_packets or (is_whole and cell.is_of_figure6)]


def settings(scale: Scale) -> list[Setting]:
    """The settings of these cells."""
    return [setting for cell in asked(scale) for setting in cell.settings]


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Adds a claim for each cell, and one for all values together."""
    near = compared = 0
    left_out = [cell for cell in cells() if cell not in asked(scale)]
    missing = sum(is_near(cell, name, None) is False for cell in left_out for name in ("move", *cell.values))
    for cell in asked(scale):
        verdicts = {name: is_near(cell, name, value) for name, value in ours(cell, evidence).items()}
        within = [name for name, verdict in verdicts.items() if verdict]
        off = [name for name, verdict in verdicts.items() if verdict is False]
        near, compared = near + len(within), compared + len(within) + len(off)
        note = f"of {len(within) + len(off)}"
        if off:
            note += f"; not within: {_beside(cell, off, ours(cell, evidence))}"
        board.shape("cells", not off, float(len(within)), suffix=cell.name, cell=cell.name, note=note)
    share = 100 * near / (compared + missing)
    note = f"{near} of {compared} that are compared"
    if left_out:
        names = ", ".join(cell.name for cell in left_out)
        note += f"; {missing} of cells that were not run count as missed: {names}"
    board.shape("cells.values", share >= 100 * ENOUGH, share, note=note)


def table(evidence: Evidence, scale: Scale) -> Mapping[str, pl.DataFrame]:
    """Every value of every cell beside that of ns-2."""
    rows = [
        (cell.name, name, cell.move_s if name == "move" else cell.values[name], value, is_near(cell, name, value))
        for cell in asked(scale)
        for name, value in ours(cell, evidence).items()
    ]
    columns = {"cell": pl.String, "value": pl.String, "ns2": pl.Float64, "ours": pl.Float64, "near": pl.Boolean}
    return {"ns2-cells": pl.DataFrame(rows, schema=columns, orient="row")}


def ours(cell: Cell, evidence: Evidence) -> dict[str, float | None]:
    """The values of our run of a cell."""
    measured = evidence[cell.setting]
    tenths = measured.bins(100).filter(pl.col("time_s") >= 0)["mbps"]
    found: dict[str, float | None] = {
        "move": cell.setting.move_s,
        "before": measured.before_mbps,
        "first_100ms": float(tenths[0]),
        "trough": measured.trough().rate,
        "recovery": measured.recovery_s(measured.before_mbps),
        "dup_acks": None,
    }
    if cell.counts_duplicates:
        first, last = (evidence[one].counted("dup_acks") for one in cell.settings[1:])
        found["dup_acks"] = float(last - first)
    return found


def _beside(cell: Cell, names: list[str], values: Mapping[str, float | None]) -> str:
    pairs = {name: cell.move_s if name == "move" else cell.values[name] for name in names}
    return ", ".join(f"{name} {_shown(values[name])} for {_shown(theirs)}" for name, theirs in pairs.items())


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.6g}"
