"""The second stage of lowering: every flow has its paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daybreak.plan import types as plan

from .moves import Moves, movers
from .paths import Paths
from .queues import Queues
from .resolved import Resolved
from .routes import Router


@dataclass(frozen=True, slots=True, eq=False)
class Routed:
    """The paths of all flows, and what they lead through."""

    queues: Queues
    """All queues: those of `Resolved` come first, at their places."""
    paths: Sequence[list[plan.Step]]
    forks: Sequence[plan.Fork]
    route_switches: Sequence[plan.RouteSwitch]
    data_paths: Sequence[int]
    """The path of each flow's data, in the order of the flows."""
    ack_paths: Sequence[int]
    switches_of: Mapping[str, Sequence[int]]
    """The route switches of what moves flows, by its field in the scenario, such as "routes[0]"."""
    switches_of_flow: Mapping[str, Mapping[str, Sequence[int]]]
    """Of each flow that a controller moves, by the controller's field: its route switches, that of the data first."""


def route(resolved: Resolved) -> Routed:
    """The second stage of `lower`. Raises ScenarioError."""
    router = Router(resolved.network, resolved.scenario.routing, resolved.seed)
    paths = Paths(resolved.network, resolved.queues, resolved.marking, router)
    moves = Moves(movers(resolved.scenario), resolved.flows, resolved.network, router, paths)
    data_paths, ack_paths = [], []
    for flow in resolved.flows:
        family = resolved.families.resolved[flow.of]
        data_paths.append(moves.data_path(flow, family.src, family.dst))
        ack_paths.append(moves.ack_path(flow, family.src, family.dst))
    return Routed(
        queues=paths.queues,
        paths=paths.paths,
        forks=paths.forks,
        route_switches=moves.route_switches,
        data_paths=data_paths,
        ack_paths=ack_paths,
        switches_of=moves.switches_of,
        switches_of_flow=moves.switches_of_flow,
    )
