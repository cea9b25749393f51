"""Controllers, which change the network while flows run, in response to its state."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from daybreak.plan.types import Downtime

from .actions import refuse_other_path
from .choice import CircuitPolicy, FlowPolicy
from .model import Names, Tagged
from .quantities import Span
from .timelines import MovedFlows
from .traffic import Via


class CircuitController(Tagged):
    """Opens links, which are dark at the start, when queues show demand, and closes them again."""

    kind: Literal["circuit"] = "circuit"
    """The kind of controller."""
    name: str | None = None
    """Unique name; by default "controller-0" ..."""
    policy: CircuitPolicy
    """The policy, with its parameters: see `daybreak list schedules`."""
    queues: Names = Field(min_length=1)
    """Queues that it watches, which count together; each by its name, or that of the link it belongs to."""
    links: Names = Field(min_length=1)
    """Links that it opens and closes together. They are dark at the start."""
    setup: Span = Span(0)
    """Time from the decision to open the links until they are open."""
    downtime: Downtime = "hold"
    """What happens to packets that can only take a link when it closes."""

    @model_validator(mode="after")
    def _makes_sense(self) -> "CircuitController":
        refuse_other_path(self.downtime)
        return self


class FlowController(MovedFlows, Tagged):
    """Moves single flows between their paths. They start on the first path of `between`, the normal one; each of the
    others serves one flow at a time, or as many as the number of times it is listed.
    """

    kind: Literal["paths"] = "paths"
    """The kind of controller."""
    between: tuple[Via, ...] = Field(min_length=2)
    """The paths, each as the links that it takes."""
    name: str | None = None
    """Unique name; by default "controller-0" ..."""
    policy: FlowPolicy
    """The policy, with its parameters: see `daybreak list schedules`."""
    setup: Span = Span(0)
    """Time from the decision to move a flow until its new path is in force. Moves back to the first path take effect at
    once."""
    downtime: Downtime = "make_before_break"
    """What happens to the flow's packets in that time."""
    priorities: dict[str, Annotated[int, Field(ge=0, lt=2**32)]] = {}
    """Priorities of flows or groups: the highest goes first. Others have 0."""
    deadlines: dict[str, Annotated[Span, Field(gt=0)]] = {}
    """Deadlines of flows or groups, relative to their start."""


Controller = Annotated[CircuitController | FlowController, Field(discriminator="kind")]
"""A controller, selected by its `kind`."""
