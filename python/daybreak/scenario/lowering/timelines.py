"""Timelines as the plan has them: branches that are switched, and gates that open and close."""

from __future__ import annotations

from typing import Any

from daybreak.errors import ScenarioError

from ..quantities import QueueLimit
from ..scenario import Scenario
from ..timelines import Circuit, Migrate
from .fabric import Fabric, OneWay
from .flows import PlannedFlow
from .names import unknown
from .paths import Router

Step = dict[str, int]


class Moves:
    """The paths of all flows, with a branch wherever a `migrate` timeline moves one."""

    def __init__(self, scenario: Scenario, fabric: Fabric, router: Router, flows: list[PlannedFlow]):
        self._fabric = fabric
        self._router = router
        self._programs = [(i, line) for i, line in enumerate(scenario.timelines) if isinstance(line, Migrate)]
        self._mover_of_flow = self._movers(flows)
        self.branches: list[dict[str, Any]] = []
        self._branches_of: dict[int, list[int]] = {i: [] for i, _ in self._programs}
        self._branch_index: dict[tuple[Any, ...], int] = {}

    def data_path(self, flow: PlannedFlow, source: int, destination: int) -> list[Step]:
        """The steps of the flow's data."""
        mover = self._mover_of_flow.get(flow.name)
        between = mover[1].between if mover else ()
        return self._path(flow, (source, destination), flow.via, "via", (mover, between, "between"))

    def ack_path(self, flow: PlannedFlow, source: int, destination: int) -> list[Step]:
        """The steps of its ACKs."""
        mover = self._mover_of_flow.get(flow.name)
        between = mover[1].ack_between if mover else ()
        return self._path(flow, (destination, source), flow.ack_via, "ack_via", (mover, between, "ack_between"))

    def timelines(self) -> list[dict[str, Any]]:
        """The programs that switch the branches."""
        return [self._timeline(i, program) for i, program in self._programs]

    def _timeline(self, index: int, program: Migrate) -> dict[str, Any]:
        period, night, paths = int(program.period), int(program.night), len(program.between)
        branches = self._branches_of[index]
        steps = []
        for k in range(paths):
            if night:
                dark = [{"darken": {"branch": b, "downtime": program.downtime}} for b in branches]
                steps.append({"offset_ps": k * period, "actions": dark})
            moved = [{"set_route": {"branch": b, "alternative": (k + 1) % paths}} for b in branches]
            steps.append({"offset_ps": k * period + night, "actions": moved})
        return {
            "name": program.name or f"migrate-{index}",
            "start_ps": int(program.start) + period,
            "period_ps": paths * period,
            "steps": steps,
        }

    def _movers(self, flows: list[PlannedFlow]) -> dict[str, tuple[int, Migrate]]:
        movers: dict[str, tuple[int, Migrate]] = {}
        for i, program in self._programs:
            field = f"timelines[{i}]"
            for flow in _moved_flows(program, flows, field):
                if flow.name in movers:
                    raise ScenarioError(
                        f"{field}: flow {flow.name} is moved by timelines[{movers[flow.name][0]}] already"
                    )
                movers[flow.name] = (i, program)
        return movers

    def _path(
        self,
        flow: PlannedFlow,
        ends: tuple[int, int],
        via: tuple[str, ...],
        via_field: str,
        moved: tuple[tuple[int, Migrate] | None, tuple[tuple[str, ...], ...], str],
    ) -> list[Step]:
        mover, between, between_field = moved
        if mover is None or not between:
            field = f"{flow.field}.{via_field}" if via else flow.field
            return self._queues(self._route(flow, ends, via, field))
        index, program = mover
        field = f"timelines[{index}].{between_field}"
        if via:
            raise ScenarioError(
                f"{flow.field}.{via_field} = {list(via)}: expected none, timelines[{index}] moves flow {flow.name}"
            )
        paths = [self._route(flow, ends, names, f"{field}[{k}]") for k, names in enumerate(between)]
        shared = _shared_prefix(paths)
        if any(len(path) == shared for path in paths):
            raise ScenarioError(f"{field}: all paths of flow {flow.name} are the same: expected different ones", field)
        node = paths[0][shared].source
        if self._fabric.nodes[node].kind == "host":
            name = self._fabric.nodes[node].name
            raise ScenarioError(
                f'{field}: the paths of flow {flow.name} part at host "{name}": expected a switch', field
            )
        tails = [self._queues(path[shared:]) for path in paths]
        return [*self._queues(paths[0][:shared]), {"branch": self._branch(index, program, node, tails)}]

    def _route(self, flow: PlannedFlow, ends: tuple[int, int], via: tuple[str, ...], field: str) -> list[OneWay]:
        links = tuple(self._fabric.link(name, field) for name in via)
        return self._router.path(flow.name, *ends, links, field)

    def _queues(self, path: list[OneWay]) -> list[Step]:
        return [{"queue": self._fabric.queue_of_link[link.index]} for link in path]

    def _branch(self, index: int, program: Migrate, node: int, tails: list[list[Step]]) -> int:
        key = (index, node, str(tails))
        if key not in self._branch_index:
            name = f"{program.name or f'migrate-{index}'}/{len(self._branches_of[index])}"
            self._branch_index[key] = len(self.branches)
            self._branches_of[index].append(len(self.branches))
            limit: QueueLimit | None = program.hold_limit
            self.branches.append(
                {
                    "name": name, "node": node, "alternatives": tails, "initial": 0,
                    "hold_limit_packets": None if limit is None else int(limit),
                }
            )  # fmt: skip
        return self._branch_index[key]


