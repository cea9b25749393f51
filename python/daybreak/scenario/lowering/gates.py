"""The links that programs and controllers open and close: each has one owner."""

from __future__ import annotations

from collections.abc import Iterator

from daybreak.errors import ScenarioError

from ..controllers import CircuitController
from ..scenario import Scenario
from ..timelines import Circuit
from .network import Network


def refuse_shared_gates(scenario: Scenario, network: Network) -> None:
    """Raises ScenarioError for a link that two programs or controllers open and close."""
    owner_of: dict[int, str] = {}
    for field, owner, links in _gated(scenario, network):
        for link in sorted(links):
            if link in owner_of:
                name = network.links[link].name
                raise ScenarioError(f'{field}: link "{name}" is opened and closed by "{owner_of[link]}" already')
            owner_of[link] = owner


def _gated(scenario: Scenario, network: Network) -> Iterator[tuple[str, str, set[int]]]:
    """Field and name of all that opens and closes links, with these."""
    for i, line in enumerate(scenario.timelines):
        if isinstance(line, Circuit):
            field = f"timelines[{i}]"
            yield field, line.name or f"circuit-{i}", set().union(*matched_links(line, field, network))
    for i, controller in enumerate(scenario.controllers):
        if isinstance(controller, CircuitController):
            field = f"controllers[{i}]"
            yield field, controller.name or f"controller-{i}", set(controlled_links(controller, field, network))


def matched_links(program: Circuit, field: str, network: Network) -> list[set[int]]:
    """The links of each matching. Raises UnknownName."""
    return [
        {network.link(link, f"{field}.matchings[{k}]").index for link in matching}
        for k, matching in enumerate(program.matchings)
    ]


def controlled_links(controller: CircuitController, field: str, network: Network) -> list[int]:
    """The links that a controller opens and closes together, in the order of their indices. Raises UnknownName."""
    return sorted({network.link(link, f"{field}.links[{k}]").index for k, link in enumerate(controller.links)})
