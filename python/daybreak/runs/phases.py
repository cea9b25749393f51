"""What the steps of a timeline's program and the decisions of controllers do, in the words of a scenario.

A phase is what a timeline has made of the network until its next step: "path 0", "path 1" ... for the paths of a
`migrate` in their order, "day 0", "day 1" ... for the matchings of a `circuit`, "night" where there is no path.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from daybreak.plan import types as plan

NIGHT = "night"


def controlled_phase(controls: plan.Controls, event: str, path: int) -> str | None:
    """What begins with a decision of a controller: "night" or "day 0" of a circuit, "path 0" ... or "night" of a flow.
    None where nothing changes.
    """
    if event == "requested":
        return None
    match controls:
        case plan.ControlledCircuit():
            return "day 0" if event == "in_force" else NIGHT
        case plan.ControlledFlows():
            if event == "setting_up":
                return "path 0" if controls.downtime == "make_before_break" else NIGHT
            return f"path {path}" if event == "in_force" else "path 0"
        case _:
            assert_never(controls)


def phases(steps: Sequence[plan.TimelineStep]) -> list[tuple[str, str]]:
    """For each step the phase that it ends and the one that it begins. The program is taken to go round and round."""
    now, opened, days = "", set[tuple[int, int]](), dict[frozenset[tuple[int, int]], str]()
    found: list[tuple[str, str]] = []
    # The first time round says what the first step ends.
    for _ in range(2):
        found = []
        for step in steps:
            before = now
            for action in step.actions:
                now = _after(action, now, opened)
            if any(isinstance(action, plan.OpenGate | plan.CloseGate) for action in step.actions):
                now = days.setdefault(frozenset(opened), f"day {len(days)}") if opened else NIGHT
            found.append((before, now))
    return found


def _after(action: plan.Action, now: str, opened: set[tuple[int, int]]) -> str:
    match action:
        case plan.SetRoute():
            return f"path {action.alternative}"
        case plan.Darken():
            # The old path goes on until the new one is there.
            return now if action.downtime == "make_before_break" else NIGHT
        case plan.OpenGate():
            opened.add((action.queue, action.link))
        case plan.CloseGate():
            opened.discard((action.queue, action.link))
        case plan.SetLimit() | plan.SetRate() | plan.SetParameter() | plan.SetMark():
            # Other numbers, on the same paths.
            pass
        case _:
            assert_never(action)
    return now
