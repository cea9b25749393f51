"""Published values as data: what a publication printed, with its place, its unit and a tolerance."""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from typing import Any


@dataclass(frozen=True)
class Published:
    """One entry of a file of published values: a claim, or a family of claims whose members the study's code names."""

    key: str
    figure: str
    what: str
    """What the number is of, as our tables say it; words in braces are filled in by the study's code."""
    where: str
    printed: str
    unit: str
    basis: str
    value: float | None = None
    values: dict[str, float] = field(default_factory=dict)
    """Numbers of the members of a family, by their suffixes."""
    tolerance: str = ""
    note: str = ""
    quick: bool = True
    """False if a reduced run cannot judge it."""


PublishedValues = dict[str, Published]
"""Entries by their keys."""


def load_published(path: Traversable) -> PublishedValues:
    """The entries of a file: TOML, where tables with ``figure`` are entries, or CSV with a column a field."""
    text = path.read_text(encoding="utf-8")
    entries = _of_csv(text, path.name) if path.name.endswith(".csv") else _of_toml("", tomllib.loads(text))
    found: PublishedValues = {}
    for entry in entries:
        if entry.key in found:
            raise ValueError(f"{path.name}: the key {entry.key!r} is used twice")
        found[entry.key] = entry
    return found


def load_explanations(path: Traversable) -> dict[str, str]:
    """Why claims miss, by claim id: what was found when a miss was looked into. None if there is no such file."""
    if not path.is_file():
        return {}
    return {str(key): str(text) for key, text in tomllib.loads(path.read_text(encoding="utf-8")).items()}


def _of_toml(prefix: str, table: dict[str, Any]) -> Iterable[Published]:
    if "figure" in table:
        yield Published(key=prefix, **table)
        return
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _of_toml(f"{prefix}.{name}" if prefix else name, value)


def _of_csv(text: str, name: str) -> Iterable[Published]:
    """Columns are the fields; ``values`` is left out. A row a claim, as tables of hundreds of numbers have it."""
    for line, row in enumerate(csv.DictReader(io.StringIO(text)), start=2):
        fields: dict[str, Any] = dict(row)
        try:
            fields["value"] = float(fields["value"]) if fields.get("value") else None
            fields["quick"] = {"": True, "true": True, "false": False}[fields.get("quick") or ""]
            yield Published(**fields)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{name}, line {line}: {error}") from None
