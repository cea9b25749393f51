"""Programs that change the network while flows run."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .model import Tagged
from .quantities import QueueLimit, Span, reject
from .traffic import Via

Downtime = Literal["drop", "hold", "drain", "make_before_break"]
"""What becomes of packets in a night: lost; held until the day; held, but what was queued before is sent;
or carried by the old path until the new one is there."""


class Migrate(Tagged):
    """Moves flows from one path to the next at the end of every period, round and round.

    Each period begins with its `night` (if there is one), in which no path is there; the day follows. The first
    period has no night: the flows start on the first path.
    """

    kind: Literal["migrate"] = "migrate"
    """Tells this kind of timeline."""
    name: str | None = None
    """Unique name; "migrate-0" ... without one."""
    group: str | None = None
    """Moves every flow of this group."""
    flows: tuple[str, ...] = ()
    """Moves these flows (each by its name, or the name of a flow with a `count`)."""
    between: tuple[Via, ...] = Field(min_length=2)
    """The paths, each as the links that it takes."""
    ack_between: tuple[Via, ...] = ()
    """The paths of the ACKs, if these move as well: as many as `between`."""
    period: Span = Field(gt=0)
    """Time between two moves, the night included."""
    night: Span = Span(0)
    """Time without a path at the start of every period but the first."""
    downtime: Downtime = "drop"
    """What becomes of packets in the night."""
    hold_limit: QueueLimit | None = None
    """Most packets that are held in a night; without it all are."""
    start: Span = Span(0)
    """Start of the first period: the first move is one period later."""

    @model_validator(mode="after")
    def _makes_sense(self) -> "Migrate":
        if (self.group is None) == (not self.flows):
            raise reject("moves nothing: expected either a group or a list of flows")
        if self.night >= self.period:
            raise reject(f"has a period of {self.period}: expected one longer than its night of {self.night}")
        if self.ack_between and len(self.ack_between) != len(self.between):
            raise reject(
                f"has {len(self.ack_between)} paths in ack_between: expected {len(self.between)} as in between"
            )
        if self.hold_limit is not None and not self.hold_limit.in_packets:
            raise reject(f"has a hold_limit of {self.hold_limit}: expected packets")
        return self


class Circuit(Tagged):
    """Opens and closes links in turn, week after week.

    In each week every matching has a day, in which its links are open, and then a night, in which none is. Links
    of the program are dark before `start` and in what is left of a longer week.
    """

    kind: Literal["circuit"] = "circuit"
    """Tells this kind of timeline."""
    name: str | None = None
    """Unique name; "circuit-0" ... without one."""
    matchings: tuple[Via, ...] = Field(min_length=1)
    """Links that are open in each day."""
    day: Span = Field(gt=0)
    """Length of a day."""
    night: Span
    """Length of the night after each day."""
    week: Span | None = None
    """Length of a week; all days and nights without one."""
    downtime: Downtime = "hold"
    """What becomes of the packets that wait for a link when it closes."""
    start: Span = Span(0)
    """Start of the first week."""

    @property
    def length(self) -> int:
        """Picoseconds from one week to the next."""
        return int(self.week or len(self.matchings) * (self.day + self.night))

    @model_validator(mode="after")
    def _makes_sense(self) -> "Circuit":
        days = Span(len(self.matchings) * (self.day + self.night))
        if self.week is not None and self.week < days:
            raise reject(f"has a week of {self.week}: expected at least its days and nights, {days}")
        if self.downtime == "make_before_break":
            raise reject(
                'has downtime "make_before_break": expected "drop", "hold" or "drain", a circuit has no other path'
            )
        if not any(self.matchings):
            raise reject("has no link in any matching: expected at least one")
        return self


Timeline = Annotated[Migrate | Circuit, Field(discriminator="kind")]
