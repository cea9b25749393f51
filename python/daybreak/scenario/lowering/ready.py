"""Expands a ready topology and a ready schedule into nodes, links, queues, markers and programs."""

from __future__ import annotations

from collections.abc import Sequence

from daybreak.errors import ScenarioError

from ..scenario import Scenario
from ..schedules.ready import Traffic
from ..topologies import Topology
from .planned import PlannedFlow


def with_topology(scenario: Scenario) -> Scenario:
    """The scenario with its topology expanded into nodes, links and queues.

    The topology's nodes and links are placed before the scenario's own, its queues after them.
    """
    topology = scenario.topology
    if topology is None:
        return scenario
    nodes, links = topology.build()
    return scenario.model_copy(
        update={
            "topology": None,
            "nodes": (*nodes, *scenario.nodes),
            "links": (*links, *scenario.links),
            "queues": (*scenario.queues, *topology.queues()),
        }
    )


def with_schedule(scenario: Scenario, topology: Topology | None, flows: Sequence[PlannedFlow]) -> Scenario:
    """The scenario with its schedule expanded into routes, markers and timelines, placed after its own. Raises
    ScenarioError."""
    schedule = scenario.schedule
    if schedule is None:
        return scenario
    if not isinstance(topology, schedule.network):
        found = f'is "{topology.kind}"' if topology else "is missing"
        wanted = schedule.network.model_fields["kind"].default
        raise ScenarioError(
            f'schedule.kind = "{schedule.kind}": expected topology.kind = "{wanted}", it {found}', "schedule.kind"
        )
    families = dict.fromkeys(flow.of for flow in flows)
    traffic = [
        Traffic(one.name, one.group, one.source, one.destination, says_its_way=bool(one.via)) for one in families
    ]
    try:
        parts = schedule.parts(topology, traffic)
    except ValueError as error:
        raise ScenarioError(f"schedule.{error}", "schedule") from None
    return scenario.model_copy(
        update={
            "schedule": None,
            "marks": (*scenario.marks, *parts.marks),
            "markers": (*scenario.markers, *parts.markers),
            "routes": (*scenario.routes, *parts.routes),
            "timelines": (*scenario.timelines, parts.program),
        }
    )
