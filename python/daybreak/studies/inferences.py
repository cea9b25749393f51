"""Inferences as data: each number or choice that a study needs and its publication does not give.

A study's ``inferences.toml`` has one table per inference, by a short name: its meaning, value and source and, if the
study's scale has a field for it, the values over which `reproduce --sensitivity` varies it. An inference that was
chosen after results were seen names the results, and claims that it was fitted to are not counted.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.resources.abc import Traversable
from typing import Any, Literal, get_args

Source = Literal["text", "other", "after"]
"""Source of a value: the publication's text or numbers ("text"), another source ("other"), or chosen after results were
seen ("after")."""
SOURCES = {
    "text": "follows from the text",
    "other": "another source",
    "after": "chosen after results were seen",
}


@dataclass(frozen=True)
class Inference:
    """One entry of ``inferences.toml``."""

    name: str
    what: str
    """What the number or choice is."""
    value: str
    """The value, with its unit."""
    source: Source
    why: str
    """The argument for the value; with source "after", the results that were seen."""
    field: str = ""
    """The field of the study's scale that holds it; empty if it is not varied."""
    values: tuple[str, ...] = ()
    """What the field is varied over. A value may be followed by that of a field that goes with it: "1, gap_ms=1500"."""
    short: str = ""
    """Two or three words for figures; not needed if it is not varied."""
    labels: tuple[str, ...] = ()
    """Labels of the values, with units; the values themselves if empty."""
    fixed: str = ""
    """Why nothing varies it; empty if something does."""
    of_hosts: bool = False
    """Whether it says what the hosts are, which the kernel engine has in its own way."""
    fitted: tuple[str, ...] = ()
    """Ids of the claims that the value was fitted to; ``*`` stands for any text."""

    def __post_init__(self) -> None:
        if self.source not in get_args(Source):
            raise ValueError(f"{self.name}.source: {self.source!r} is not one of {', '.join(get_args(Source))}")
        if bool(self.field) != bool(self.values):
            raise ValueError(f"{self.name}: field and values belong together")
        if self.labels and len(self.labels) != len(self.values):
            raise ValueError(f"{self.name}: labels: expected one for each of the values")
        if bool(self.field) == bool(self.fixed):
            raise ValueError(f"{self.name}: expected either field and values, or why it is fixed")
        if self.fitted and self.source != "after":
            raise ValueError(f'{self.name}: what claims were fitted to has the source "after"')

    def label(self, value: str) -> str:
        """The label of a value."""
        return dict(zip(self.values, self.labels, strict=False)).get(value, value)

    def changes(self, value: str) -> dict[str, str]:
        """The fields of the scale that a value sets."""
        own, *others = (part.strip() for part in value.split(","))
        found = {self.field: own}
        for other in others:
            name, _, text = other.partition("=")
            found[name] = text
        return found

    def point(self, value: str) -> str:
        """The inference with a value, for figures."""
        return f"{self.short or self.name}: {self.label(value)}"


def load_inferences(path: Traversable) -> tuple[Inference, ...]:
    """The inferences of a study, in the order of the file; empty without a file. Raises ValueError."""
    if not path.is_file():
        return ()
    found = []
    for name, table in tomllib.loads(path.read_text(encoding="utf-8")).items():
        try:
            lists: dict[str, Any] = {key: tuple(table.pop(key, ())) for key in ("values", "labels", "fitted")}
            found.append(Inference(name=name, **lists, **table))
        except (AttributeError, TypeError) as error:
            raise ValueError(f"{path.name}: {name}: {error}") from None
    return tuple(found)


def fitted_to(inferences: Sequence[Inference], claim: str) -> str:
    """The name of the inference that was fitted to a claim, by its id; empty if none was."""
    for one in inferences:
        if any(fnmatchcase(claim, pattern) for pattern in one.fitted):
            return one.name
    return ""
