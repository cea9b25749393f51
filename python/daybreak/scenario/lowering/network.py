"""The network of a scenario with its names resolved: nodes, one-way links, marks and markers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daybreak.errors import ScenarioError, UnknownName
from daybreak.plan import types as plan

from ..network import Link, Node
from ..scenario import Scenario
from .names import look_up, unknown


@dataclass(frozen=True, slots=True)
class OneWay:
    """One direction of a link."""

    index: int
    name: str
    source: int
    target: int
    of: Link


@dataclass(frozen=True, slots=True)
class MarkingPlace:
    """A marker, and which packets it is for."""

    index: int
    node: int
    sources: frozenset[int] | None
    destinations: frozenset[int] | None

    def sees(self, source: int, destination: int) -> bool:
        """Whether packets between these hosts are marked if they pass."""
        is_from = self.sources is None or source in self.sources
        return is_from and (self.destinations is None or destination in self.destinations)


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """Nodes and links by index, and their indices by name."""

    nodes: Sequence[Node]
    links: Sequence[OneWay]
    node_index: Mapping[str, int]
    link_index: Mapping[str, int]
    hosts_at: Sequence[frozenset[int]]
    """The hosts to which each node has a link."""

    @classmethod
    def of(cls, scenario: Scenario) -> Network:
        """The network of a scenario without a ready topology: see `ready`. Raises ScenarioError."""
        if not scenario.nodes:
            raise ScenarioError("the scenario has no network: expected a topology, or nodes and links", "topology")
        nodes = scenario.nodes
        node_index = unique([node.name for node in nodes], "node")
        links = _one_way(scenario.links, node_index)
        hosts: list[set[int]] = [set() for _ in nodes]
        for link in links:
            if nodes[link.target].kind == "host":
                hosts[link.source].add(link.target)
        link_index = unique([link.name for link in links], "link")
        return cls(nodes, links, node_index, link_index, [frozenset(at) for at in hosts])

    def node(self, name: str, field: str) -> int:
        """The index of a node."""
        return _node(name, field, self.node_index)

    def host(self, name: str, field: str) -> int:
        """The index of a host."""
        index = self.node_index.get(name)
        if index is None:
            hosts = [node.name for node in self.nodes if node.kind == "host"]
            raise unknown(name, hosts, field, "host")
        if self.nodes[index].kind != "host":
            raise ScenarioError(f'{field} = "{name}": expected a host, {name} is a switch', field)
        return index

    def hosts(self, names: Sequence[str], field: str) -> frozenset[int] | None:
        """The hosts of these names, and those at switches of these names; None for no names."""
        if not names:
            return None
        hosts: set[int] = set()
        for k, name in enumerate(names):
            node = self.node(name, f"{field}[{k}]")
            group = {node} if self.nodes[node].kind == "host" else self.hosts_at[node]
            if not group:
                raise ScenarioError(f'{field}[{k}] = "{name}": expected a host, or a switch that has hosts', field)
            hosts |= group
        return frozenset(hosts)

    def link(self, name: str, field: str) -> OneWay:
        """A one-way link by its name."""
        index = self.link_index.get(name)
        if index is None:
            raise unknown(name, list(self.link_index), field, "link")
        return self.links[index]


def marking_places(scenario: Scenario, network: Network) -> list[MarkingPlace]:
    """The markers of a scenario, in its order. Raises ScenarioError."""
    marks = list(unique([mark.name for mark in scenario.marks], "mark"))
    unique([marker.name for marker in scenario.markers], "marker")
    places = []
    for i, marker in enumerate(scenario.markers):
        field = f"markers[{i}]"
        look_up(marker.mark, marks, f"{field}.mark", "mark")
        node = network.node(marker.at, f"{field}.at")
        sources = network.hosts(marker.from_, f"{field}.from")
        places.append(MarkingPlace(i, node, sources, network.hosts(marker.to, f"{field}.to")))
    return places


def plan_nodes(network: Network) -> list[plan.Node]:
    """The nodes as the plan has them."""
    return [plan.Node(name=node.name, kind=node.kind) for node in network.nodes]


def plan_links(network: Network) -> list[plan.Link]:
    """The links as the plan has them."""
    return [
        plan.Link(
            name=link.name, from_=link.source, to=link.target, rate_bps=int(link.of.rate),
            delay_ps=int(link.of.delay), framing_bytes=int(link.of.framing), loss_ppb=link.of.loss.ppb,
            jitter_ps=int(link.of.jitter), scheduler=link.of.scheduler,
        )
        for link in network.links
    ]  # fmt: skip


def plan_marks(scenario: Scenario) -> list[plan.Mark]:
    """The marks as the plan has them."""
    return [plan.Mark(name=mark.name, shown_as=mark.shown_as) for mark in scenario.marks]


def plan_markers(scenario: Scenario, places: Sequence[MarkingPlace]) -> list[plan.Marker]:
    """The markers as the plan has them."""
    marks = [mark.name for mark in scenario.marks]
    return [
        plan.Marker(name=marker.name, node=place.node, mark=marks.index(marker.mark), on=marker.on)
        for marker, place in zip(scenario.markers, places, strict=True)
    ]


def unique(names: Sequence[str], noun: str) -> dict[str, int]:
    """The index of each name. Raises UnknownName if two are equal."""
    index = {name: i for i, name in enumerate(names)}
    if len(index) < len(names):
        twice = next(name for i, name in enumerate(names) if index[name] != i)
        raise UnknownName(f'{noun} "{twice}" exists twice: expected unique names', noun)
    return index


def _one_way(links: Sequence[Link], nodes: Mapping[str, int]) -> list[OneWay]:
    one_way: list[OneWay] = []
    for link in links:
        name = link.name or link.forward_name
        source, target = (
            _node(node, f'link "{name}": {end}', nodes) for node, end in ((link.from_, "from"), (link.to, "to"))
        )
        one_way.append(OneWay(len(one_way), link.forward_name, source, target, link))
        if link.duplex:
            one_way.append(OneWay(len(one_way), link.back_name, target, source, link))
    return one_way


def _node(name: str, field: str, nodes: Mapping[str, int]) -> int:
    index = nodes.get(name)
    if index is None:
        raise unknown(name, list(nodes), field, "node")
    return index
