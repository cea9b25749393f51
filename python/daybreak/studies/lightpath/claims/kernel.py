"""The model beside real Linux 6.1, from `kernel.csv`."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from importlib.resources import files

from daybreak.studies.lightpath.measured import Evidence
from daybreak.studies.lightpath.settings import Scale
from daybreak.studies.scoreboard import Scoreboard

EXACT = ("fast_recoveries", "spurious", "rtos")
"""Counts that have to be equal."""
WITHIN = {"segments": 3, "retransmits": 3, "lost": 3}
"""Counts, and by how many packets they may differ."""
RATES = ("before_mbps", "peak_100ms_mbps", "worst_second_mbps")
PART = 0.01
"""By which part a rate may differ."""


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """A row a cell: which of the values agree. Duplicate ACKs are shown."""
    for cell, (model, kernel) in cells().items():
        off = differences(model, kernel)
        named = ", ".join(f"{name} {model[name]:g} beside {kernel[name]:g}" for name in off)
        shown = f"duplicate ACKs {model['dup_acks']:g} beside {kernel['dup_acks']:g}, not compared"
        count = len(EXACT) + len(WITHIN) + len(RATES)
        board.shape(
            "kernel", not off, float(count - len(off)), suffix=cell, cell=cell,
            note=f"{f'{named}; ' if off else ''}{shown}",
        )  # fmt: skip


def differences(model: Mapping[str, float], kernel: Mapping[str, float]) -> list[str]:
    """The values that do not agree."""
    return [
        *(name for name in EXACT if model[name] != kernel[name]),
        *(name for name, most in WITHIN.items() if abs(model[name] - kernel[name]) > most),
        *(name for name in RATES if abs(model[name] - kernel[name]) > PART * kernel[name]),
    ]


def cells() -> dict[str, tuple[Mapping[str, float], Mapping[str, float]]]:
    """The model and the kernel, by cell."""
    text = files("daybreak.studies.lightpath").joinpath("kernel.csv").read_text(encoding="utf-8")
    found: dict[str, dict[str, Mapping[str, float]]] = {}
    for row in csv.DictReader(line for line in text.splitlines() if not line.startswith("#")):
        cell, engine = row.pop("cell"), row.pop("engine")
        found.setdefault(cell, {})[engine] = {name: float(value) for name, value in row.items()}
    return {cell: (by_engine["simulated"], by_engine["kernel"]) for cell, by_engine in found.items()}
