"""The results of `reproduce --sensitivity`: what depends on each inference.

They are committed in the study's folder: ``sensitivity.csv`` has one row per inference, value and claim whose verdict
with that value differs from the one with the study's own value, ``sensitivity-counts.csv`` has how many numbers and
statements hold with each value, from which the figure is drawn.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from importlib.resources.abc import Traversable
from pathlib import Path

from matplotlib.figure import Figure

from daybreak.figures.sensitivity import Row, sensitivity
from daybreak.studies.inferences import Inference

FILE = "sensitivity.csv"
COUNTS = "sensitivity-counts.csv"
FIGURE = "sensitivity"
"""Name of the figure's files."""
AS_IT_IS = "as it is"


@dataclass(frozen=True)
class Change:
    """A verdict that changes with the value of an inference. ``claim`` is empty if no verdict changes."""

    inference: str
    value: str
    claim: str = ""
    verdict: str = ""
    """Verdict with the study's own value."""
    other: str = ""
    """Verdict with this value."""
    ours: str = ""
    """Measured number with the study's own value."""
    ours_other: str = ""
    """Measured number with this value."""


@dataclass(frozen=True)
class Count:
    """How many printed numbers and statements hold with a value of an inference, of those judged. Without an inference:
    for the unchanged study."""

    inference: str
    value: str
    numbers: int
    numbers_judged: int
    statements: int
    statements_judged: int


def load(folder: Traversable) -> dict[str, list[Change]]:
    """The changes by inference, without inferences that were not varied."""
    found: dict[str, list[Change]] = {}
    for row in _rows(folder.joinpath(FILE)):
        found.setdefault(row["inference"], []).append(Change(**row))
    return found


def load_counts(folder: Traversable) -> list[Count]:
    """The counts, starting with the unchanged study; empty without the file."""
    return [
        Count(row.pop("inference"), row.pop("value"), **{name: int(number) for name, number in row.items()})
        for row in _rows(folder.joinpath(COUNTS))
    ]


def save(changes: Sequence[Change], path: Path) -> None:
    """Writes ``sensitivity.csv``."""
    _write(path, [one.name for one in fields(Change)], map(astuple, changes))


def save_counts(counts: Sequence[Count], path: Path) -> None:
    """Writes ``sensitivity-counts.csv``."""
    _write(path, [one.name for one in fields(Count)], map(astuple, counts))


def draw(counts: Sequence[Count], inferences: Sequence[Inference]) -> Figure:
    """Draws how many hold with each value, with readable labels."""
    known = {one.name: one for one in inferences}
    return sensitivity(
        [
            Row(
                known[one.inference].point(one.value) if one.inference else AS_IT_IS,
                one.numbers, one.numbers_judged, one.statements, one.statements_judged,
            )
            for one in counts
        ]
    )  # fmt: skip


MOST_NAMED = 12
"""If more verdicts than this change with a value, the page has only their number."""


def text(inference: Inference, changes: Sequence[Change] | None) -> str:
    """Describes what changes, value by value."""
    if changes is None:
        return "not run" if inference.field else ""
    by_value: Mapping[str, list[str]] = {value: [] for value in dict.fromkeys(change.value for change in changes)}
    for change in changes:
        if change.claim:
            by_value[change.value].append(f"`{change.claim}`")
    return "; ".join(f"{inference.label(value)}: {_named(claims)}" for value, claims in by_value.items())


def _named(claims: Sequence[str]) -> str:
    if len(claims) > MOST_NAMED:
        return f"{len(claims)} rows"
    return ", ".join(claims) or "none"


def _rows(path: Traversable) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines())) if path.is_file() else []


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
