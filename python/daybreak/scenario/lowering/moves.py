"""The path of each flow, with a route switch wherever a route, a `migrate` timeline or a controller moves one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from daybreak.errors import ScenarioError
from daybreak.plan import types as plan

from ..controllers import FlowController
from ..scenario import Scenario
from ..timelines import Migrate, MovedFlows
from .names import unknown
from .network import Network, OneWay
from .paths import Paths
from .planned import PlannedFlow
from .routes import Router


@dataclass(frozen=True, slots=True, eq=False)
class Mover:
    """What moves flows."""

    entry: str
    """Its field in the scenario, such as "routes[0]"."""
    name: str
    of: MovedFlows

    @property
    def moves_each_alone(self) -> bool:
        """Whether each flow has route switches of its own."""
        return isinstance(self.of, FlowController)


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """The direction of the data or of the ACKs: the names of the fields that determine its path."""

    via: Literal["via", "ack_via"]
    between: Literal["between", "ack_between"]


_DATA = _Way("via", "between")
_ACKS = _Way("ack_via", "ack_between")


def movers(scenario: Scenario) -> list[Mover]:
    """Routes, `migrate` timelines, and controllers that move flows. Raises ScenarioError if two have one name."""
    if len({route.name for route in scenario.routes}) < len(scenario.routes):
        raise ScenarioError("two routes have one name: expected unique names", "routes")
    names = [controller.name or f"controller-{i}" for i, controller in enumerate(scenario.controllers)]
    if len(set(names)) < len(names):
        raise ScenarioError("two controllers have one name: expected unique names", "controllers")
    return [
        *(Mover(f"routes[{i}]", route.name, route) for i, route in enumerate(scenario.routes)),
        *(
            Mover(f"timelines[{i}]", line.name or f"migrate-{i}", line)
            for i, line in enumerate(scenario.timelines)
            if isinstance(line, Migrate)
        ),
        *(
            Mover(f"controllers[{i}]", names[i], controller)
            for i, controller in enumerate(scenario.controllers)
            if isinstance(controller, FlowController)
        ),
    ]


class Moves:
    """Makes the path of each flow, and the route switches on it."""

    def __init__(
        self, movers: Sequence[Mover], flows: Sequence[PlannedFlow], network: Network, router: Router, paths: Paths
    ):
        self._network = network
        self._router = router
        self._paths = paths
        self._mover_of_flow = _mover_of_flow(movers, flows)
        self._path_index: dict[tuple[object, ...], int] = {}
        self._path_of_route: dict[tuple[int, ...], int] = {}
        self._switch_index: dict[tuple[str, int, tuple[int, ...], str], int] = {}
        self.route_switches: list[plan.RouteSwitch] = []
        self.switches_of: dict[str, list[int]] = {mover.entry: [] for mover in movers}
        """The route switches of each mover, by its entry."""
        self.switches_of_flow: dict[str, dict[str, list[int]]] = {mover.entry: {} for mover in movers}
        """Of each mover by its entry, and each flow that it moves alone: its route switches, that of the data first."""

    def data_path(self, flow: PlannedFlow, source: int, destination: int) -> int:
        """The path of the flow's data."""
        return self._known_path(flow, (source, destination), _DATA)

    def ack_path(self, flow: PlannedFlow, source: int, destination: int) -> int:
        """The path of its ACKs."""
        return self._known_path(flow, (destination, source), _ACKS)

    def _known_path(self, flow: PlannedFlow, ends: tuple[int, int], way: _Way) -> int:
        """The path of a flow; the flows of a family share one, unless each draws its own or is moved individually."""
        mover = self._mover_of_flow.get(flow.name)
        if mover is None and self._router.draws:
            return self._drawn_path(flow, ends, way)
        is_alone = self._router.draws or (mover is not None and mover.moves_each_alone)
        key = (flow.of, way, mover.entry if mover else None, flow.name if is_alone else None)
        index = self._path_index.get(key)
        if index is None:
            index = self._path_index[key] = self._paths.add(self._path(flow, ends, way, mover))
        return index

    def _drawn_path(self, flow: PlannedFlow, ends: tuple[int, int], way: _Way) -> int:
        """A path that the flow draws; equal paths are shared."""
        via: tuple[str, ...] = getattr(flow.of, way.via)
        field = f"{flow.of.field}.{way.via}" if via else flow.of.field
        route = self._route(flow, ends, via, field)
        key = tuple([link.index for link in route])
        index = self._path_of_route.get(key)
        if index is None:
            steps = self._paths.steps(self._paths.packets(*ends), route, field)
            index = self._path_of_route[key] = self._paths.add(steps)
        return index

    def _path(self, flow: PlannedFlow, ends: tuple[int, int], way: _Way, mover: Mover | None) -> list[plan.Step]:
        via: tuple[str, ...] = getattr(flow.of, way.via)
        between: tuple[tuple[str, ...], ...] = getattr(mover.of, way.between) if mover else ()
        if mover is None or not between:
            field = f"{flow.of.field}.{way.via}" if via else flow.of.field
            return self._paths.steps(self._paths.packets(*ends), self._route(flow, ends, via, field), field)
        if via:
            raise ScenarioError(
                f"{flow.of.field}.{way.via} = {list(via)}: expected none, {mover.entry} moves flow {flow.name}"
            )
        field = f"{mover.entry}.{way.between}"
        return self._moved_path(flow, ends, mover, [
            self._route(flow, ends, names, f"{field}[{k}]") for k, names in enumerate(between)
        ], field)  # fmt: skip

    def _moved_path(
        self, flow: PlannedFlow, ends: tuple[int, int], mover: Mover, routes: list[list[OneWay]], field: str
    ) -> list[plan.Step]:
        shared = _shared_prefix(routes)
        if any(len(route) == shared for route in routes):
            raise ScenarioError(f"{field}: all paths of flow {flow.name} are the same: expected different ones", field)
        node = routes[0][shared].source
        if self._network.nodes[node].kind == "host":
            name = self._network.nodes[node].name
            raise ScenarioError(
                f'{field}: the paths of flow {flow.name} part at host "{name}": expected a switch', field
            )
        steps, packets = self._paths.along(self._paths.packets(*ends), routes[0][:shared], field)
        if steps[-1].kind == "fork":
            raise ScenarioError(
                f"{field}: the paths of flow {flow.name} part behind a queue whose links lead to different places: "
                "expected them to part before it",
                field,
            )
        tails = [self._paths.add(self._paths.steps(packets, route[shared:], field)) for route in routes]
        return [*steps, self._paths.step("route_switch", self._route_switch(mover, flow.name, node, tuple(tails)))]

    def _route(self, flow: PlannedFlow, ends: tuple[int, int], via: tuple[str, ...], field: str) -> list[OneWay]:
        links = tuple(self._network.link(name, field) for name in via)
        return self._router.path(flow.name, *ends, links, field)

    def _route_switch(self, mover: Mover, flow: str, node: int, tails: tuple[int, ...]) -> int:
        key = (mover.entry, node, tails, flow if mover.moves_each_alone else "")
        if key not in self._switch_index:
            self._switch_index[key] = len(self.route_switches)
            limit = mover.of.hold_limit
            self.route_switches.append(
                plan.RouteSwitch(
                    name=f"{mover.name}/{len(self.switches_of[mover.entry])}", node=node,
                    alternatives=list(tails), initial=0, hold_limit_packets=None if limit is None else int(limit),
                )
            )  # fmt: skip
            self.switches_of[mover.entry].append(self._switch_index[key])
            if mover.moves_each_alone:
                self.switches_of_flow[mover.entry].setdefault(flow, []).append(self._switch_index[key])
        return self._switch_index[key]


