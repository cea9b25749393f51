"""Published values as data: what a publication printed, with its place, its unit and a tolerance."""

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
"""What a claim is about: a number that is printed, a statement that is printed (a direction, an order, a bound), what
was built, or a comparison of our own, which no publication makes."""

_AS = re.compile(r"as (?P<id>[\w-]+(?:\.[\w-]+)+)(?:[;,] (?P<more>.*))?")


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
    kind: Kind
    value: float | None = None
    values: dict[str, float] = field(default_factory=dict)
    """Numbers of the members of a family, by their suffixes."""
    tolerance: str = ""
    note: str = ""
    quick: bool = True
    """False if a reduced run cannot judge it."""
    counts_as: str = ""
    """The number or statement that it tells, where several entries tell one: they count once (`tally`)."""
    own: str = ""
    """Suffixes of the rows that are comparisons of our own, as a pattern: "linux*" where the publication had another
    TCP."""
    source: str = ""
    """Which of a study's sources has it, where there are several: "that the talk prints". Numbers are counted by it."""
    not_comparable: str = ""
    """Why nothing here is compared with it; without a reason an entry that is left out counts as missed."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"{self.key}: kind: {self.kind!r} is not one of {', '.join(get_args(Kind))}")

    def kind_of(self, suffix: str = "") -> Kind:
        """The kind of a row of the entry."""
        return "own" if self.own and fnmatchcase(suffix, self.own) else self.kind

    def statement(self, suffix: str = "") -> str:
        """What a row of the entry counts as: its own number, or what all rows of the entry tell."""
        name = self.counts_as or self.key
        return f"{name}.{suffix}" if suffix in self.values else name


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
    """Why claims miss, by claim id: what was found when a miss was looked into. None if there is no such file.

    A text may be "as ID", with what is to be added behind a semicolon or a comma; it has the text of that id then.
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
