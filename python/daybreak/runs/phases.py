"""What the steps of a timeline's program do, in the words of a scenario.

A phase is what a timeline has made of the network until its next step: "path 0", "path 1" ... for the paths of a
`migrate` in their order, "day 0", "day 1" ... for the matchings of a `circuit`, "night" where there is no path.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

NIGHT = "night"

Steps = Sequence[dict[str, Any]]
"""The steps of a timeline as the plan has them."""


def phases(steps: Steps) -> list[tuple[str, str]]:
    """For each step the phase that it ends and the one that it begins. The program is taken to go round and round."""
    if not steps:
        return []
    now, opened, days = "", set[str](), dict[frozenset[str], str]()
    found: list[tuple[str, str]] = []
    # The first time round says what the first step ends.
    for _ in range(2):
        found = []
        for step in steps:
            before = now
            for action in step["actions"]:
                now = _after(action, now, opened)
            if any(kind in ("open_gate", "close_gate") for action in step["actions"] for kind in action):
                now = days.setdefault(frozenset(opened), f"day {len(days)}") if opened else NIGHT
            found.append((before, now))
    return found


def _after(action: dict[str, Any], now: str, opened: set[str]) -> str:
    ((kind, what),) = action.items()
    match kind:
        case "set_route":
            return f"path {what['alternative']}"
        case "darken":
            # The old path goes on until the new one is there.
            return now if what["downtime"] == "make_before_break" else NIGHT
        case "open_gate":
            opened.add(_gate(what))
        case "close_gate":
            opened.discard(_gate(what))
        case _:
            raise ValueError(f"action {kind!r}: no phase is known for it")
    return now


def _gate(what: dict[str, Any]) -> str:
    return f"{what['queue']}/{what['link']}"
