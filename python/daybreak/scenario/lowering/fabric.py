"""The network of a scenario with its names resolved: nodes, one-way links, and the queue of each link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from daybreak._native import queues as queue_registry
from daybreak.errors import ScenarioError, UnknownName

from ..network import Link, Node
from ..quantities import QueueLimit
from ..scenario import Scenario
from .names import look_up, unknown


@dataclass(frozen=True)
class OneWay:
    """One direction of a link."""

    index: int
    name: str
    source: int
    target: int
    of: Link
    loss_ppb: int


@dataclass(frozen=True)
class Waiting:
    """A queue."""

    name: str
    node: int
    kind: str
    limit: QueueLimit | None
    served_by: tuple[int, ...]


class Fabric:
    """Everything that packets cross."""

    def __init__(self, nodes: list[Node], links: list[Link], scenario: Scenario):
        self.nodes = nodes
        self._node_index = _unique([node.name for node in nodes], "node")
        self.links = self._one_way(links)
        self._link_index = _unique([link.name for link in self.links], "link")
        self.queues: list[Waiting] = []
        self.queue_of_link: list[int] = [-1] * len(self.links)
        self._share_queues(scenario)
        self._own_queues()
        self._queue_index = _unique([queue.name for queue in self.queues], "queue")

    @classmethod
    def of(cls, scenario: Scenario) -> Fabric:
        """The fabric of a scenario."""
        nodes, links = scenario.topology.build() if scenario.topology else ([], [])
        nodes, links = nodes + list(scenario.nodes), links + list(scenario.links)
        if not nodes:
            raise ScenarioError("the scenario has no network: expected a topology, or nodes and links", "topology")
        return cls(nodes, links, scenario)

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
        """The index of a queue by its own name or the name of a link that serves it."""
        if name in self._link_index:
            return self.queue_of_link[self._link_index[name]]
        if name not in self._queue_index:
            raise unknown(name, list(self._queue_index), field, "queue")
        return self._queue_index[name]

    def switch_queues(self) -> list[int]:
        """The queues that stand at switches."""
        return [i for i, queue in enumerate(self.queues) if self.nodes[queue.node].kind == "switch"]

    def link_documents(self) -> list[dict[str, Any]]:
        """The links as the plan has them."""
        return [
            {
                "name": link.name, "from": link.source, "to": link.target, "rate_bps": int(link.of.rate),
                "delay_ps": int(link.of.delay), "framing_bytes": int(link.of.framing), "loss_ppb": link.loss_ppb,
                "jitter_ps": int(link.of.jitter),
            }
            for link in self.links
        ]  # fmt: skip

    def queue_documents(self) -> list[dict[str, Any]]:
        """The queues as the plan has them."""
        return [
            {
                "name": queue.name, "node": queue.node, "kind": queue.kind,
                "limit_packets": int(queue.limit) if queue.limit and queue.limit.in_packets else None,
                "limit_bytes": int(queue.limit) if queue.limit and not queue.limit.in_packets else None,
                "served_by": list(queue.served_by),
            }
            for queue in self.queues
        ]  # fmt: skip

    def _one_way(self, links: list[Link]) -> list[OneWay]:
        one_way: list[OneWay] = []
        for link in links:
            name = link.name or link.forward_name
            ends = [self._end(name, link.from_, "from"), self._end(name, link.to, "to")]
            one_way.append(OneWay(len(one_way), link.forward_name, ends[0], ends[1], link, link.loss.ppb))
            if link.duplex:
                one_way.append(OneWay(len(one_way), link.back_name, ends[1], ends[0], link, link.loss.ppb))
        return one_way

    def _end(self, link: str, node: str, end: str) -> int:
        index = self._node_index.get(node)
        if index is None:
            raise unknown(node, list(self._node_index), f'link "{link}": {end}', "node")
        return index

    def _share_queues(self, scenario: Scenario) -> None:
        for i, shared in enumerate(scenario.queues):
            field = f"queues[{i}]"
            links = [self.link(name, f"{field}.served_by[{k}]") for k, name in enumerate(shared.served_by)]
            if len({(link.source, link.target) for link in links}) > 1:
                raise ScenarioError(f'{field} = "{shared.name}": expected links that join the same two nodes', field)
            for link in links:
                if self.queue_of_link[link.index] >= 0:
                    raise ScenarioError(f'{field}: link "{link.name}" serves another queue already', field)
                self.queue_of_link[link.index] = len(self.queues)
            _check_kind(shared.kind, f"{field}.kind")
            served_by = tuple(link.index for link in links)
            self.queues.append(Waiting(shared.name, links[0].source, shared.kind, shared.limit, served_by))

    def _own_queues(self) -> None:
        for link in self.links:
            if self.queue_of_link[link.index] < 0:
                _check_kind(link.of.queue_kind, f'link "{link.name}": queue_kind')
                at_host = self.nodes[link.source].kind == "host"
                limit = link.of.nic_queue if at_host else link.of.queue
                self.queue_of_link[link.index] = len(self.queues)
                self.queues.append(Waiting(link.name, link.source, link.of.queue_kind, limit, (link.index,)))


def _check_kind(kind: str, field: str) -> None:
    look_up(kind, [name for name, _ in queue_registry()], field, "queue discipline")


def _unique(names: list[str], noun: str) -> dict[str, int]:
    index = {name: i for i, name in enumerate(names)}
    if len(index) < len(names):
        twice = next(name for i, name in enumerate(names) if index[name] != i)
        raise UnknownName(f'{noun} "{twice}" exists twice: expected unique names', noun)
    return index
