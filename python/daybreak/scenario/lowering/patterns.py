"""Patterns such as "senders[0:8]": they select members of a group, which are numbered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from daybreak.errors import ScenarioError

from .names import unknown

_BRACKETS = re.compile(r"\S*[\[\]]")
"""Matches anything meant as a pattern, valid or not."""
_PATTERN = re.compile(r"(?P<group>[^\[\]]+)(?P<indices>(\[[^\[\]]*\])+)")
_INDEX = re.compile(r"\*|(?P<one>\d{1,9})|(?P<first>\d{0,9}):(?P<end>\d{0,9})", re.ASCII)
_NUMBERED = re.compile(r"(?P<stem>.*?[^-\d].*?|)(?P<numbers>(-\d{1,9})+)", re.ASCII)


class Member(NamedTuple):
    """A member of a group, and its indices there."""

    numbers: tuple[int, ...]
    name: str


Groups = Mapping[tuple[str, int], Sequence[Member]]
"""The members of each group, by its name and number of indices."""


class _Index(NamedTuple):
    """The numbers from `first` up to, but not including, `end`; without an end all from `first` on."""

    first: int
    end: int | None

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and self.first <= number and (self.end is None or number < self.end)


def is_pattern(name: str) -> bool:
    """Whether a name is meant as a pattern, valid or not."""
    return _BRACKETS.match(name) is not None


def numbered(names: Iterable[str]) -> dict[tuple[str, int], list[Member]]:
    """The groups of names that end in numbers, one for each prefix and count of numbers: host-0-0, host-0-1 ... are
    "hosts[*][*]"."""
    groups: dict[tuple[str, int], list[Member]] = {}
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is not None and match["stem"]:
            numbers = tuple(int(number) for number in match["numbers"][1:].split("-"))
            groups.setdefault((f"{match['stem']}s", len(numbers)), []).append(Member(numbers, name))
    return groups


def select(name: str, groups: Groups, field: str, noun: str, example: str) -> tuple[str, ...]:
    """The members that a pattern selects, in the order of their group. Raises ScenarioError about `field`."""
    match = _PATTERN.fullmatch(name)
    if match is None:
        raise ScenarioError(f'{field} = "{name}": expected a {noun}, or a group of {noun}s such as {example}', field)
    indices = tuple(_index(text, name, field) for text in match["indices"][1:-1].split("]["))
    members = groups.get((match["group"], len(indices)))
    if members is None:
        listed = [f"{group}{'[*]' * count}" for group, count in groups]
        raise unknown(name, listed, field, f"group of {noun}s")
    chosen = tuple(
        member.name
        for member in members
        if all(number in index for number, index in zip(member.numbers, indices, strict=True))
    )
    for place, index in enumerate(indices):
        last = max(members, key=lambda member: member.numbers[place])
        # It would select fewer than it says.
        if index.end is not None and index.end > last.numbers[place] + 1:
            raise ScenarioError(
                f'{field} = "{name}": the last {noun} of this group is "{last.name}": expected no number beyond it',
                field,
            )
    if not chosen:
        raise ScenarioError(f'{field} = "{name}": no {noun} is in it: expected at least one', field)
    return chosen


def _index(text: str, name: str, field: str) -> _Index:
    match = _INDEX.fullmatch(text)
    if match is None:
        raise ScenarioError(
            f'{field} = "{name}": expected an index such as "[*]", "[3]" or "[0:8]" in it, not "[{text}]"', field
        )
    if match["one"]:
        return _Index(int(match["one"]), int(match["one"]) + 1)
    return _Index(int(match["first"] or 0), int(match["end"]) if match["end"] else None)
