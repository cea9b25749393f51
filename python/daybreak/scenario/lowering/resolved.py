"""The first stage of lowering: names are indices, and what is random is drawn, but the paths with ECMP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daybreak.errors import ScenarioError

from ..scenario import Scenario
from ..stack import Stack
from .cost import refuse_short_intervals
from .families import Families
from .flows import planned_flows
from .gates import refuse_shared_gates
from .groups import with_groups
from .network import MarkingPlace, Network, marking_places
from .planned import PlannedFlow
from .queues import Queues
from .ready import with_schedule, with_topology


@dataclass(frozen=True, slots=True, eq=False)
class Resolved:
    """A scenario without ready parts and patterns, its network by index, and its flows with their numbers."""

    scenario: Scenario
    seed: int
    network: Network
    queues: Queues
    """Those that have a name, and those of links that none of them serves."""
    marking: Sequence[MarkingPlace]
    stacks: Mapping[str, Stack]
    flows: Sequence[PlannedFlow]
    families: Families


def resolve_scenario(scenario: Scenario, seed: int, variants: Sequence[str] | None) -> Resolved:
    """The first stage of `lower`, with its arguments. Raises ScenarioError."""
    topology, scenario = scenario.topology, with_topology(scenario)
    flows = planned_flows(scenario, seed, variants)
    scenario = with_groups(with_schedule(scenario, topology, flows))
    network = Network.of(scenario)
    queues = Queues.of(scenario, network)
    refuse_short_intervals(scenario, len(flows), len(scenario.records.sampled_queues or queues.at_switches()))
    refuse_shared_gates(scenario, network)
    stacks = _stacks(scenario)
    families = Families.of(flows, network, stacks, variants)
    return Resolved(scenario, seed, network, queues, marking_places(scenario, network), stacks, flows, families)


def _stacks(scenario: Scenario) -> dict[str, Stack]:
    if "stack" in scenario.stacks:
        raise ScenarioError('stacks.stack: expected another name, "stack" is the scenario\'s own', "stacks.stack")
    return {"stack": scenario.stack} | scenario.stacks
