"""The strobe schedule of Etalon (Mukerjee et al., NSDI 2020): every rack has a circuit to every other rack in turn."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from ..actions import Action, CloseGate, OpenGate, SetLimit, SetMark, SetParameter
from ..choice import ParameterValue
from ..model import Model
from ..network import Mark, Marker
from ..quantities import QueueLimit, Span, reject
from ..timelines import Program, ProgramStep
from ..topologies.hybrid import Hybrid, circuit, packet, tor, voq
from ..topologies.ready import ReadyNetwork
from .cycle import Interval, changes, is_inside
from .ready import Parts, ReadySchedule, Traffic

MARK = "circuit"
"""Name of the mark that announces circuits."""


class Resize(Model):
    """Larger VOQs for the days of their circuits."""

    limit: QueueLimit
    """Limit of a VOQ from `before` its day until the day ends. Excess packets are then dropped from the tail."""
    before: Span = Span(0)
    """Time before the day."""
    threshold: ParameterValue | None = None
    """Parameter `threshold` of the VOQ's discipline during that time, if it has one."""


class Announce(Model):
    """Marks that announce a circuit to senders: on the packets that return from the circuit's far end, at the switch in
    front of the senders."""

    before: Span = Span(0)
    """Time before the day at which marking starts."""
    shown_as: Literal["ece"] = "ece"
    """How the host perceives the mark."""
    until: Literal["day_end", "next_check"] = "day_end"
    """When marking ends. "next_check" does as Etalon's switch: it checks the schedule `before` each start of a night or
    a day, so that marking ends at the first check that finds no day of the circuit between the start of the current
    night or day and the time it looks ahead to. That may be long after the day."""


class Strobe(ReadySchedule):
    """Connects rack (j + k) mod N to rack j in the k-th day of a week of N - 1, each after a night.

    In a night the VOQs that get a circuit next wait; all others, and these after their day, are served by the packet
    network.
    """

    network: ClassVar[type[ReadyNetwork]] = Hybrid
    kind: Literal["strobe"] = "strobe"
    """The kind of schedule."""
    day: Span = Field(gt=0)
    """Length of a day."""
    night: Span
    """Length of the night before each day."""
    as_racks: int | None = Field(default=None, ge=2, le=10_000)
    """Number of racks to emulate, at least the actual number: the week is as long as with that number, and the racks'
    first day takes the place of the days they would have with the missing racks. Two racks have only one kind of day,
    so that it needs three."""
    resize: Resize | None = None
    """Larger VOQs for the days of their circuits."""
    announce: Announce | None = None
    """Marks that announce a circuit to senders."""

    @model_validator(mode="after")
    def _makes_sense(self) -> "Strobe":
        if self.announce and self.announce.until == "next_check" and self.night == 0:
            raise reject('has announce.until = "next_check" without nights: expected a night above 0 s')
        return self

    def parts(self, network: ReadyNetwork, traffic: Sequence[Traffic]) -> Parts:
        """The program and its markers."""
        assert isinstance(network, Hybrid)
        if self.as_racks is not None and self.as_racks < network.racks:
            raise ValueError(f"as_racks = {self.as_racks}: expected at least the {network.racks} racks of the topology")
        if (self.as_racks or 0) > network.racks == 2:
            raise ValueError(
                f"as_racks = {self.as_racks}: it changes nothing with 2 racks, whose days are all alike: leave it out, "
                "or give racks = 3 or more"
            )
        return Parts(self.program(network), marks=tuple(self.marks()), markers=tuple(self.markers(network)))

    @property
    def slot(self) -> int:
        """Length in ps of a night and the day after it."""
        return int(self.night + self.day)

    def week(self, network: Hybrid) -> int:
        """Length of a week in ps."""
        return self.slot * ((self.as_racks or network.racks) - 1)

    def days(self, network: Hybrid) -> dict[tuple[int, int], list[Interval]]:
        """The days of each ordered pair of racks in the week."""
        racks = network.racks
        extra = (self.as_racks or racks) - racks
        days: dict[tuple[int, int], list[Interval]] = {pair: [] for pair in network.pairs()}
        for place, k in enumerate([1] * extra + list(range(1, racks))):
            start = place * self.slot + int(self.night)
            for j in range(racks):
                days[(j + k) % racks, j].append((start, start + int(self.day)))
        return days

    def program(self, network: Hybrid) -> Program:
        """The program."""
        week, night = self.week(network), self.night
        at: defaultdict[int, list[Action]] = defaultdict(list)
        for pair, days in self.days(network).items():
            queue, up, way = voq(pair), packet(pair[0]), circuit(pair)
            for offset, is_dark in changes([(start - night, end) for start, end in days], week):
                at[offset].append(CloseGate(queue=queue, link=up) if is_dark else OpenGate(queue=queue, link=up))
            for offset, is_day in changes(days, week):
                at[offset].append(OpenGate(queue=queue, link=way) if is_day else CloseGate(queue=queue, link=way))
            if self.resize:
                before = int(self.resize.before)
                for offset, is_large in changes([(start - before, end) for start, end in days], week):
                    at[offset] += self._resized(queue, network, is_large)
            if self.announce:
                for offset, is_on in changes(self._announced(days, week), week):
                    at[offset].append(SetMark(marker=way, on=is_on))
        steps = tuple(
            # Gates close before others open, so that no link serves two queues at one instant.
            ProgramStep(at=Span(offset), do=tuple(sorted(at[offset], key=lambda action: action.kind != "close_gate")))
            for offset in sorted(at)
        )
        return Program(name=self.kind, period=Span(week), steps=steps)

    def marks(self) -> list[Mark]:
        """The marks that it uses."""
        return [Mark(name=MARK, shown_as=self.announce.shown_as)] if self.announce else []

    def markers(self, network: Hybrid) -> list[Marker]:
        """The markers that it switches."""
        if not self.announce:
            return []
        return [
            Marker(name=circuit((i, j)), mark=MARK, at=tor(i), from_=(tor(j),), to=(tor(i),))
            for i, j in network.pairs()
        ]

    def _resized(self, queue: str, network: Hybrid, is_large: bool) -> list[Action]:
        assert self.resize is not None
        actions: list[Action] = [SetLimit(queue=queue, limit=self.resize.limit if is_large else network.voq)]
        if self.resize.threshold is not None:
            given = dict(network.voq_kind.parameters)
            small = given.get("threshold", self.resize.threshold)
            value = self.resize.threshold if is_large else small
            actions.append(SetParameter(queue=queue, parameter="threshold", value=value))
        return actions

    def _announced(self, days: list[Interval], week: int) -> list[Interval]:
        assert self.announce is not None
        before = int(self.announce.before)
        if self.announce.until == "day_end":
            return [(start - before, end) for start, end in days]
        starts = [start for place in range(0, week, self.slot) for start in (place, place + int(self.night))]
        looks = [*starts, starts[0] + week]
        return [
            (look - before, after - before)
            for look, after in pairwise(looks)
            if is_inside(days, _latest(starts, look - before, week), look, week)
        ]


def _latest(starts: list[int], time: int, period: int) -> int:
    """The latest of the starts, repeated in every period, that is not after `time`."""
    return max(start + (time - start) // period * period for start in starts)
