"""Runs of ns-2.35 with the same set-up, and how far ours of the same cells may be from them.

`ns2.csv` has a row a cell: when it was moved, and what was measured. The tolerances were set before our runs were made.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from daybreak.studies.lightpath.settings import AT_LIMIT, NS2, Setting, counted

DUPLICATES_UP_TO_PACKETS = 15e6
"""Duplicate ACKs take two runs more, which a cell with more packets than this does not have."""
AFTER_S = {10: 30.0, 100: 30.0, 1000: 60.0}
"""Seconds after the move, by base RTT in ms."""
COLLAPSES_GBPS = (0.85, 7.39)
"""Lowest seconds of ns-2 in D at 10 Gb/s and 10 ms, when the move is shifted by up to half a second: it is chaotic."""


@dataclass(frozen=True)
class Cell:
    """A cell of ns-2 and what it measured there, by name; None where it was not."""

    name: str
    setting: Setting
    move_s: float
    values: Mapping[str, float | None]

    @property
    def packets(self) -> float:
        """Packets that the limiting rate sends in the run, roughly."""
        return (self.move_s + self.setting.after_s) * self.setting.rate_mbps / 0.012

    @property
    def counts_duplicates(self) -> bool:
        """Whether its duplicate ACKs are counted."""
        return self.values["dup_acks"] is not None and self.packets <= DUPLICATES_UP_TO_PACKETS

    @property
    def settings(self) -> list[Setting]:
        """What it takes."""
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
        after_s=AFTER_S[rtt], changes=tuple(changes),
    )  # fmt: skip
    columns = {
        "before": "before_mbps", "first_100ms": "first_100ms_mbps", "trough": "trough_1s_mbps",
        "recovery": "recovery_s_to_95pct_of_before", "dup_acks": "dupacks_500ms",
    }  # fmt: skip
    values = {name: float(row[column]) if row[column] else None for name, column in columns.items()}
    return Cell(row["cell"], setting, float(row["t_switch_s"]), values)


def is_near(cell: Cell, name: str, ours: float | None) -> bool | None:
    """Whether a value of ours is near that of ns-2; None where they cannot be compared."""
    theirs = cell.move_s if name == "move" else cell.values[name]
    scenario, rtt = cell.setting.scenario, cell.setting.rtt_ms
    if ours is None or theirs is None:
        return None
    match name:
        case "move":
            return abs(ours - theirs) <= max(2.0, 0.03 * theirs)
        case "before":
            return abs(ours - theirs) <= 0.02 * theirs
        case "first_100ms":
            # In A at longer RTTs whole bursts fall in or out of the bin.
            return None if scenario == "A" and rtt >= 100 else abs(ours - theirs) <= 0.05 * theirs
        case "trough" if scenario == "D" and cell.setting.rate_mbps == 10_000:
            return COLLAPSES_GBPS[0] <= ours / 1e3 <= COLLAPSES_GBPS[1]
        case "trough" if scenario != "D" or theirs >= 0.95 * cell.setting.rate_mbps:
            return abs(ours - theirs) <= 0.15 * theirs
        case "recovery" if scenario != "D":
            return abs(ours - theirs) <= max(3.0, 0.3 * theirs)
        case "dup_acks" if scenario != "D":
            return abs(ours - theirs) <= max(10.0, 0.3 * theirs)
    return None
