"""Pairs of leaves use their direct links in turn, as behind one space switch between two clusters."""

from collections import defaultdict
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from daybreak.plan.downtimes import POLICIES
from daybreak.plan.types import Downtime

from ..actions import Action, CloseGate, Darken, OpenGate, SetRoute
from ..model import Names
from ..quantities import Span
from ..timelines import Program, ProgramStep, Route
from ..topologies.leaf_spine import LeafSpine, Pair, direct, leaf_name, spine_name
from ..topologies.ready import ReadyNetwork
from .ready import Parts, ReadySchedule, Traffic

_SPINE, _DIRECT = 0, 1


class DirectTurns(ReadySchedule):
    """Opens the direct links of a leaf-spine network cyclically, one pair of leaves at a time.

    During a pair's turn its flows take its direct link; otherwise they take the first spine. All other direct links are
    dark. The turns follow the order of the topology's `direct`, the first from 0 s on. ACKs return the same way.
    """

    network: ClassVar[type[ReadyNetwork]] = LeafSpine
    kind: Literal["direct_turns"] = "direct_turns"
    """The kind of schedule."""
    turn: Span = Field(gt=0)
    """Length of a turn, including its night."""
    groups: Names = ()
    """Only flows of these groups take direct links; by default all flows between leaves with a direct link. Other flows
    between these need `via` and `ack_via`."""
    night: Span = Span(0)
    """Time at the start of each turn in which no direct link is up."""
    downtime: Downtime = "make_before_break"
    """What happens, in the night, to packets of the flows that move: with "make_before_break" they take the spine."""
    waiting: Literal["hold", "drop", "drain"] = "hold"
    """What happens to packets that wait for a direct link when its turn ends: they wait for its next turn, are dropped,
    or are still sent."""

    def parts(self, network: ReadyNetwork, traffic: Sequence[Traffic]) -> Parts:
        """The program and its routes."""
        assert isinstance(network, LeafSpine)
        if not network.direct:
            raise ValueError('turn: expected a topology with "direct" links')
        if self.night >= self.turn:
            raise ValueError(f"night = {self.night}: expected less than the turn of {self.turn}")
        known = {one.group for one in traffic}
        for group in self.groups:
            if group not in known:
                raise ValueError(f'groups: "{group}" is not a group of flows (known are {", ".join(sorted(known))})')
        routes = self._routes(network, traffic)
        return Parts(self._program(network, routes), tuple(route for both in routes.values() for route in both))

    def _routes(self, network: LeafSpine, traffic: Sequence[Traffic]) -> dict[Pair, list[Route]]:
        """For each pair the routes of its flows, by direction; none if it has no flows."""
        ways = {way for pair in network.direct for way in (pair, pair[::-1])}
        flows: defaultdict[tuple[int | None, int | None], list[str]] = defaultdict(list)
        for one in traffic:
            way = (network.leaf_of(one.source), network.leaf_of(one.destination))
            if not self.groups or one.group in self.groups:
                flows[way].append(one.name)
            elif way in ways and not one.says_its_way:
                raise ValueError(
                    f'groups: flow "{one.name}" of another group would take direct link {way[0]}-{way[1]}, the '
                    f'shortest way: expected a via and an ack_via for it, such as "{_up(way[0])}" and "{_up(way[1])}"'
                )
        return {
            pair: [
                Route(
                    name=out, flows=tuple(flows[way]), between=((_up(way[0]),), (out,)),
                    ack_between=((_up(way[1]),), (back,)),
                )
                for way, (out, back) in ((pair, _directions(pair)), (pair[::-1], _directions(pair)[::-1]))
                if flows[way]
            ]
            for pair in network.direct
        }  # fmt: skip

    def _program(self, network: LeafSpine, routes: dict[Pair, list[Route]]) -> Program:
        """Closes one pair's link, opens the next one's, and moves their flows."""
        pairs, turn, night = network.direct, int(self.turn), int(self.night)
        at: defaultdict[int, list[Action]] = defaultdict(list)
        # Links are open when a run starts, so the first step closes the others.
        at[0] += [action for pair in pairs[0 if night else 1 : -1] for action in self._closed(pair)]
        for place, pair in enumerate(pairs):
            before, start = pairs[place - 1], place * turn
            at[start] += self._closed(before) if len(pairs) > 1 or night else []
            moved = [*routes[before], *routes[pair]] if before != pair else routes[pair]
            if night and POLICIES[self.downtime].is_night:
                at[start] += [Darken(route=route.name, downtime=self.downtime) for route in moved]
                at[start + night] += [SetRoute(route=route.name, path=_SPINE) for route in routes[before]]
            else:
                at[start] += [SetRoute(route=route.name, path=_SPINE) for route in routes[before]]
            at[start + night] += [OpenGate(queue=link, link=link) for link in _directions(pair)]
            at[start + night] += [SetRoute(route=route.name, path=_DIRECT) for route in routes[pair]]
        steps = tuple(ProgramStep(at=Span(offset), do=tuple(at[offset])) for offset in sorted(at))
        return Program(name=self.kind, period=Span(len(pairs) * turn), steps=steps)

    def _closed(self, pair: Pair) -> list[Action]:
        return [CloseGate(queue=link, link=link, downtime=self.waiting) for link in _directions(pair)]


def _directions(pair: Pair) -> tuple[str, str]:
    """The names of both directions of a pair's direct link."""
    return direct(pair), f"{direct(pair)}.back"


def _up(source: int) -> str:
    """The link from a leaf to the first spine."""
    return f"{leaf_name(source)}->{spine_name(0)}"
