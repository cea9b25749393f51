"""Controllers: what changes the network while flows run, by what it sees of it."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .actions import Downtime
from .choice import CircuitPolicy, FlowPolicy
from .model import Names, Tagged
from .quantities import Span, reject
from .timelines import MovedFlows
from .traffic import Via


class CircuitController(Tagged):
    """Opens links that are dark at the start when queues show that they are needed, and closes them again."""

    kind: Literal["circuit"] = "circuit"
    """The kind of controller."""
    name: str | None = None
    """Unique name; "controller-0" ... without one."""
    policy: CircuitPolicy
    """What decides, with its parameters: see `daybreak list schedules`."""
    queues: Names = Field(min_length=1)
    """Queues that it watches: they count together. Each by its name, or that of a link that has it for itself."""
    links: Names = Field(min_length=1)
    """Links that it opens and closes together. They are dark at the start."""
    setup: Span = Span(0)
    """Time from the decision to open the links to their being open."""
    downtime: Downtime = "hold"
    """What becomes of the packets that wait for a link alone when it closes."""

    @model_validator(mode="after")
    def _makes_sense(self) -> "CircuitController":
        if self.downtime == "make_before_break":
            raise reject(
                'has downtime "make_before_break": expected "drop", "hold" or "drain", a circuit has no other path'
            )
        return self


class FlowController(MovedFlows, Tagged):
    """Moves single flows between their paths. They start on the first path of `between`, the normal one; each of the
    others is for one flow at a time; one that is listed several times, for as many.
    """

    kind: Literal["paths"] = "paths"
    """The kind of controller."""
    between: tuple[Via, ...] = Field(min_length=2)
    """The paths, each as the links that it takes."""
    name: str | None = None
    """Unique name; "controller-0" ... without one."""
    policy: FlowPolicy
    """What decides, with its parameters: see `daybreak list schedules`."""
    setup: Span = Span(0)
    """Time from the decision to move a flow to its new path's being in force. A flow is put back on the first path at
    once."""
    downtime: Downtime = "make_before_break"
    """What becomes of the flow's packets in that time."""
    priorities: dict[str, Annotated[int, Field(ge=0, lt=2**32)]] = {}
    """Flows or groups, and their priorities: the highest goes first. Others have 0."""
    deadlines: dict[str, Annotated[Span, Field(gt=0)]] = {}
    """Flows or groups, and how long after their start they should be complete."""


Controller = Annotated[CircuitController | FlowController, Field(discriminator="kind")]
"""One of them, by its kind."""
