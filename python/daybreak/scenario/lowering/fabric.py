"""The network of a scenario with names resolved: nodes, one-way links, and queues."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from daybreak.errors import ScenarioError, UnknownName
from daybreak.plan import types as plan

from ..choice import Discipline
from ..network import Link, Node, Queue
from ..quantities import QueueLimit
from ..scenario import Scenario
from .choices import entry_of, parameter_value, resolve
from .names import look_up, unknown

_DROP_TAIL = plan.Choice(name="drop_tail", parameters={})


@dataclass(frozen=True, slots=True)
class OneWay:
    """One direction of a link."""

    index: int
    name: str
    source: int
    target: int
    of: Link


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queue, and the packets that wait in it."""

    index: int
    name: str
    node: int
    discipline: plan.Choice
    limit: QueueLimit | None
    served_by: tuple[int, ...]
    priority: int = 0
    returned_limit: int | None = None
    returns_overflow: bool = False
    to: frozenset[int] | None = None
    """Destinations of its packets; None for all hosts."""
    arriving_by: frozenset[int] | None = None
    """Links over which its packets arrive; None for all."""

    def takes(self, destination: int, came_by: int | None) -> bool:
        """Whether a packet to this host that arrived over this link waits here."""
        is_expected = self.arriving_by is None or came_by in self.arriving_by
        return is_expected and (self.to is None or destination in self.to)


@dataclass(frozen=True, slots=True)
class MarkingPlace:
    """A marker, and the packets that it applies to."""

    index: int
    node: int
    sources: frozenset[int] | None
    destinations: frozenset[int] | None

    def sees(self, source: int, destination: int) -> bool:
        """Whether packets between these hosts are marked when they pass."""
        is_from = self.sources is None or source in self.sources
        return is_from and (self.destinations is None or destination in self.destinations)


