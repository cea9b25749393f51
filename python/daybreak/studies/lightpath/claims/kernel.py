"""The model beside real Linux 6.1.192, from `kernel.csv`."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from importlib.resources import files

import polars as pl

from daybreak.studies.lightpath.measured import Evidence
from daybreak.studies.lightpath.settings import Scale
from daybreak.studies.scoreboard import Scoreboard


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Adds one claim per cell: how many of the values are equal."""
    for cell, (model, kernel) in cells().items():
        off = differences(model, kernel)
        note = ", ".join(f"{name} {model[name]:g} beside {kernel[name]:g}" for name in off)
        board.shape("kernel", not off, float(len(model) - len(off)), suffix=cell, cell=cell, note=note)


def table(evidence: Evidence, scale: Scale) -> Mapping[str, pl.DataFrame]:
    """Both sides of every cell."""
    return {"kernel": pl.read_csv(_text().encode(), comment_prefix="#")}


def differences(model: Mapping[str, float], kernel: Mapping[str, float]) -> list[str]:
    """The values that differ."""
    return [name for name in model if model[name] != kernel[name]]


def cells() -> dict[str, tuple[Mapping[str, float], Mapping[str, float]]]:
    """The model and the kernel, by cell."""
    found: dict[str, dict[str, Mapping[str, float]]] = {}
    for row in csv.DictReader(line for line in _text().splitlines() if not line.startswith("#")):
        cell, engine = row.pop("cell"), row.pop("engine")
        found.setdefault(cell, {})[engine] = {name: float(value) for name, value in row.items()}
    return {cell: (by_engine["simulated"], by_engine["kernel"]) for cell, by_engine in found.items()}


def _text() -> str:
    return files("daybreak.studies.lightpath").joinpath("kernel.csv").read_text(encoding="utf-8")
