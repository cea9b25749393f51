"""Finds routes as lists of links: the shortest path (fewest links), or one through links that the user names."""

from __future__ import annotations

from collections import deque

from daybreak._native import Stream
from daybreak.errors import ScenarioError

from .network import Network, OneWay


class Router:
    """Finds paths. Hosts do not forward."""

    def __init__(self, network: Network, routing: str, seed: int):
        self._network = network
        self.draws = routing == "ecmp"
        """Whether a flow draws among equally short ways."""
        self._seed = seed
        self._leaving: list[list[OneWay]] = [[] for _ in network.nodes]
        self._entering: list[list[OneWay]] = [[] for _ in network.nodes]
        for link in network.links:
            self._leaving[link.source].append(link)
            self._entering[link.target].append(link)
        self._hops: dict[int, list[int]] = {}
        self._ends: dict[int, tuple[int, list[OneWay]]] = {}
        self._ways: dict[tuple[int, int], list[OneWay]] = {}

    def from_link(self, link: OneWay, destination: int, field: str) -> list[OneWay]:
        """The links from the end of `link` to `destination`: the first of the shortest paths."""
        return self._shortest(link.target, destination, None, field)

    def path(self, flow: str, source: int, destination: int, via: tuple[OneWay, ...], field: str) -> list[OneWay]:
        """The links from `source` to `destination` through all of `via`.

        Among equally short paths it takes the first, or with ECMP the one that the stream of `flow` draws.
        """
        draw = Stream(self._seed, f"route/{flow}/{source}-{destination}") if self.draws else None
        if not via:
            # A shortest path crosses no link twice, and no host.
            return self._shortest(source, destination, draw, field)
        path: list[OneWay] = []
        here = source
        for link in via:
            path += self._shortest(here, link.source, draw, field)
            path.append(link)
            here = link.target
        path += self._shortest(here, destination, draw, field)
        if len({link.index for link in path}) < len(path):
            names = ", ".join(link.name for link in path)
            raise ScenarioError(f"{field}: the path would cross a link twice: {names}", field)
        through = [link.target for link in path[:-1] if self._network.nodes[link.target].kind == "host"]
        if through:
            host = self._network.nodes[through[0]].name
            raise ScenarioError(f'{field}: the path would lead through "{host}": hosts do not forward', field)
        return path

    def _shortest(self, source: int, target: int, draw: Stream | None, field: str) -> list[OneWay]:
        if source == target:
            return []
        if target not in self._ends:
            self._ends[target] = self._before(target)
        end, last = self._ends[target]
        path: list[OneWay] = []
        here = source
        while here != end:
            ways = self._ways.get((here, end))
            if ways is None:
                ways = self._ways[here, end] = self._ways_to(here, end)
            if not ways:
                names = [self._network.nodes[node].name for node in (source, target)]
                raise ScenarioError(f'{field}: there is no path from "{names[0]}" to "{names[1]}"', field)
            link = ways[draw.below(len(ways)) if draw and len(ways) > 1 else 0]
            path.append(link)
            here = link.target
        return path + last

    def _ways_to(self, source: int, end: int) -> list[OneWay]:
        """The first links of the shortest paths from one node to another; empty if there is no path."""
        hops = self._hops_to(end)
        ways = [link for link in self._leaving[source] if hops[link.target] == hops[source] - 1 >= 0]
        return [link for link in ways if link.target == end or self._network.nodes[link.target].kind != "host"]

    def _before(self, target: int) -> tuple[int, list[OneWay]]:
        """The only switch that a node is attached to and the link between; the node itself if there is no single one.

        All hosts of a switch then share the search for paths to it.
        """
        entering = self._entering[target]
        if len(entering) == 1 and self._network.nodes[entering[0].source].kind == "switch":
            return entering[0].source, entering
        return target, []

    def _hops_to(self, target: int) -> list[int]:
        """Number of links from each node to `target`; -1 if there is no path."""
        if target not in self._hops:
            hops = [-1] * len(self._leaving)
            hops[target] = 0
            waiting = deque([target])
            while waiting:
                node = waiting.popleft()
                if node != target and self._network.nodes[node].kind == "host":
                    continue
                for link in self._entering[node]:
                    if hops[link.source] < 0:
                        hops[link.source] = hops[node] + 1
                        waiting.append(link.source)
            self._hops[target] = hops
        return self._hops[target]
