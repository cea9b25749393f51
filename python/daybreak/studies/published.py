"""Published values as data, each with its place in the publication, unit and tolerance."""

from __future__ import annotations

import csv
import io
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib.resources.abc import Traversable
from typing import Any, Literal, get_args

Kind = Literal["number", "statement", "set-up", "own"]
"""Kind of a claim: a printed number, a printed statement (a direction, an order, a bound), the set-up, or a comparison
of our own that no publication makes."""

_AS = re.compile(r"as (?P<id>[\w-]+(?:\.[\w-]+)+)(?:[;,] (?P<more>.*))?")


@dataclass(frozen=True)
class PublishedEntry:
    """One entry of a file of published values: a claim, or a family of claims whose members the study's code names."""

    key: str
    figure: str
    what: str
    """Description for our tables; words in braces are filled in by the study's code."""
    where: str
    printed: str
    unit: str
    kind: Kind
    value: float | None = None
    values: dict[str, float] = field(default_factory=dict)
    """Numbers of the members of a family, by their suffixes."""
    tolerance: str = ""
    note: str = ""
    quick: bool = True
    """Whether a reduced run can judge it."""
    counts_as: str = ""
    """The number or statement that it shares with other entries: they count once (`tally`)."""
    own: str = ""
    """Pattern for suffixes of rows that are comparisons of our own, such as "linux*" if the publication had another
    TCP."""
    source: str = ""
    """Which of a study's sources has it, where there are several: "that the talk prints". Numbers are counted by it."""
    not_comparable: str = ""
    """Why nothing is compared with it; an entry that is left out without a reason counts as missed."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"{self.key}: kind: {self.kind!r} is not one of {', '.join(get_args(Kind))}")

    def kind_of(self, suffix: str = "") -> Kind:
        """The kind of a row of the entry."""
        return "own" if self.own and fnmatchcase(suffix, self.own) else self.kind

    def statement(self, suffix: str = "") -> str:
        """What a row of the entry counts as: its own number, or the statement that all rows of the entry share."""
        name = self.counts_as or self.key
        return f"{name}.{suffix}" if suffix in self.values else name


PublishedValues = dict[str, PublishedEntry]
"""Entries by key."""


def load_published(path: Traversable) -> PublishedValues:
    """The entries of a file: TOML, in which tables with ``figure`` are entries, or CSV with one column per field."""
    text = path.read_text(encoding="utf-8")
    entries = _of_csv(text, path.name) if path.name.endswith(".csv") else _of_toml("", tomllib.loads(text))
    found: PublishedValues = {}
    for entry in entries:
        if entry.key in found:
            raise ValueError(f"{path.name}: the key {entry.key!r} is used twice")
        found[entry.key] = entry
    return found


def load_explanations(path: Traversable) -> dict[str, str]:
    """Explanations of misses, by claim id, from their investigation. Empty if there is no such file.

    A text may be "as ID", optionally with additions after a semicolon or a comma; it then has the text of that id.
    """
    if not path.is_file():
        return {}
    texts = {str(key): str(text) for key, text in tomllib.loads(path.read_text(encoding="utf-8")).items()}
    return {key: _resolved(text, texts, path.name) for key, text in texts.items()}


def _resolved(text: str, texts: dict[str, str], name: str) -> str:
    found = _AS.fullmatch(text)
    if not found:
        return text
    if found["id"] not in texts:
        raise ValueError(f"{name}: {text!r} refers to an id that is not there")
    same = _resolved(texts[found["id"]], texts, name)
    return f"{same}; {found['more']}" if found["more"] else same


def _of_toml(prefix: str, table: dict[str, Any]) -> Iterable[PublishedEntry]:
    if "figure" in table:
        yield PublishedEntry(key=prefix, **table)
        return
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _of_toml(f"{prefix}.{name}" if prefix else name, value)


def _of_csv(text: str, name: str) -> Iterable[PublishedEntry]:
    """Columns are the fields without ``values``; one row per claim, for tables of hundreds of numbers."""
    for line, row in enumerate(csv.DictReader(io.StringIO(text)), start=2):
        fields: dict[str, Any] = dict(row)
        try:
            fields["value"] = float(fields["value"]) if fields.get("value") else None
            fields["quick"] = {"": True, "true": True, "false": False}[fields.get("quick") or ""]
            yield PublishedEntry(**fields)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{name}, line {line}: {error}") from None