class Fabric:
    """The fabric: everything that packets cross."""

    def __init__(self, nodes: list[Node], links: list[Link], scenario: Scenario):
        self.nodes = nodes
        self._node_index = _unique([node.name for node in nodes], "node")
        self.links = self._one_way(links)
        self._link_index = _unique([link.name for link in self.links], "link")
        self._hosts_at = self._neighbours()
        self.queues: list[Waiting] = []
        self._queues_of_link: list[list[int]] = [[] for _ in self.links]
        """The queues that each link serves besides its own, in the order of the scenario."""
        self._own_queue: list[int | None] = [None] * len(self.links)
        self._name_queues(scenario.queues)
        for link in self.links:
            if not self._queues_of_link[link.index]:
                self.own_queue(link)
        self._queue_index = _unique([queue.name for queue in self.queues], "queue")
        self._marks = _unique([mark.name for mark in scenario.marks], "mark")
        self.marks = [plan.Mark(name=mark.name, shown_as=mark.shown_as) for mark in scenario.marks]
        self._marker_index = _unique([marker.name for marker in scenario.markers], "marker")
        self.markers: list[plan.Marker] = []
        self.marking: list[MarkingPlace] = []
        self._place_markers(scenario)
        self._gated: dict[int, str] = {}

    @classmethod
    def of(cls, scenario: Scenario) -> Fabric:
        """The fabric of a scenario without a ready topology: see `ready`."""
        if not scenario.nodes:
            raise ScenarioError("the scenario has no network: expected a topology, or nodes and links", "topology")
        return cls(list(scenario.nodes), list(scenario.links), scenario)

    def host(self, name: str, field: str) -> int:
        """The index of a host."""
        index = self._node_index.get(name)
        if index is None:
            hosts = [node.name for node in self.nodes if node.kind == "host"]
            raise unknown(name, hosts, field, "host")
        if self.nodes[index].kind != "host":
            raise ScenarioError(f'{field} = "{name}": expected a host, {name} is a switch', field)
        return index

    def link(self, name: str, field: str) -> OneWay:
        """A one-way link by its name."""
        index = self._link_index.get(name)
        if index is None:
            raise unknown(name, list(self._link_index), field, "link")
        return self.links[index]

    def queue(self, name: str, field: str) -> int:
        """The index of a queue by its own name or the name of a link that serves only this one."""
        if name in self._queue_index:
            return self._queue_index[name]
        if name in self._link_index:
            served = self.served_by(self._link_index[name])
            if len(served) == 1:
                return served[0]
            names = ", ".join(self.queues[index].name for index in served)
            raise ScenarioError(f'{field} = "{name}": expected one of the queues of that link, {names}', field)
        raise unknown(name, list(self._queue_index), field, "queue")

    def marker(self, name: str, field: str) -> int:
        """The index of a marker."""
        return look_up(name, list(self._marker_index), field, "marker")

    def parameter(self, queue: int, name: str, value: bool | int | float | str, field: str) -> plan.Value:
        """The value of a parameter of a queue's discipline."""
        entry = entry_of(Discipline(self.queues[queue].discipline.name), field)
        return parameter_value(entry, name, value, field)

    def gate(self, link: int, owner: str, field: str) -> None:
        """Claims a link's gate for `owner`. Raises ScenarioError if another owner has it."""
        if link in self._gated:
            raise ScenarioError(
                f'{field}: link "{self.links[link].name}" is opened and closed by "{self._gated[link]}" already'
            )
        self._gated[link] = owner

    def served_by(self, link: int) -> list[int]:
        """The queues that a link serves."""
        own = self._own_queue[link]
        return self._queues_of_link[link] + ([] if own is None else [own])

    def queue_for(self, link: OneWay, destination: int, came_by: int | None) -> Waiting:
        """The queue in which a packet waits for a link."""
        for index in self._queues_of_link[link.index]:
            if self.queues[index].takes(destination, came_by):
                return self.queues[index]
        return self.queues[self.own_queue(link)]

    def own_queue(self, link: OneWay) -> int:
        """The link's own queue; if other queues serve the link, it is created when a packet needs it."""
        own = self._own_queue[link.index]
        if own is None:
            own = len(self.queues)
            self._own_queue[link.index] = own
            at_host = self.nodes[link.source].kind == "host"
            discipline = _DROP_TAIL if at_host else resolve(link.of.queue_kind, f'link "{link.name}": queue_kind')
            limit = link.of.nic_queue if at_host else link.of.queue
            self.queues.append(Waiting(own, link.name, link.source, discipline, limit, (link.index,)))
        return own

    def switch_queues(self) -> list[int]:
        """The queues at switches."""
        return [queue.index for queue in self.queues if self.nodes[queue.node].kind == "switch"]

    def plan_nodes(self) -> list[plan.Node]:
        """The nodes of the plan."""
        return [plan.Node(name=node.name, kind=node.kind) for node in self.nodes]

    def plan_links(self) -> list[plan.Link]:
        """The links of the plan."""
        return [
            plan.Link(
                name=link.name, from_=link.source, to=link.target, rate_bps=int(link.of.rate),
                delay_ps=int(link.of.delay), framing_bytes=int(link.of.framing), loss_ppb=link.of.loss.ppb,
                jitter_ps=int(link.of.jitter), scheduler=link.of.scheduler,
            )
            for link in self.links
        ]  # fmt: skip

    def plan_queues(self) -> list[plan.Queue]:
        """The queues of the plan; complete once all paths are made."""
        _unique([queue.name for queue in self.queues], "queue")
        return [
            plan.Queue(
                name=queue.name, node=queue.node, discipline=queue.discipline,
                limit_packets=limits(queue.limit)[0], limit_bytes=limits(queue.limit)[1],
                served_by=list(queue.served_by), priority=queue.priority, returned_limit_packets=queue.returned_limit,
            )
            for queue in self.queues
        ]  # fmt: skip

    def _one_way(self, links: list[Link]) -> list[OneWay]:
        one_way: list[OneWay] = []
        for link in links:
            name = link.name or link.forward_name
            ends = [self._end(name, link.from_, "from"), self._end(name, link.to, "to")]
            one_way.append(OneWay(len(one_way), link.forward_name, ends[0], ends[1], link))
            if link.duplex:
                one_way.append(OneWay(len(one_way), link.back_name, ends[1], ends[0], link))
        return one_way

    def _end(self, link: str, node: str, end: str) -> int:
        return self._node(node, f'link "{link}": {end}')

    def _node(self, name: str, field: str) -> int:
        index = self._node_index.get(name)
        if index is None:
            raise unknown(name, list(self._node_index), field, "node")
        return index

    def _neighbours(self) -> list[set[int]]:
        """The hosts to which each node has a link."""
        hosts: list[set[int]] = [set() for _ in self.nodes]
        for link in self.links:
            if self.nodes[link.target].kind == "host":
                hosts[link.source].add(link.target)
        return hosts

    def _hosts(self, names: Sequence[str], field: str) -> frozenset[int] | None:
        """The named hosts, and the hosts at named switches; None if there are no names."""
        if not names:
            return None
        hosts: set[int] = set()
        for k, name in enumerate(names):
            node = self._node(name, f"{field}[{k}]")
            group = {node} if self.nodes[node].kind == "host" else self._hosts_at[node]
            if not group:
                raise ScenarioError(f'{field}[{k}] = "{name}": expected a host, or a switch that has hosts', field)
            hosts |= group
        return frozenset(hosts)

    def _name_queues(self, queues: Iterable[Queue]) -> None:
        for i, queue in enumerate(queues):
            field = f"queues[{i}]"
            links = [self.link(name, f"{field}.served_by[{k}]") for k, name in enumerate(queue.served_by)]
            if len({link.source for link in links}) > 1:
                raise ScenarioError(f'{field} = "{queue.name}": expected links that start at one switch', field)
            if self.nodes[links[0].source].kind == "host":
                host = self.nodes[links[0].source].name
                raise ScenarioError(f'{field} = "{queue.name}": expected links of a switch, {host} is a host', field)
            arriving = [self.link(name, f"{field}.arriving_by[{k}]") for k, name in enumerate(queue.arriving_by)]
            for k, link in enumerate(arriving):
                if link.target != links[0].source:
                    where = self.nodes[links[0].source].name
                    raise ScenarioError(
                        f'{field}.arriving_by[{k}] = "{link.name}": expected a link that ends at {where}', field
                    )
            waiting = Waiting(
                index=len(self.queues),
                name=queue.name,
                node=links[0].source,
                discipline=resolve(queue.kind, f"{field}.kind"),
                limit=queue.limit,
                served_by=tuple(link.index for link in links),
                priority=queue.priority,
                returned_limit=None if queue.returned_limit is None else int(queue.returned_limit),
                returns_overflow=queue.overflow == "return",
                to=self._hosts(queue.to, f"{field}.to"),
                arriving_by=frozenset(link.index for link in arriving) or None,
            )
            self._check_priority(waiting, field)
            self._check_others(waiting, field)
            self.queues.append(waiting)
            for link in links:
                self._queues_of_link[link.index].append(waiting.index)

    def _check_priority(self, queue: Waiting, field: str) -> None:
        for index in queue.served_by:
            if queue.priority and self.links[index].of.scheduler == "round_robin":
                name = self.links[index].name
                raise ScenarioError(
                    f"{field}.priority = {queue.priority}: expected 0, "
                    f'or scheduler = "strict_priority" for link "{name}"',
                    f"{field}.priority",
                )

    def _check_others(self, queue: Waiting, field: str) -> None:
        """Raises ScenarioError for a queue listed after one that already takes all of its packets."""
        for link in queue.served_by:
            for index in self._queues_of_link[link]:
                other = self.queues[index]
                if other.to is None and other.arriving_by is None:
                    raise ScenarioError(
                        f'{field}: link "{self.links[link].name}" serves another queue already: "{other.name}" has '
                        'neither "to" nor "arriving_by", so it takes every packet',
                        field,
                    )

    def _place_markers(self, scenario: Scenario) -> None:
        for i, marker in enumerate(scenario.markers):
            field = f"markers[{i}]"
            node = self._node(marker.at, f"{field}.at")
            mark = look_up(marker.mark, list(self._marks), f"{field}.mark", "mark")
            self.markers.append(plan.Marker(name=marker.name, node=node, mark=mark, on=marker.on))
            sources = self._hosts(marker.from_, f"{field}.from")
            self.marking.append(MarkingPlace(i, node, sources, self._hosts(marker.to, f"{field}.to")))


def limits(limit: QueueLimit | None) -> tuple[int | None, int | None]:
    """A limit in packets and in bytes, of which at least one is None."""
    if limit is None:
        return None, None
    return (int(limit), None) if limit.in_packets else (None, int(limit))


def _unique(names: list[str], noun: str) -> dict[str, int]:
    index = {name: i for i, name in enumerate(names)}
    if len(index) < len(names):
        twice = next(name for i, name in enumerate(names) if index[name] != i)
        raise UnknownName(f'{noun} "{twice}" exists twice: expected unique names', noun)
    return index
