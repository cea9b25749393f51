"""What hangs on an inference: the verdicts that change when it is varied, as `reproduce --sensitivity` has found them.

The results of a study are committed as ``sensitivity.csv`` in its folder: a row for each inference, value and claim
whose verdict with that value is another one than with the study's own.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.resources.abc import Traversable
from pathlib import Path

from daybreak.studies.inferences import Inference

FILE = "sensitivity.csv"
FIGURE = "sensitivity.png"
"""Beside it in the study's folder: how many numbers and statements hold with each value."""


@dataclass(frozen=True)
class Change:
    """A verdict that is another one with another value of an inference. ``claim`` is empty where none changes."""

    inference: str
    value: str
    claim: str = ""
    verdict: str = ""
    """With the study's own value."""
    other: str = ""
    """With this one."""
    ours: str = ""
    """What was measured with the study's own value."""
    ours_other: str = ""
    """What was measured with this one."""


def load(folder: Traversable) -> dict[str, list[Change]]:
    """The changes by inference; an inference that was not varied is not there."""
    path = folder.joinpath(FILE)
    if not path.is_file():
        return {}
    found: dict[str, list[Change]] = {}
    for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines()):
        found.setdefault(row["inference"], []).append(Change(**row))
    return found


def save(changes: Sequence[Change], path: Path) -> None:
    """Writes the file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow([one.name for one in fields(Change)])
        rows.writerows([getattr(change, one.name) for one in fields(Change)] for change in changes)


MOST_NAMED = 12
"""Of more verdicts that change with a value the page has the number."""


def text(inference: Inference, changes: Sequence[Change] | None) -> str:
    """What changes, value by value."""
    if changes is None:
        return "not run" if inference.field else ""
    by_value: Mapping[str, list[str]] = {value: [] for value in dict.fromkeys(change.value for change in changes)}
    for change in changes:
        if change.claim:
            by_value[change.value].append(f"`{change.claim}`")
    return "; ".join(f"{value}: {_named(claims)}" for value, claims in by_value.items())


def _named(claims: Sequence[str]) -> str:
    if len(claims) > MOST_NAMED:
        return f"{len(claims)} rows"
    return ", ".join(claims) or "none"
