"""The schedule of rotor switches: RotorNet (Mellette et al., SIGCOMM 2017), or with staggered nights Opera (NSDI
2020)."""

from collections import defaultdict
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from ..actions import Action, CloseGate, OpenGate
from ..quantities import Span
from ..timelines import Program, ProgramStep
from ..topologies.hybrid import Hybrid, circuit, packet, voq
from ..topologies.ready import ReadyNetwork
from .cycle import Interval, changes
from .ready import Parts, ReadySchedule, Traffic


class Rotor(ReadySchedule):
    """Several circuit switches share the N - 1 matchings of N racks; each cycles through its own, regardless of demand.

    Matching k connects rack (j + k) mod N to rack j, and belongs to switch (k - 1) mod `switches`. So each rack has as
    many circuits at a time as there are switches, less those without a matching left in the last slot of a week.
    """

    network: ClassVar[type[ReadyNetwork]] = Hybrid
    kind: Literal["rotor"] = "rotor"
    """The kind of schedule."""
    day: Span = Field(gt=0)
    """Length of a day, in which a switch keeps its circuits."""
    night: Span
    """Length of the night before each day."""
    switches: int = Field(ge=1, le=255)
    """Number of circuit switches, each with a link of the circuits' rate to every rack."""
    staggered: bool = False
    """Whether the switches have their nights one after another, as in Opera, or all at once, as in RotorNet."""
    packet_network: bool = False
    """Whether the packet network serves VOQs without a circuit; otherwise packets wait for their circuits."""

    def parts(self, network: ReadyNetwork, traffic: Sequence[Traffic]) -> Parts:
        """The program."""
        assert isinstance(network, Hybrid)
        if self.switches >= network.racks:
            raise ValueError(
                f"switches = {self.switches}: expected fewer than the {network.racks} racks of the topology"
            )
        return Parts(self.program(network))

    @property
    def slot(self) -> int:
        """Length in ps of a night and the day after it."""
        return int(self.night + self.day)

    def week(self, network: Hybrid) -> int:
        """Length in ps of the week in which each pair of racks has a circuit once."""
        return self.slot * -(-(network.racks - 1) // self.switches)

    def days(self, network: Hybrid) -> dict[tuple[int, int], Interval]:
        """The day of each ordered pair of racks in the week; it may end in the next week."""
        days: dict[tuple[int, int], Interval] = {}
        for k in range(1, network.racks):
            place, switch = divmod(k - 1, self.switches)
            late = switch * self.slot // self.switches if self.staggered else 0
            start = place * self.slot + late + int(self.night)
            for j in range(network.racks):
                days[(j + k) % network.racks, j] = (start, start + int(self.day))
        return days

    def program(self, network: Hybrid) -> Program:
        """The program."""
        period = self.week(network)
        at: defaultdict[int, list[Action]] = defaultdict(list)
        for pair, day in self.days(network).items():
            queue, up, way = voq(pair), packet(pair[0]), circuit(pair)
            for offset, is_day in changes([day], period):
                at[offset].append(OpenGate(queue=queue, link=way) if is_day else CloseGate(queue=queue, link=way))
            if not self.packet_network:
                at[0].append(CloseGate(queue=queue, link=up))
                continue
            start, end = day
            for offset, is_dark in changes([(start - int(self.night), end)], period):
                at[offset].append(CloseGate(queue=queue, link=up) if is_dark else OpenGate(queue=queue, link=up))
        steps = tuple(
            # Gates close before others open, so that no VOQ is served twice at one instant.
            ProgramStep(at=Span(offset), do=tuple(sorted(at[offset], key=lambda action: action.kind != "close_gate")))
            for offset in sorted(at)
        )
        return Program(name=self.kind, period=Span(period), steps=steps)
