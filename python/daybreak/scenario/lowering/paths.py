"""Makes the paths of a plan: steps through queues, forks and markers; equal paths are shared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from daybreak.errors import ScenarioError
from daybreak.plan import types as plan

from .network import MarkingPlace, Network, OneWay
from .queues import Queues, Waiting, own_queue
from .routes import Router


@dataclass(frozen=True, slots=True)
class Packets:
    """The properties of packets that their path depends on."""

    destination: int
    markers: tuple[int, ...]
    """Markers that apply to them."""
    came_by: int | None
    """Link over which they arrived."""
    back: int | None
    """Fork whose queue they return to from a full queue."""


class Paths:
    """Makes the paths of a plan."""

    def __init__(self, network: Network, queues: Queues, marking: Sequence[MarkingPlace], router: Router):
        self._network = network
        self._queues = queues
        self._marking = marking
        self._router = router
        self._own: dict[int, Waiting] = {}
        """Queues of links for packets that no queue of theirs takes, made when the first path needs them."""
        self.paths: list[list[plan.Step]] = []
        self._index: dict[tuple[plan.Step, ...], int] = {}
        self._forks: list[plan.Fork | None] = []
        self._fork_index: dict[tuple[int, Packets], int] = {}
        self._markers_between: dict[tuple[int, int], tuple[int, ...]] = {}
        self._steps: dict[tuple[str, int], plan.Step] = {}

    @property
    def queues(self) -> Queues:
        """All queues, those that paths have needed besides included. Raises UnknownName."""
        return self._queues.with_own(list(self._own.values()))

    @property
    def forks(self) -> list[plan.Fork]:
        """The forks of all paths."""
        return [fork for fork in self._forks if fork is not None]

    def add(self, steps: Sequence[plan.Step]) -> int:
        """The index of a path with these steps."""
        key = tuple(steps)
        index = self._index.get(key)
        if index is None:
            index = self._index[key] = len(self.paths)
            self.paths.append(list(key))
        return index

    def packets(self, source: int, destination: int) -> Packets:
        """Packets from one host to another, at the start of their path."""
        ends = (source, destination)
        if ends not in self._markers_between:
            self._markers_between[ends] = tuple(place.index for place in self._marking if place.sees(*ends))
        return Packets(destination, self._markers_between[ends], came_by=None, back=None)

    def steps(self, packets: Packets, route: Sequence[OneWay], field: str) -> list[plan.Step]:
        """The steps of packets along a route to their destination.

        At a queue whose links lead to different nodes the steps end with a fork, which continues with the shortest path
        behind each link.
        """
        steps, behind = self.along(packets, route, field)
        if route and not (steps and steps[-1].kind == "fork"):
            steps += self._marked_at(route[-1].target, behind)
        return steps

    def along(self, packets: Packets, route: Sequence[OneWay], field: str) -> tuple[list[plan.Step], Packets]:
        """The steps of packets across these links, and the packets after them, not yet marked at the node there."""
        steps: list[plan.Step] = []
        for k, link in enumerate(route):
            steps += self._marked_at(link.source, packets)
            queue = self._queue_for(link, packets)
            if self._is_fork(queue):
                self._check_rest(queue, route[k:], packets, field)
                return [*steps, self.step("fork", self._fork(queue, packets, field))], packets
            steps.append(self.step("queue", queue.index))
            packets = Packets(packets.destination, packets.markers, link.index, packets.back)
        return steps, packets

    def step(self, kind: str, index: int) -> plan.Step:
        """A step; equal ones are one object."""
        key = (kind, index)
        if key not in self._steps:
            self._steps[key] = plan.Step(kind=kind, index=index)  # type: ignore[arg-type]
        return self._steps[key]

    def _queue_for(self, link: OneWay, packets: Packets) -> Waiting:
        """Where these packets wait that are to cross a link."""
        for index in self._queues.of_link[link.index]:
            queue = self._queues.all[index]
            if queue.takes(packets.destination, packets.came_by):
                return queue
        own = self._own.get(link.index)
        if own is None:
            index = len(self._queues.all) + len(self._own)
            own = self._own[link.index] = own_queue(link, index, self._network)
        return own

    def _marked_at(self, node: int, packets: Packets) -> list[plan.Step]:
        if not packets.markers:
            return []
        here = (index for index in packets.markers if self._marking[index].node == node)
        return [self.step("marker", index) for index in here]

    def _is_fork(self, queue: Waiting) -> bool:
        ends = {self._network.links[link].target for link in queue.served_by}
        return len(ends) > 1 or queue.returned_limit is not None or queue.returns_overflow

    def _check_rest(self, queue: Waiting, rest: Sequence[OneWay], packets: Packets, field: str) -> None:
        """Raises ScenarioError if the user's route after a fork differs from the fork's own."""
        shortest = self._router.from_link(rest[0], packets.destination, field)
        if [link.index for link in rest[1:]] != [link.index for link in shortest]:
            raise ScenarioError(
                f'{field}: behind queue "{queue.name}" packets take the shortest way from the link that serves them: '
                "expected no other links there",
                field,
            )

    def _fork(self, queue: Waiting, packets: Packets, field: str) -> int:
        """The fork of a queue for these packets, created on first use."""
        # The link they arrived over no longer matters, and their fork only if they return to it.
        goes_back = queue.returns_overflow or queue.returned_limit is None
        packets = replace(packets, came_by=None, back=packets.back if goes_back else None)
        key = (queue.index, packets)
        if key in self._fork_index:
            return self._fork_index[key]
        index = self._fork_index[key] = len(self._forks)
        self._forks.append(None)
        overflow = None
        if queue.returns_overflow:
            if packets.back is None:
                raise ScenarioError(
                    f'queue "{queue.name}" has overflow = "return", but packets of {field} come from no queue with a '
                    "returned_limit"
                )
            overflow = self.add([self.step("return", packets.back)])
        back = packets.back if queue.returned_limit is None else index
        tails = []
        for served_by in queue.served_by:
            link = self._network.links[served_by]
            route = self._router.from_link(link, packets.destination, field)
            behind = replace(packets, came_by=served_by, back=back)
            marked = [] if route else self._marked_at(link.target, behind)
            tails.append(plan.Tail(link=served_by, path=self.add(self.steps(behind, route, field) or marked)))
        self._forks[index] = plan.Fork(queue=queue.index, tails=tails, overflow=overflow)
        return index
