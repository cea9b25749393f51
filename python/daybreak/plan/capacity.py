"""What each link could have carried in a run: its rate over the time in which it had a queue to serve.

A link is open while the gate of at least one of its queues is open to it; without gates it always is. A circuit is a
link that is not open all the time. Rates are those that timelines and controllers have set.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import merge

from . import types

Decision = tuple[int, int, bool]
"""A controller's decision about its circuit: time in ps, index of the controller, and whether it opens."""


@dataclass(frozen=True)
class Capacity:
    """The capacity of a link over a run."""

    open_ps: int
    """Time in ps during which it had a queue to serve."""
    byte_count: float
    """Bytes, with framing, that it could have carried in that time."""


def of_links(content: types.Plan, end_ps: int, decisions: Iterable[Decision] = ()) -> list[Capacity]:
    """The capacity of each link until ``end_ps``; ``decisions`` are in chronological order."""
    network = _Network(content)
    for time, actions in merge(_steps(content, end_ps), _decided(content, decisions), key=lambda step: step[0]):
        for action in actions:
            network.apply(action, min(time, end_ps))
    return network.until(end_ps)


class _Network:
    def __init__(self, content: types.Plan):
        self._queues: dict[int, set[int]] = defaultdict(set)
        for number, queue in enumerate(content.queues):
            for link in queue.served_by:
                self._queues[link].add(number)
        self._rates = [link.rate_bps for link in content.links]
        self._since = [0] * len(content.links)
        self._open = [0] * len(content.links)
        self._bits = [0.0] * len(content.links)

    def apply(self, action: types.Action, time_ps: int) -> None:
        """Applies an action's changes to links; calls are in chronological order."""
        match action:
            case types.OpenGate():
                self._settle(action.link, time_ps)
                self._queues[action.link].add(action.queue)
            case types.CloseGate():
                self._settle(action.link, time_ps)
                self._queues[action.link].discard(action.queue)
            case types.SetRate():
                self._settle(action.link, time_ps)
                self._rates[action.link] = action.rate_bps
            case _:
                pass

    def until(self, end_ps: int) -> list[Capacity]:
        """The capacities up to ``end_ps``."""
        for link in range(len(self._rates)):
            self._settle(link, end_ps)
        return [Capacity(time, bits / 8) for time, bits in zip(self._open, self._bits, strict=True)]

    def _settle(self, link: int, time_ps: int) -> None:
        if self._queues[link]:
            self._open[link] += time_ps - self._since[link]
            self._bits[link] += self._rates[link] * (time_ps - self._since[link]) / 1e12
        self._since[link] = time_ps


def _steps(content: types.Plan, end_ps: int) -> Iterator[tuple[int, list[types.Action]]]:
    """All steps of all timelines in chronological order."""

    def of(line: types.Timeline) -> Iterator[tuple[int, list[types.Action]]]:
        start = line.start_ps
        while line.steps and start < end_ps:
            yield from ((start + step.offset_ps, step.actions) for step in line.steps)
            start += line.period_ps

    gates = (types.OpenGate, types.CloseGate, types.SetRate)
    lines = (
        line for line in content.timelines if any(isinstance(one, gates) for step in line.steps for one in step.actions)
    )
    for time, actions in merge(*map(of, lines), key=lambda step: step[0]):
        if time < end_ps:
            yield time, actions


def _decided(content: types.Plan, decisions: Iterable[Decision]) -> Iterator[tuple[int, list[types.Action]]]:
    for controller in content.controllers:
        if isinstance(controller.controls, types.ControlledCircuit):
            yield 0, controller.controls.close
    for time, number, is_open in decisions:
        controls = content.controllers[number].controls
        if isinstance(controls, types.ControlledCircuit):
            yield time, controls.open if is_open else controls.close
