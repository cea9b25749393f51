"""Groups of hosts: the hosts that a pattern such as "senders[0:8]" selects, and the pairs of two groups."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from daybreak.errors import ScenarioError

from ..network import Link, Node
from ..traffic import Flow
from .names import unknown

_BRACKETS = re.compile(r"\S*[\[\]]")
"""Matches anything meant as a pattern, valid or not."""
_PATTERN = re.compile(r"(?P<group>[^\[\]]+)(?P<indices>(\[[^\[\]]*\])+)")
_INDEX = re.compile(r"\*|(?P<one>\d{1,9})|(?P<first>\d{0,9}):(?P<end>\d{0,9})", re.ASCII)
_NUMBERED = re.compile(r"(?P<stem>.*?[^-\d].*?|)(?P<numbers>(-\d{1,9})+)", re.ASCII)


class _Index(NamedTuple):
    """The numbers from `first` up to, but not including, `end`; without an end all from `first` on."""

    first: int
    end: int | None

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and self.first <= number and (self.end is None or number < self.end)


class _Member(NamedTuple):
    """A host of a group, and its indices in the group."""

    numbers: tuple[int, ...]
    host: str


class HostGroups:
    """The groups of a network's hosts, in the network's order.

    Hosts whose names end in numbers form one group for each prefix and count of numbers: host-0-0, host-0-1 ... are
    "hosts[*][*]". The hosts linked to a switch form a group with its name, indexed by their position.
    """

    def __init__(self, nodes: Sequence[Node], links: Sequence[Link]):
        self._nodes = nodes
        self._links = links
        self._hosts = {node.name for node in nodes if node.kind == "host"}

    def of(self, name: str, field: str) -> tuple[str, ...] | None:
        """The hosts of a pattern; None if `name` is not a pattern but a host's name. Raises ScenarioError about
        `field`."""
        if name in self._hosts or not _BRACKETS.match(name):
            return None
        match = _PATTERN.fullmatch(name)
        if match is None:
            raise ScenarioError(
                f'{field} = "{name}": expected a host, or a group of hosts such as "senders[*]" or "senders[0:8]"',
                field,
            )
        indices = tuple(_index(text, name, field) for text in match["indices"][1:-1].split("]["))
        members = self._groups.get((match["group"], len(indices)))
        if members is None:
            listed = [f"{group}{'[*]' * count}" for group, count in self._groups]
            raise unknown(name, listed, field, "group of hosts")
        chosen = tuple(
            member.host
            for member in members
            if all(number in index for number, index in zip(member.numbers, indices, strict=True))
        )
        self._refuse_missing(name, indices, members, chosen, field)
        return chosen

    def among(self, names: Sequence[str], field: str) -> tuple[str, ...]:
        """The names, with each pattern replaced by its hosts. Raises ScenarioError."""
        return tuple(host for name in names for host in self.of(name, field) or (name,))

    def _refuse_missing(
        self, name: str, indices: Sequence[_Index], members: Sequence[_Member], chosen: Sequence[str], field: str
    ) -> None:
        """Raises ScenarioError for an index beyond the last host, which would select fewer hosts than it says."""
        for place, index in enumerate(indices):
            last = max(members, key=lambda member: member.numbers[place])
            if index.end is not None and index.end > last.numbers[place] + 1:
                raise ScenarioError(
                    f'{field} = "{name}": the last host of this group is "{last.host}": expected no number beyond it',
                    field,
                )
        if not chosen:
            raise ScenarioError(f'{field} = "{name}": no host is in it: expected at least one', field)

    @cached_property
    def _groups(self) -> dict[tuple[str, int], list[_Member]]:
        """The members of each group, by its name and number of indices."""
        groups: dict[tuple[str, int], list[_Member]] = {}
        for node in self._nodes:
            match = _NUMBERED.fullmatch(node.name)
            if node.kind == "host" and match is not None and match["stem"]:
                numbers = tuple(int(number) for number in match["numbers"][1:].split("-"))
                groups.setdefault((f"{match['stem']}s", len(numbers)), []).append(_Member(numbers, node.name))
        at: dict[str, dict[str, None]] = {node.name: {} for node in self._nodes if node.kind == "switch"}
        for link in self._links:
            for host, switch in ((link.from_, link.to), (link.to, link.from_)):
                if host in self._hosts and switch in at:
                    at[switch][host] = None
        order = {node.name: i for i, node in enumerate(self._nodes)}
        for switch, hosts in at.items():
            if hosts:
                in_order = sorted(hosts, key=order.__getitem__)
                groups[switch, 1] = [_Member((place,), host) for place, host in enumerate(in_order)]
        return groups


@dataclass(frozen=True, slots=True)
class Ends:
    """The hosts between which an entry of `flows` has flows. Names of single hosts are not looked up."""

    sources: tuple[str, ...]
    destinations: tuple[str, ...]
    of_groups: tuple[bool, bool]
    """Whether the sources and the destinations are groups."""
    is_one_to_one: bool

    def __len__(self) -> int:
        """The number of pairs, without making them."""
        if not any(self.of_groups) or self.is_one_to_one:
            return len(self.sources)
        both = set(self.sources) & set(self.destinations)
        return len(self.sources) * len(self.destinations) - len(both)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Each source with each destination except itself, or with the one at the same position."""
        if self.is_one_to_one or not any(self.of_groups):
            yield from zip(self.sources, self.destinations, strict=True)
            return
        for source in self.sources:
            yield from ((source, destination) for destination in self.destinations if destination != source)

    def name(self, entry: str, source: str, destination: str) -> str:
        """The name of the flows of a pair: the entry's, followed by the hosts that come from groups."""
        match self.of_groups:
            case (False, False):
                return entry
            case (True, False):
                return f"{entry}/{source}"
            case (False, True):
                return f"{entry}/{destination}"
            case _:
                return f"{entry}/{source}->{destination}"


def ends_of(flow: Flow, groups: HostGroups, field: str) -> Ends:
    """The ends of the flows of an entry. Raises ScenarioError."""
    senders, receivers = groups.of(flow.from_, f"{field}.from"), groups.of(flow.to, f"{field}.to")
    is_one_to_one = flow.pairing == "one_to_one"
    ends = Ends(
        senders or (flow.from_,), receivers or (flow.to,), (senders is not None, receivers is not None), is_one_to_one
    )
    if is_one_to_one:
        _refuse_unequal(flow, ends, f"{field}.pairing")
    elif not len(ends):
        raise ScenarioError(
            f'{field}.to = "{flow.to}": expected another host than the sender, "{flow.from_}"', f"{field}.to"
        )
    return ends


def _refuse_unequal(flow: Flow, ends: Ends, field: str) -> None:
    if len(ends.sources) != len(ends.destinations):
        raise ScenarioError(
            f'{field} = "one_to_one": from "{flow.from_}" has {len(ends.sources)} and to "{flow.to}" has '
            f"{len(ends.destinations)} hosts: expected as many",
            field,
        )
    for source, destination in ends:
        if source == destination:
            raise ScenarioError(
                f'{field} = "one_to_one": has a flow from "{source}" to itself: expected two different hosts', field
            )


def _index(text: str, name: str, field: str) -> _Index:
    match = _INDEX.fullmatch(text)
    if match is None:
        raise ScenarioError(
            f'{field} = "{name}": expected an index such as "[*]", "[3]" or "[0:8]" in it, not "[{text}]"', field
        )
    if match["one"]:
        return _Index(int(match["one"]), int(match["one"]) + 1)
    return _Index(int(match["first"] or 0), int(match["end"]) if match["end"] else None)
