"""Puts what a ready topology and a ready schedule stand for beside what the scenario says itself."""

from __future__ import annotations

from daybreak.errors import ScenarioError

from ..scenario import Scenario
from ..schedules import Traffic
from ..traffic import Arrivals, Flow
from .flows import unnamed


def expanded(scenario: Scenario) -> Scenario:
    """The same scenario in nodes, links, queues, markers and timelines, with neither topology nor schedule.

    What the scenario says itself keeps its place: nodes and links of a topology come before its own, queues, markers
    and timelines of both behind them. Raises ScenarioError.
    """
    topology, schedule = scenario.topology, scenario.schedule
    changes: dict[str, object] = {"topology": None, "schedule": None}
    if topology:
        nodes, links = topology.build()
        changes |= {
            "nodes": (*nodes, *scenario.nodes),
            "links": (*links, *scenario.links),
            "queues": (*scenario.queues, *topology.queues()),
        }
    if schedule:
        if not isinstance(topology, schedule.network):
            found = f'is "{topology.kind}"' if topology else "is missing"
            wanted = schedule.network.model_fields["kind"].default
            raise ScenarioError(
                f'schedule.kind = "{schedule.kind}": expected topology.kind = "{wanted}", it {found}', "schedule.kind"
            )
        try:
            parts = schedule.parts(topology, _traffic(scenario))
        except ValueError as error:
            raise ScenarioError(f"schedule.{error}", "schedule") from None
        changes |= {
            "marks": (*scenario.marks, *parts.marks),
            "markers": (*scenario.markers, *parts.markers),
            "routes": (*scenario.routes, *parts.routes),
            "timelines": (*scenario.timelines, parts.program),
        }
    return scenario.model_copy(update=changes)


def _traffic(scenario: Scenario) -> list[Traffic]:
    named: list[tuple[str, Flow | Arrivals]] = [
        *((flow.name or unnamed(i), flow) for i, flow in enumerate(scenario.flows)),
        *((arrivals.name, arrivals) for arrivals in scenario.arrivals),
    ]
    return [Traffic(name, one.group or name, one.from_, one.to, says_its_way=bool(one.via)) for name, one in named]
