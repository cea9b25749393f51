"""Puts what a ready topology and a ready schedule stand for beside what the scenario says itself."""

from __future__ import annotations

from daybreak.errors import ScenarioError

from ..scenario import Scenario
from ..topologies import Hybrid


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
        if not isinstance(topology, Hybrid):
            found = f'is "{topology.kind}"' if topology else "is missing"
            raise ScenarioError(
                f'schedule.kind = "{schedule.kind}": expected topology.kind = "hybrid", it {found}', "schedule.kind"
            )
        try:
            schedule.check(topology)
        except ValueError as error:
            raise ScenarioError(f"schedule.{error}", "schedule") from None
        changes |= {
            "marks": (*scenario.marks, *schedule.marks()),
            "markers": (*scenario.markers, *schedule.markers(topology)),
            "timelines": (*scenario.timelines, schedule.program(topology)),
        }
    return scenario.model_copy(update=changes)
