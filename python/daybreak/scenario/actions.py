"""Actions by which a program changes the network; things are referred to by name."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from daybreak.plan.downtimes import POLICIES
from daybreak.plan.types import Downtime

from .choice import ParameterValue
from .model import Tagged
from .quantities import Loss, QueueLimit, Rate, Span, reject


class OpenGate(Tagged):
    """Lets a link serve a queue."""

    kind: Literal["open_gate"] = "open_gate"
    """The kind of action."""
    queue: str
    """Name of the queue, or of the link that it belongs to."""
    link: str
    """One of the links that may serve it."""


class CloseGate(Tagged):
    """Stops a link from serving a queue."""

    kind: Literal["close_gate"] = "close_gate"
    """The kind of action."""
    queue: str
    """Name of the queue, or of the link that it belongs to."""
    link: str
    """One of the links that may serve it."""
    downtime: Downtime = "hold"
    """What happens to the packets that wait."""


def _limit(value: object) -> object:
    return value if value == "unlimited" else QueueLimit.parse(value)


class SetLimit(Tagged):
    """Changes a queue's limit. The first packets that fit are kept, the others are dropped at once."""

    kind: Literal["set_limit"] = "set_limit"
    """The kind of action."""
    queue: str
    """Name of the queue, or of the link that it belongs to."""
    limit: Annotated[QueueLimit | Literal["unlimited"], BeforeValidator(_limit)]
    """The new limit, or "unlimited"."""


class SetRate(Tagged):
    """Changes a link's rate. A packet that is being sent finishes at the old rate."""

    kind: Literal["set_rate"] = "set_rate"
    """The kind of action."""
    link: str
    """Name of the link (of one direction)."""
    rate: Rate
    """The rate from now on."""


class SetDelay(Tagged):
    """Changes a link's propagation delay, for packets whose last bit leaves from now on. No packet overtakes another:
    if the delay falls, a packet that would arrive too early arrives right behind the one before it."""

    kind: Literal["set_delay"] = "set_delay"
    """The kind of action."""
    link: str
    """Name of the link (of one direction)."""
    delay: Span
    """The delay from now on."""


class SetLoss(Tagged):
    """Changes a link's probability of random loss, for packets whose first bit leaves from now on."""

    kind: Literal["set_loss"] = "set_loss"
    """The kind of action."""
    link: str
    """Name of the link (of one direction)."""
    loss: Loss
    """The probability from now on."""


class SetParameter(Tagged):
    """Sets a parameter of a queue's discipline."""

    kind: Literal["set_parameter"] = "set_parameter"
    """The kind of action."""
    queue: str
    """Name of the queue, or of the link that it belongs to."""
    parameter: str
    """Name of the parameter."""
    value: ParameterValue
    """Its value from now on."""


class SetMark(Tagged):
    """Switches a marker on or off."""

    kind: Literal["set_mark"] = "set_mark"
    """The kind of action."""
    marker: str
    """Name of the marker."""
    on: bool
    """Whether packets that pass get its mark from now on."""


class SetRoute(Tagged):
    """Moves flows to one of the paths of a route."""

    kind: Literal["set_route"] = "set_route"
    """The kind of action."""
    route: str
    """Name of the route."""
    path: int = Field(ge=0)
    """Which path of its `between`, counted from 0."""


class Darken(Tagged):
    """Leaves the flows of a route without a path until the next `set_route`."""

    kind: Literal["darken"] = "darken"
    """The kind of action."""
    route: str
    """Name of the route."""
    downtime: Downtime = "hold"
    """What happens to packets meanwhile."""


Action = Annotated[
    OpenGate | CloseGate | SetLimit | SetRate | SetDelay | SetLoss | SetParameter | SetMark | SetRoute | Darken,
    Field(discriminator="kind"),
]
"""An action, selected by its `kind`."""


def refuse_other_path(downtime: Downtime) -> None:
    """Raises if a policy for closing links needs another one for their queues."""
    if not POLICIES[downtime].is_of_circuits:
        *others, last = (f'"{name}"' for name, policy in POLICIES.items() if policy.is_of_circuits)
        expected = f"{', '.join(others)} or {last}"
        raise reject(f'has downtime "{downtime}": expected {expected}, a circuit has no other path')