def circuits(scenario: Scenario, fabric: Fabric) -> list[dict[str, Any]]:
    """The programs that open and close gates."""
    documents: list[dict[str, Any]] = []
    gated: dict[int, str] = {}
    for i, program in enumerate(scenario.timelines):
        if isinstance(program, Circuit):
            documents += _circuit(i, program, fabric, gated, int(scenario.duration))
    return documents


def _circuit(index: int, program: Circuit, fabric: Fabric, gated: dict[int, str], end_ps: int) -> list[dict[str, Any]]:
    name = program.name or f"circuit-{index}"
    matchings: list[set[int]] = []
    for k, names in enumerate(program.matchings):
        field = f"timelines[{index}].matchings[{k}]"
        matchings.append({fabric.link(link, field).index for link in names})
    links = sorted(set().union(*matchings))
    for link in links:
        if link in gated:
            raise ScenarioError(
                f'timelines[{index}]: link "{fabric.links[link].name}" is opened and closed by "{gated[link]}" already'
            )
        gated[link] = name

    def opened(links: set[int]) -> list[dict[str, Any]]:
        return [{"open_gate": {"queue": fabric.queue_of_link[i], "link": i}} for i in sorted(links)]

    def closed(links: set[int]) -> list[dict[str, Any]]:
        return [
            {"close_gate": {"queue": fabric.queue_of_link[i], "link": i, "downtime": program.downtime}}
            for i in sorted(links)
        ]

    states = _states(program, matchings)
    steps = []
    # The first step closes what the week does not begin with; gates are open when a run starts.
    before = set(links)
    for offset, open_links in states:
        changes = closed(before - open_links) + opened(open_links if offset == 0 else open_links - before)
        if changes:
            steps.append({"offset_ps": offset, "actions": changes})
        before = open_links
    document = {"name": name, "start_ps": int(program.start), "period_ps": program.length, "steps": steps}
    if program.start == 0:
        return [document]
    dark = [{"offset_ps": 0, "actions": closed(set(links))}]
    return [{"name": f"{name}/before", "start_ps": 0, "period_ps": end_ps + 1, "steps": dark}, document]


def _states(program: Circuit, matchings: list[set[int]]) -> list[tuple[int, set[int]]]:
    """The links that are open from each offset of the week on."""
    states: dict[int, set[int]] = {}
    slot = int(program.day + program.night)
    for k, matching in enumerate(matchings):
        states[k * slot] = matching
        states[k * slot + int(program.day)] = set()
    # With nights of no length the next day, or the next week, begins where a night would.
    for k, matching in enumerate(matchings):
        states[k * slot] = matching
    states.pop(program.length, None)
    return sorted(states.items())


def _moved_flows(program: Migrate, flows: list[PlannedFlow], field: str) -> list[PlannedFlow]:
    if program.group is not None:
        moved = [flow for flow in flows if flow.group == program.group]
        if not moved:
            raise unknown(program.group, sorted({flow.group for flow in flows}), f"{field}.group", "group")
        return moved
    moved = []
    for i, name in enumerate(program.flows):
        named = [flow for flow in flows if name in (flow.name, flow.family)]
        if not named:
            raise unknown(name, [flow.name for flow in flows], f"{field}.flows[{i}]", "flow")
        moved += named
    return moved


def _shared_prefix(paths: list[list[OneWay]]) -> int:
    length = 0
    for links in zip(*paths, strict=False):
        if any(link != links[0] for link in links):
            break
        length += 1
    return length
