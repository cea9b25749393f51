"""Programs that change the network while flows run, and the routes that they switch."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from daybreak.plan.types import Downtime

from .actions import Action, refuse_other_path
from .model import Model, Tagged
from .quantities import QueueLimit, Span, reject
from .traces import LinkTrace
from .traffic import Via


class MovedFlows(Model):
    """Flows, and the paths between which they are moved."""

    group: str | None = None
    """Moves every flow of this group."""
    flows: tuple[str, ...] = ()
    """Moves these flows (each by its name, or the name of a flow with a `count`)."""
    between: tuple[Via, ...] = ()
    """The paths, each as a list of links; by default only the ACKs move, which may carry responses."""
    ack_between: tuple[Via, ...] = ()
    """The paths of the ACKs, if these move as well: as many as in `between`."""
    hold_limit: QueueLimit | None = None
    """Largest number of packets held in a night; by default all are."""

    @model_validator(mode="after")
    def _moves_something(self) -> "MovedFlows":
        if (self.group is None) == (not self.flows):
            raise reject("moves nothing: expected either a group or a list of flows")
        if len(self.ways) < 2:
            raise reject(f"has {len(self.ways)} paths in between: expected at least 2")
        if self.between and self.ack_between and len(self.ack_between) != len(self.between):
            raise reject(
                f"has {len(self.ack_between)} paths in ack_between: expected {len(self.between)} as in between"
            )
        if self.hold_limit is not None and not self.hold_limit.in_packets:
            raise reject(f"has a hold_limit of {self.hold_limit}: expected packets")
        return self

    @property
    def ways(self) -> tuple[Via, ...]:
        """The paths of the data, or of the ACKs if only these move."""
        return self.between or self.ack_between


class Route(MovedFlows):
    """Flows that a program moves with the action `set_route`. They start on the first path."""

    name: str = Field(min_length=1)
    """Unique name."""


class Migrate(MovedFlows, Tagged):
    """Moves flows cyclically from one path to the next at the end of every period.

    Each period begins with its `night` (if there is one), in which the flows have no path; the day follows. The first
    period has no night: the flows start on the first path.
    """

    kind: Literal["migrate"] = "migrate"
    """The kind of timeline."""
    name: str | None = None
    """Unique name; by default "migrate-0" ..."""
    period: Span = Field(gt=0)
    """Time between two moves, including the night."""
    night: Span = Span(0)
    """Time without a path at the start of every period except the first."""
    downtime: Downtime = "drop"
    """What happens to packets in the night."""
    start: Span = Span(0)
    """Start of the first period: the first move is one period later."""

    @model_validator(mode="after")
    def _makes_sense(self) -> "Migrate":
        if self.night >= self.period:
            raise reject(f"has a period of {self.period}: expected one longer than its night of {self.night}")
        return self


class Circuit(Tagged):
    """Opens and closes links in a fixed order that repeats every week.

    In each week every matching has a day, in which its links are open, followed by a night, in which none is. The
    program's links are dark before `start` and in the remainder of a longer week.
    """

    kind: Literal["circuit"] = "circuit"
    """The kind of timeline."""
    name: str | None = None
    """Unique name; by default "circuit-0" ..."""
    matchings: tuple[Via, ...] = Field(min_length=1)
    """Links that are open in each day, one list per day."""
    day: Span = Field(gt=0)
    """Length of a day."""
    night: Span
    """Length of the night after each day."""
    week: Span | None = None
    """Length of a week; by default the sum of all days and nights."""
    downtime: Downtime = "hold"
    """What happens to packets that wait for a link when it closes."""
    start: Span = Span(0)
    """Start of the first week."""

    @property
    def length(self) -> int:
        """Length of a week in ps."""
        return int(self.week or len(self.matchings) * (self.day + self.night))

    @model_validator(mode="after")
    def _makes_sense(self) -> "Circuit":
        days = Span(len(self.matchings) * (self.day + self.night))
        if self.week is not None and self.week < days:
            raise reject(f"has a week of {self.week}: expected at least its days and nights, {days}")
        refuse_other_path(self.downtime)
        if not any(self.matchings):
            raise reject("has no link in any matching: expected at least one")
        return self


class ProgramStep(Model):
    """The actions of a program at one time of its period."""

    at: Span
    """Time after the start of the period."""
    do: tuple[Action, ...] = Field(min_length=1)
    """Actions, in order."""


class Program(Tagged):
    """Repeats its steps in every period."""

    kind: Literal["program"] = "program"
    """The kind of timeline."""
    name: str | None = None
    """Unique name; by default "program-0" ..."""
    period: Span = Field(gt=0)
    """Length of a period."""
    start: Span = Span(0)
    """Start of the first period."""
    steps: tuple[ProgramStep, ...] = Field(min_length=1)
    """The steps, in chronological order."""

    @model_validator(mode="after")
    def _makes_sense(self) -> "Program":
        for before, step in zip((None, *self.steps), self.steps, strict=False):
            if before is not None and step.at < before.at:
                raise reject(f"has a step at {step.at} behind one at {before.at}: expected the order of time")
            if step.at >= self.period:
                raise reject(f"has a step at {step.at}: expected a time before the end of the period of {self.period}")
        return self


Timeline = Annotated[Migrate | Circuit | Program | LinkTrace, Field(discriminator="kind")]
