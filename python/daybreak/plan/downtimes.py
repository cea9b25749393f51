"""Downtime policies, and what figures, explanations, models and suites make of each. Python looks up a policy here
instead of comparing its name.

What a policy does to packets is the engine's: `crates/fabric/src/circuit/downtime.rs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, assert_never, cast, get_args

from daybreak import _native

from .types import Downtime

Learnt = Literal["none", "drop", "hold"]
"""The policies that the learnt models know; with "none" there are no nights."""
LEARNT: tuple[Learnt, ...] = get_args(Learnt)
Shape = Literal["moved", "circuit"]
"""Drawn networks with nights: flows that are moved between two links, and one link that is a circuit."""


@dataclass(frozen=True)
class Policy:
    """A downtime policy."""

    name: Downtime
    at_route: Literal["lose", "hold", "old_path"]
    """What happens to packets that arrive at a dark route: they are lost, wait, or take the path before."""
    at_gate: Literal["empty", "keep", "drain", "part"]
    """What happens to a queue when one of its gates closes. It is emptied or keeps its packets; the link still sends
    those that wait; or it goes on until another gate opens."""
    drawn_for: tuple[Shape, ...] = ()
    """For which shapes the suites of `agreement/drawn.py` draw it. A change here draws other suites."""

    @property
    def is_night(self) -> bool:
        """Whether a dark route leaves flows without a path: a night in tables, figures and explanations."""
        return self.at_route != "old_path"

    @property
    def is_of_circuits(self) -> bool:
        """Whether links may close with it although their queues have no other."""
        return self.at_gate != "part"

    @property
    def learnt_as(self) -> Learnt:
        """The learnt policy that treats moved flows alike; "none" if each move is only late by the night."""
        match self.at_route:
            case "lose":
                return "drop"
            case "hold":
                return "hold"
            case "old_path":
                return "none"
            case _:
                assert_never(self.at_route)


_DRAWN_FOR: Mapping[str, tuple[Shape, ...]] = {
    "drop": ("moved", "circuit"), "hold": ("moved", "circuit"), "drain": ("circuit",),
}  # fmt: skip
POLICIES: Mapping[str, Policy] = {
    name: Policy(cast(Downtime, name), at_route, at_gate, _DRAWN_FOR.get(name, ()))
    for name, at_route, at_gate in _native.downtimes()
}
"""By name."""