def _mover_of_flow(movers: Sequence[Mover], flows: Sequence[PlannedFlow]) -> Mapping[str, Mover]:
    """The mover of each flow that one moves, by its name. Raises ScenarioError for a flow that two would move."""
    mover_of: dict[str, Mover] = {}
    for mover in movers:
        for flow in _moved_flows(mover, flows):
            if flow.name in mover_of:
                raise ScenarioError(f"{mover.entry}: flow {flow.name} is moved by {mover_of[flow.name].entry} already")
            mover_of[flow.name] = mover
    return mover_of


def _moved_flows(mover: Mover, flows: Sequence[PlannedFlow]) -> list[PlannedFlow]:
    if mover.of.group is not None:
        moved = [flow for flow in flows if flow.of.group == mover.of.group]
        if not moved:
            groups = sorted({flow.of.group for flow in flows})
            raise unknown(mover.of.group, groups, f"{mover.entry}.group", "group")
        return moved
    moved = []
    for i, name in enumerate(mover.of.flows):
        named = [flow for flow in flows if name in (flow.name, flow.of.name, flow.of.entry)]
        if not named:
            raise unknown(name, [flow.name for flow in flows], f"{mover.entry}.flows[{i}]", "flow")
        moved += named
    return moved


def _shared_prefix(routes: list[list[OneWay]]) -> int:
    length = 0
    for links in zip(*routes, strict=False):
        if any(link != links[0] for link in links):
            break
        length += 1
    return length
