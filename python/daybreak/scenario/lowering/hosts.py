"""Groups of hosts: the hosts that a pattern such as "senders[0:8]" selects, and the pairs of two groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from daybreak.errors import ScenarioError

from ..network import Link, Node
from ..traffic import Flow
from .patterns import Member, is_pattern, numbered, select


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
        if name in self._hosts or not is_pattern(name):
            return None
        return select(name, self._groups, field, "host", '"senders[*]" or "senders[0:8]"')

    def among(self, names: Sequence[str], field: str) -> tuple[str, ...]:
        """The names, with each pattern replaced by its hosts. Raises ScenarioError."""
        return tuple(host for name in names for host in self.of(name, field) or (name,))

    @cached_property
    def _groups(self) -> dict[tuple[str, int], list[Member]]:
        """The members of each group, by its name and number of indices."""
        groups = numbered(node.name for node in self._nodes if node.kind == "host")
        at: dict[str, dict[str, None]] = {node.name: {} for node in self._nodes if node.kind == "switch"}
        for link in self._links:
            for host, switch in ((link.from_, link.to), (link.to, link.from_)):
                if host in self._hosts and switch in at:
                    at[switch][host] = None
        order = {node.name: i for i, node in enumerate(self._nodes)}
        for switch, hosts in at.items():
            if hosts:
                in_order = sorted(hosts, key=order.__getitem__)
                groups[switch, 1] = [Member((place,), host) for place, host in enumerate(in_order)]
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
