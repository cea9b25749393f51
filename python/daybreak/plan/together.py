"""Which links may serve a queue at the same time, given the gates that timelines and controllers open and close."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from . import types
from .downtimes import POLICIES

Links = frozenset[int]
_Gate = types.OpenGate | types.CloseGate
_Program = list[list[_Gate]]
"""Actions that take effect at the same time, in order."""


def serving(content: types.Plan) -> list[frozenset[Links]]:
    """For each queue the maximal sets of links that may serve it at the same time. If several timelines or controllers
    change its gates, all of its links form one set; a link that never serves it forms a set of its own.
    """
    programs: dict[int, list[_Program]] = defaultdict(list)
    at_start: dict[int, list[_Gate]] = defaultdict(list)
    for line in content.timelines:
        _sort(programs, (step.actions for step in line.steps))
        for step in line.steps:
            if line.start_ps + step.offset_ps == 0:
                _sort_one(at_start, step.actions)
    for controller in content.controllers:
        if isinstance(of := controller.controls, types.ControlledCircuit):
            _sort(programs, (of.open, of.close))
            _sort_one(at_start, of.close)
    found = []
    for number, queue in enumerate(content.queues):
        every = frozenset(queue.served_by)
        start = every
        for action in at_start[number]:
            start = _after(start, action)
        opening = [program for program in programs[number] if any(map(_opens, program))]
        sets = {start if len(opening) < 2 else every}
        for program in opening[:1]:
            sets |= set(_walked(program, start))
        found.append(_greatest(sets, every))
    return found


def _sort(programs: dict[int, list[_Program]], steps: Iterable[Sequence[types.Action]]) -> None:
    """Adds a program to each queue of which it changes gates."""
    of_queue: dict[int, _Program] = defaultdict(list)
    for actions in steps:
        together: dict[int, list[_Gate]] = defaultdict(list)
        _sort_one(together, actions)
        for queue, some in together.items():
            of_queue[queue].append(some)
    for queue, program in of_queue.items():
        programs[queue].append(program)


def _sort_one(by_queue: dict[int, list[_Gate]], actions: Iterable[types.Action]) -> None:
    for action in actions:
        if isinstance(action, types.OpenGate | types.CloseGate):
            by_queue[action.queue].append(action)


def _opens(actions: Sequence[_Gate]) -> bool:
    return any(isinstance(action, types.OpenGate) for action in actions)


def _after(now: Links, action: _Gate) -> Links:
    return now | {action.link} if isinstance(action, types.OpenGate) else now - {action.link}


def _walked(program: _Program, start: Links) -> Iterator[Links]:
    """The open links after each step, over two periods, since the second starts with the state at the end of the
    first."""
    now = start
    for actions in program * 2:
        before = now
        for action in actions:
            now = _after(now, action)
        # A draining link continues beside those that are opened.
        drained = {one.link for one in actions if isinstance(one, types.CloseGate) and _drains(one)}
        yield now | (before & drained)


def _drains(action: types.CloseGate) -> bool:
    return POLICIES[action.downtime].at_gate == "drain"


def _greatest(sets: set[Links], every: Links) -> frozenset[Links]:
    alone = {frozenset({link}) for link in every.difference(*sets)}
    candidates = {one for one in sets | alone if one}
    return frozenset(one for one in candidates if not any(one < other for other in candidates))
