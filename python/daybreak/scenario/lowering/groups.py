"""Replaces patterns by the hosts and links that they select, in markers, queues, traces and records."""

from __future__ import annotations

from collections.abc import Sequence

from daybreak.errors import ScenarioError

from ..network import Link, Node
from ..scenario import Scenario
from ..traces import LinkTrace
from .hosts import HostGroups
from .patterns import is_pattern, numbered, select

_ARROW = "->"
_BACK = ".back"


def with_groups(scenario: Scenario) -> Scenario:
    """The scenario, whose network and schedule are expanded, without patterns in what it says about hosts and links.
    Raises ScenarioError."""
    hosts, links = HostGroups(scenario.nodes, scenario.links), LinkGroups(scenario.nodes, scenario.links)
    records = scenario.records
    return scenario.model_copy(
        update={
            "markers": tuple(
                marker.model_copy(
                    update={
                        "from_": hosts.among(marker.from_, f"markers[{i}].from"),
                        "to": hosts.among(marker.to, f"markers[{i}].to"),
                    }
                )
                for i, marker in enumerate(scenario.markers)
            ),
            "queues": tuple(
                queue.model_copy(update={"to": hosts.among(queue.to, f"queues[{i}].to")})
                for i, queue in enumerate(scenario.queues)
            ),
            "timelines": tuple(
                line.model_copy(update={"links": links.among(line.links, f"timelines[{i}].links")})
                if isinstance(line, LinkTrace)
                else line
                for i, line in enumerate(scenario.timelines)
            ),
            "records": records.model_copy(
                update={
                    key: links.among(getattr(records, key), f"records.{key}")
                    for key in ("taps", "links", "packets", "capture")
                }
            ),
        }
    )


class LinkGroups:
    """The groups of a network's links, each of one direction.

    Links whose names end in numbers form groups as hosts do: circuit-0-1 is one of "circuits[0][*]", and its other
    direction of "circuits[0][*].back". An arrow selects links by their ends, each a node or a group of nodes:
    "senders[*]->left".
    """

    def __init__(self, nodes: Sequence[Node], links: Sequence[Link]):
        self._hosts = HostGroups(nodes, links)
        self._numbered_nodes = numbered(node.name for node in nodes)
        self._names = {node.name for node in nodes}
        self._ends = {link.forward_name: (link.from_, link.to) for link in links}
        self._ends |= {link.back_name: (link.to, link.from_) for link in links if link.duplex}
        self._numbered_links = numbered(link.name for link in links if link.name)

    def among(self, names: Sequence[str], field: str) -> tuple[str, ...]:
        """The names, with each pattern replaced by its links, each once. Raises ScenarioError."""
        return tuple(dict.fromkeys(link for name in names for link in self._of(name, field)))

    def _of(self, name: str, field: str) -> tuple[str, ...]:
        if name in self._ends or not is_pattern(name):
            return (name,)
        first, arrow, last = name.partition(_ARROW)
        if arrow:
            sources, targets = self._nodes(first, field), self._nodes(last, field)
            found = tuple(link for link, (start, end) in self._ends.items() if start in sources and end in targets)
        else:
            suffix = _BACK if name.endswith(_BACK) else ""
            chosen = select(
                name.removesuffix(_BACK), self._numbered_links, field, "link", '"circuits[0][*]" or "senders[*]->left"'
            )
            found = tuple(f"{link}{suffix}" for link in chosen if f"{link}{suffix}" in self._ends)
        if not found:
            raise ScenarioError(f'{field} = "{name}": no link is in it: expected at least one', field)
        return found

    def _nodes(self, name: str, field: str) -> set[str]:
        """The nodes at one end of an arrow."""
        if name in self._names or not is_pattern(name):
            return {name}
        stem, _, indices = name.partition("[")
        if (stem, indices.count("[") + 1) in self._numbered_nodes:
            return set(select(name, self._numbered_nodes, field, "node", '"senders[*]"'))
        return set(self._hosts.of(name, field) or (name,))
