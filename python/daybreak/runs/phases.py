"""Names the phases that begin with the steps of a timeline and the decisions of controllers.

A phase is the state of the network from one step of a timeline to the next. Of a timeline that changes gates it is
"night" while none of its circuits is open, and "day 0", "day 1" ... for the sets of circuits that are open, in the
order in which they first are. A link is a circuit if the program leaves it without an open gate at some time, or if its
queues have no other; so a packet network that serves the queues without a circuit is not one. Of a timeline that
changes routes alone it is "path 0", "path 1" ... for the paths in their order, and "night" where there is none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, assert_never

from daybreak.plan import types as plan
from daybreak.plan.downtimes import POLICIES

NIGHT = "night"

Change = tuple[str, str]
"""The phase that a step ends and the one it begins."""
_Gate = tuple[int, int]
"""A queue, and a link that may serve it."""


def controlled_phase(controls: plan.Controls, event: str, path: int) -> str | None:
    """The phase that begins with a controller's decision: "night" or "day 0" of a circuit, "path 0" ... or "night" of a
    flow. None where nothing changes.
    """
    if event == "requested":
        return None
    match controls:
        case plan.ControlledCircuit():
            return "day 0" if event == "in_force" else NIGHT
        case plan.ControlledFlows():
            if event == "setting_up":
                return NIGHT if POLICIES[controls.downtime].is_night else "path 0"
            return f"path {path}" if event == "in_force" else "path 0"
        case _:
            assert_never(controls)


class Periods(NamedTuple):
    """What each step of a program does in its first period, and in every later one."""

    first: Sequence[Change]
    later: Sequence[Change]


def periods(content: plan.Plan, timeline: int) -> Periods:
    """The changes of a timeline, if no other one changes the same gates or routes. The phase that a step at time 0 ends
    is taken to be the one that it ends in the next period."""
    line, state = content.timelines[timeline], _State(content, timeline)
    # Before a step at time 0 there is nothing to name.
    before = "" if _starts_at_once(line) else state.phase()
    found: list[list[Change]] = [[], []]
    for period_ in found:
        for step in line.steps:
            for action in step.actions:
                state.do(action)
            period_.append((before, before := state.phase()))
    first, later = found
    if first and _starts_at_once(line):
        first[0] = (later[0][0], first[0][1])
    return Periods(first, later)


def sharing(content: plan.Plan) -> set[int]:
    """The timelines that change gates or routes which others change as well."""
    changing: dict[_Gate | int, set[int]] = defaultdict(set)
    for timeline, line in enumerate(content.timelines):
        for subject in _subjects(line):
            changing[subject].add(timeline)
    return {timeline for several in changing.values() if len(several) > 1 for timeline in several}


def walked(content: plan.Plan, taken: Iterable[tuple[int, int]]) -> list[Change]:
    """The change that each taken step makes, for timelines that share gates or routes. ``taken`` has (timeline, step)
    in the order of the run. The phase that a step at time 0 ends is the one it would end in the next period, alone."""
    states = {timeline: _State(content, timeline) for timeline in sharing(content)}
    done: Counter[int] = Counter()
    found = []
    for timeline, step in taken:
        line = content.timelines[timeline]
        is_start = not done[timeline] and _starts_at_once(line)
        before = periods(content, timeline).later[step][0] if is_start else states[timeline].phase()
        for action in line.steps[step].actions:
            for state in states.values():
                state.do(action)
        found.append((before, states[timeline].phase()))
        done[timeline] += 1
    return found


def days(content: plan.Plan, timeline: int) -> dict[str, set[int]]:
    """The links of the circuits that are open in each day of a timeline; empty if it changes no gates."""
    state = _State(content, timeline)
    found: dict[str, set[int]] = {}
    for step in content.timelines[timeline].steps * 2:
        for action in step.actions:
            state.do(action)
        if state.gates and (phase := state.phase()) != NIGHT:
            found[phase] = state.gates.open_links()
    return found


class _State:
    """The gates and routes that one timeline changes, as they are now."""

    def __init__(self, content: plan.Plan, timeline: int):
        line = content.timelines[timeline]
        changed = _subjects(line)
        self.gates = _Gates(content, line) if any(isinstance(one, tuple) for one in changed) else None
        self._names: dict[frozenset[int], str] = {}
        self._routes: dict[int, int | None] = {
            switch: content.route_switches[switch].initial for switch in changed if isinstance(switch, int)
        }

    def do(self, action: plan.Action) -> None:
        """Applies an action of this or another timeline."""
        match action:
            case plan.SetRoute():
                if action.route_switch in self._routes:
                    self._routes[action.route_switch] = action.alternative
            case plan.Darken():
                # The old path goes on until the new one is there.
                if action.route_switch in self._routes and POLICIES[action.downtime].is_night:
                    self._routes[action.route_switch] = None
            case plan.OpenGate() | plan.CloseGate():
                if self.gates:
                    self.gates.turn(action)
            case (
                plan.SetLimit()
                | plan.SetRate()
                | plan.SetDelay()
                | plan.SetLoss()
                | plan.SetParameter()
                | plan.SetMark()
            ):
                # Only numbers change; the paths stay.
                pass
            case _:
                assert_never(action)

    def phase(self) -> str:
        """The name of the current phase."""
        if self.gates is None:
            # Several routes may each be on a different path.
            on = sorted({-1 if path is None else path for path in self._routes.values()})
            return " and ".join(NIGHT if path < 0 else f"path {path}" for path in on)
        opened = frozenset(self.gates.open)
        return self._names.setdefault(opened, f"day {len(self._names)}") if opened else NIGHT


class _Gates:
    """The gates of a timeline's circuits, all open at first."""

    def __init__(self, content: plan.Plan, line: plan.Timeline):
        serving: dict[int, list[int]] = defaultdict(list)
        for number, queue in enumerate(content.queues):
            for link in queue.served_by:
                serving[link].append(number)
        dark = _dark_links(line, {link: len(queues) for link, queues in serving.items()})
        circuits = [(queue, link) for link in dark for queue in serving[link]]
        backed = {queue for queue, _ in circuits}
        # A link that always serves some of its queues is there for those without a circuit, or it is one for each.
        others = [one for one in _subjects(line) if isinstance(one, tuple) and one[0] not in backed]
        self._lanes = {gate: gate[1] for gate in circuits}
        self._lanes |= {gate: number for number, gate in enumerate(others, len(content.links))}
        self._links = {lane: gate[1] for gate, lane in self._lanes.items()}
        self._open_gates = Counter(self._lanes.values())
        self._closed = set[_Gate]()
        self.open = set(self._links)
        """The circuits that are open."""

    def turn(self, action: plan.OpenGate | plan.CloseGate) -> None:
        """Opens or closes a gate, if it is one of a circuit."""
        gate, closes = (action.queue, action.link), isinstance(action, plan.CloseGate)
        lane = self._lanes.get(gate)
        if lane is None or closes == (gate in self._closed):
            return
        (self._closed.add if closes else self._closed.remove)(gate)
        self._open_gates[lane] += -1 if closes else 1
        (self.open.add if self._open_gates[lane] else self.open.discard)(lane)

    def open_links(self) -> set[int]:
        """Their links."""
        return {self._links[lane] for lane in self.open}


def _dark_links(line: plan.Timeline, gates: Mapping[int, int]) -> list[int]:
    """The links that are without an open gate after some step; ``gates`` says how many each has."""
    closed: dict[int, set[int]] = defaultdict(set)
    dark = set[int]()
    for step in line.steps * 2:
        for action in step.actions:
            if isinstance(action, plan.CloseGate):
                closed[action.link].add(action.queue)
            elif isinstance(action, plan.OpenGate):
                closed[action.link].discard(action.queue)
        touched = {action.link for action in step.actions if isinstance(action, plan.CloseGate)}
        dark |= {link for link in touched if len(closed[link]) == gates[link]}
    return sorted(dark)


def _subjects(line: plan.Timeline) -> list[_Gate | int]:
    """The gates and the route switches that a timeline changes, each once."""
    found: dict[_Gate | int, None] = {}
    for step in line.steps:
        for action in step.actions:
            if isinstance(action, plan.OpenGate | plan.CloseGate):
                found[action.queue, action.link] = None
            elif isinstance(action, plan.SetRoute | plan.Darken):
                found[action.route_switch] = None
    return list(found)


def _starts_at_once(line: plan.Timeline) -> bool:
    return bool(line.steps) and line.start_ps + line.steps[0].offset_ps == 0
