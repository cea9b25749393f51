"""Runs of ns-2.35 with the same set-up, and how far ours may be from them.

`ns2.csv` has one row per cell: the time of the move, and the measurements. Where single packets decide how many window
cuts follow each other, ns-2 itself gives other values when the move is shifted by up to half a second:
`ns2-shifted.csv`.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from daybreak.studies.lightpath.settings import AFTER_S, AT_LIMIT, NS2, SCALES, Setting, counted

FIGURE6 = "D_10G_10ms_cubic_paper"
"""The cell that is the run of figures 6 and 7."""
FIGURE6_S = SCALES["full"].figure6_s
COLUMNS = {
    "before": "before_mbps", "first_100ms": "first_100ms_mbps", "trough": "trough_1s_mbps",
    "recovery": "recovery_s_to_95pct_of_before", "dup_acks": "dupacks_500ms",
}  # fmt: skip
"""The compared values, and their columns."""
TOLERANCES = {
    "move": (0.03, 2.0), "before": (0.02, 0.0), "first_100ms": (0.05, 0.0), "trough": (0.15, 0.0),
    "recovery": (0.3, 3.0), "dup_acks": (0.3, 10.0),
}  # fmt: skip
"""Tolerance of each value: relative, and the least in its unit."""


@dataclass(frozen=True)
class Cell:
    """A cell of ns-2 and its measurements by name; None if not measured."""

    name: str
    setting: Setting
    move_s: float
    values: Mapping[str, float | None]

    @property
    def is_of_figure6(self) -> bool:
        """Whether it is the run of figure 6, or its variant in which the sender's queue never drops."""
        return self.name.startswith(FIGURE6)

    @property
    def counts_duplicates(self) -> bool:
        """Whether its duplicate ACKs are compared."""
        return self.values["dup_acks"] is not None

    @property
    def settings(self) -> list[Setting]:
        """The settings it needs: duplicate ACKs take two more runs, up to the move and half a second longer."""
        return [self.setting, *(counted(self.setting) if self.counts_duplicates else ())]


@cache
def cells() -> tuple[Cell, ...]:
    """All cells."""
    text = files(__package__).joinpath("ns2.csv").read_text(encoding="utf-8")
    return tuple(_cell(row) for row in csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


def _cell(row: Mapping[str, str]) -> Cell:
    changes = []
    if int(row["sender_queue"]) > 500:
        changes.append("long-queues")
    elif int(row["sender_queue_after_switch"]) > 500:
        changes.append("long-sender-queue")
    rtt = int(row["rtt_ms"])
    setting = Setting(
        row["scenario"], int(row["limit_mbps"]), rtt, row["variant"], NS2,
        move=AT_LIMIT if row["switch_rule"] == "auto" else row["t_switch_s"],
        after_s=FIGURE6_S if row["cell"] == FIGURE6 else AFTER_S[rtt], changes=tuple(changes),
    )  # fmt: skip
    values = {name: float(row[column]) if row[column] else None for name, column in COLUMNS.items()}
    return Cell(row["cell"], setting, float(row["t_switch_s"]), values)


def is_near(cell: Cell, name: str, ours: float | None) -> bool | None:
    """Whether our value is near that of ns-2; None if ns-2 has none, or if whole bursts decide. A missing value of ours
    counts as missed."""
    theirs = cell.move_s if name == "move" else cell.values[name]
    if name == "recovery" and theirs is None and cell.values["trough"] is not None:
        return ours is None  # It had not recovered when the run ended, and ours is as long.
    if theirs is None:
        return None
    if name == "first_100ms" and cell.setting.scenario == "A" and cell.setting.rtt_ms >= 100:
        return None  # Whole bursts fall in or out of the bin.
    low, high = band(cell, name)
    return ours is not None and low <= ours <= high


def band(cell: Cell, name: str) -> tuple[float, float]:
    """The range that counts as near: the values of ns-2, including shifted moves if there are any, and the
    tolerance."""
    theirs = cell.move_s if name == "move" else cell.values[name]
    runs = shifted().get(cell.name, {}).values()
    known = [value for value in (theirs, *(run[name] for run in runs)) if value is not None]
    low, high = min(known), max(known)
    part, least = TOLERANCES[name]
    return low - max(part * low, least), high + max(part * high, least)


@cache
def shifted() -> Mapping[str, Mapping[float, Mapping[str, float | None]]]:
    """Runs of ns-2 with a shifted move, by cell and shift in seconds."""
    text = files(__package__).joinpath("ns2-shifted.csv").read_text(encoding="utf-8")
    found: dict[str, dict[float, Mapping[str, float | None]]] = {}
    for row in csv.DictReader(line for line in text.splitlines() if not line.startswith("#")):
        values = {name: float(row[column]) if row[column] else None for name, column in COLUMNS.items()}
        found.setdefault(row["cell"], {})[float(row["shift_s"])] = {"move": None, **values}
    return found
