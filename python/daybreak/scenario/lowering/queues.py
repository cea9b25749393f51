"""The queues of a network, and the packets that wait in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daybreak.errors import ScenarioError
from daybreak.plan import types as plan

from ..choice import Discipline
from ..network import Queue
from ..quantities import QueueLimit
from ..scenario import Scenario
from .choices import entry_of, parameter_value, resolve
from .names import unknown
from .network import Network, OneWay, unique

_DROP_TAIL = plan.Choice(name="drop_tail", parameters={})


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queue, and which packets wait in it."""

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
    """Hosts that its packets go to; None for all."""
    arriving_by: frozenset[int] | None = None
    """Links that its packets come over; None for all."""

    @property
    def takes_every_packet(self) -> bool:
        """It leaves no packet to other queues of its links."""
        return self.to is None and self.arriving_by is None

    def takes(self, destination: int, came_by: int | None) -> bool:
        """Whether a packet to this host that came over this link waits here."""
        is_expected = self.arriving_by is None or came_by in self.arriving_by
        return is_expected and (self.to is None or destination in self.to)


@dataclass(frozen=True, slots=True, eq=False)
class Queues:
    """Queues by index, their indices by name, and those of each link."""

    all: Sequence[Waiting]
    index: Mapping[str, int]
    of_link: Sequence[Sequence[int]]
    """The queues that each link serves, in the order in which they are asked whether they take a packet."""
    network: Network

    @classmethod
    def of(cls, scenario: Scenario, network: Network) -> Queues:
        """The queues that a scenario names, then one for each link that serves none of these. Raises ScenarioError."""
        named = _named(scenario.queues, network)
        served = {link for queue in named for link in queue.served_by}
        alone = [link for link in network.links if link.index not in served]
        return cls._of([*named, *(own_queue(link, len(named) + k, network) for k, link in enumerate(alone))], network)

    @classmethod
    def _of(cls, queues: Sequence[Waiting], network: Network) -> Queues:
        of_link: list[list[int]] = [[] for _ in network.links]
        for queue in queues:
            for link in queue.served_by:
                of_link[link].append(queue.index)
        return cls(queues, unique([queue.name for queue in queues], "queue"), of_link, network)

    def with_own(self, own: Sequence[Waiting]) -> Queues:
        """These and the queues that links have for packets which no queue of theirs takes. Raises UnknownName."""
        return self._of([*self.all, *own], self.network) if own else self

    def named(self, name: str, field: str) -> int:
        """The index of a queue by its own name or the name of a link that serves only this one."""
        if name in self.index:
            return self.index[name]
        if name in self.network.link_index:
            served = self.of_link[self.network.link_index[name]]
            if len(served) == 1:
                return served[0]
            names = ", ".join(self.all[index].name for index in served)
            raise ScenarioError(f'{field} = "{name}": expected one of the queues of that link, {names}', field)
        raise unknown(name, list(self.index), field, "queue")

    def parameter(self, queue: int, name: str, value: bool | int | float | str, field: str) -> plan.Value:
        """The value of a parameter of a queue's discipline."""
        entry = entry_of(Discipline(self.all[queue].discipline.name), field)
        return parameter_value(entry, name, value, field)

    def at_switches(self) -> list[int]:
        """The queues that stand at switches."""
        return [queue.index for queue in self.all if self.network.nodes[queue.node].kind == "switch"]


def own_queue(link: OneWay, index: int, network: Network) -> Waiting:
    """The queue that a link has for itself, which takes every packet."""
    at_host = network.nodes[link.source].kind == "host"
    discipline = _DROP_TAIL if at_host else resolve(link.of.queue_kind, f'link "{link.name}": queue_kind')
    limit = link.of.nic_queue if at_host else link.of.queue
    return Waiting(index, link.name, link.source, discipline, limit, (link.index,))


def plan_queues(queues: Queues) -> list[plan.Queue]:
    """The queues as the plan has them."""
    return [
        plan.Queue(
            name=queue.name, node=queue.node, discipline=queue.discipline,
            limit_packets=limits(queue.limit)[0], limit_bytes=limits(queue.limit)[1],
            served_by=list(queue.served_by), priority=queue.priority, returned_limit_packets=queue.returned_limit,
        )
        for queue in queues.all
    ]  # fmt: skip


def limits(limit: QueueLimit | None) -> tuple[int | None, int | None]:
    """A limit as packets and as bytes, of which one is None at least."""
    if limit is None:
        return None, None
    return (int(limit), None) if limit.in_packets else (None, int(limit))


def _named(queues: Sequence[Queue], network: Network) -> list[Waiting]:
    named: list[Waiting] = []
    of_link: dict[int, list[Waiting]] = {}
    for i, queue in enumerate(queues):
        waiting = _waiting(queue, i, network)
        for link in waiting.served_by:
            others = of_link.setdefault(link, [])
            _check_link(waiting, network.links[link], others, f"queues[{i}]")
            others.append(waiting)
        named.append(waiting)
    return named


def _waiting(queue: Queue, index: int, network: Network) -> Waiting:
    field = f"queues[{index}]"
    links = [network.link(name, f"{field}.served_by[{k}]") for k, name in enumerate(queue.served_by)]
    for k, link in enumerate(links):
        if link in links[:k]:
            raise ScenarioError(f'{field}.served_by[{k}] = "{link.name}": expected another link, it is there already')
    here = network.nodes[links[0].source]
    if len({link.source for link in links}) > 1:
        raise ScenarioError(f'{field} = "{queue.name}": expected links that start at one switch', field)
    if here.kind == "host":
        raise ScenarioError(f'{field} = "{queue.name}": expected links of a switch, {here.name} is a host', field)
    arriving = [network.link(name, f"{field}.arriving_by[{k}]") for k, name in enumerate(queue.arriving_by)]
    for k, link in enumerate(arriving):
        if link.target != links[0].source:
            raise ScenarioError(
                f'{field}.arriving_by[{k}] = "{link.name}": expected a link that ends at {here.name}', field
            )
    return Waiting(
        index=index,
        name=queue.name,
        node=links[0].source,
        discipline=resolve(queue.kind, f"{field}.kind"),
        limit=queue.limit,
        served_by=tuple(link.index for link in links),
        priority=queue.priority,
        returned_limit=None if queue.returned_limit is None else int(queue.returned_limit),
        returns_overflow=queue.overflow == "return",
        to=network.hosts(queue.to, f"{field}.to"),
        arriving_by=frozenset(link.index for link in arriving) or None,
    )


def _check_link(queue: Waiting, link: OneWay, others: Sequence[Waiting], field: str) -> None:
    """Raises ScenarioError for a priority that a link does not look at, or where another queue takes every packet."""
    if queue.priority and link.of.scheduler == "round_robin":
        raise ScenarioError(
            f'{field}.priority = {queue.priority}: expected 0, or scheduler = "strict_priority" for link "{link.name}"',
            f"{field}.priority",
        )
    for other in others:
        if other.takes_every_packet:
            raise ScenarioError(
                f'{field}: link "{link.name}" serves another queue already: "{other.name}" has '
                'neither "to" nor "arriving_by", so it takes every packet',
                field,
            )
