"""Flows, and generators of flows."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from .choice import Variant
from .model import Model, Names, Tagged
from .quantities import FlowSize, Rate, Size, Span, reject

_MOST_MESSAGE = 2**36


class Uniform(Model):
    """A time drawn evenly between two."""

    uniform: tuple[Span, Span]
    """Earliest and latest."""

    @model_validator(mode="after")
    def _in_order(self) -> "Uniform":
        if self.uniform[0] > self.uniform[1]:
            raise reject(f"expected the earlier time first, not {self.uniform[0]} before {self.uniform[1]}")
        return self


class Exponential(Model):
    """A time drawn from an exponential distribution."""

    exponential: Span = Field(gt=0)
    """Mean."""


_DRAWN = (("uniform", Uniform), ("exponential", Exponential))


def _kind_of_time(value: Any) -> str:
    for name, model in _DRAWN:
        if isinstance(value, model) or (isinstance(value, dict) and name in value):
            return model.__name__
    return "fixed"


Time = Annotated[
    Annotated[Span, Tag("fixed")] | Annotated[Uniform, Tag("Uniform")] | Annotated[Exponential, Tag("Exponential")],
    Discriminator(_kind_of_time),
]
"""A time such as "1 ms", or one that is drawn: {uniform = ["0 s", "1 ms"]}, {exponential = "1 ms"}."""


class RequestResponse(Tagged):
    """Requests and their responses, one after the other on one TCP connection, which the sender closes at the end."""

    kind: Literal["request_response"] = "request_response"
    """Tells this kind of application."""
    request: Size = Field(gt=0, le=_MOST_MESSAGE)
    """Payload of each request."""
    response: Size = Field(gt=0, le=_MOST_MESSAGE)
    """Payload of each response."""
    exchanges: int = Field(default=1, ge=1, le=1_000_000)
    """How many requests there are."""
    think: Time = Span(0)
    """Time from the end of a response to the next request."""


class ConstantRate(Tagged):
    """Datagrams of one size at even intervals, over UDP."""

    kind: Literal["constant_rate"] = "constant_rate"
    """Tells this kind of application."""
    rate: Rate = Field(gt=0)
    """Rate of the UDP payload."""
    payload: Size = Field(ge=16)
    """Payload of each datagram, which begins with its number and the time at which it was sent (16 bytes)."""
    stop: Span | None = None
    """When it ends; without it, with the run."""


Application = Annotated[RequestResponse | ConstantRate, Field(discriminator="kind")]
"""What a flow does if it is no bulk transfer."""


Via = Names
"""Links that a path must take, in their order; the rest of it is the shortest way."""


class Flow(Model):
    """A bulk transfer over one TCP connection, or another application; `count` of them."""

    name: str | None = None
    """Unique name; "flow-0", "flow-1" ... without one. With a `count`, "-0", "-1" ... are added."""
    from_: str = Field(alias="from")
    """Sending host."""
    to: str
    """Receiving host."""
    variant: Variant = Variant("cubic")
    """Congestion control, with its parameters: see `daybreak list variants`."""
    size: FlowSize | Literal["unlimited"] | None = None
    """Payload of a bulk transfer, or "unlimited"."""
    application: Application | None = None
    """What the flow does instead of a bulk transfer."""
    start: Time = Span(0)
    """When the sender opens the connection, or sends its first datagram."""
    count: int = Field(default=1, ge=1, le=100_000)
    """How many such flows there are."""
    group: str | None = None
    """Flows that metrics add up; without one, each flow's `name` before the number."""
    via: Via = ()
    """Links that the data must take."""
    ack_via: Via = ()
    """Links that the ACKs must take."""
    stack: str | None = None
    """Name of the sender's stack in `stacks`; the scenario's `stack` without one."""
    receiver_stack: str | None = None
    """Name of the receiver's stack; the same as the sender's without one."""

    @model_validator(mode="after")
    def _does_one_thing(self) -> "Flow":
        if (self.size is None) == (self.application is None):
            raise reject(f"expected either size or application, not {'none' if self.size is None else 'both'} of them")
        return self


class Sizes(Model):
    """Random sizes that add up to a total: each is drawn evenly from those that still allow it."""

    choice: tuple[Size, ...] = Field(min_length=1, max_length=1_000)
    """Sizes to choose from."""
    total: Size = Field(gt=0)
    """What all of them add up to."""
    max_flows: int = Field(default=1000, ge=1, le=100_000)
    """Most flows."""

    @model_validator(mode="after")
    def _no_empty_flow(self) -> "Sizes":
        if min(self.choice) == 0:
            raise reject("expected sizes above 0 B to choose from")
        return self


class Arrivals(Model):
    """Flows that arrive one after the other (or `at_once` together) with random sizes."""

    name: str = Field(min_length=1)
    """Unique name; the flows are called "<name>-0", "<name>-1" ..."""
    from_: str = Field(alias="from")
    """Sending host."""
    to: str
    """Receiving host."""
    variant: Variant = Variant("cubic")
    """Congestion control, with its parameters: see `daybreak list variants`."""
    sizes: Sizes
    """What they carry."""
    every: Time
    """Time between arrivals; two generators with the same `every` and `start` make pairs."""
    at_once: int = Field(default=1, ge=1, le=100_000)
    """Flows that arrive together."""
    start: Time = Span(0)
    """The first arrival."""
    group: str | None = None
    """Flows that metrics add up; the generator's name without one."""
    via: Via = ()
    """Links that the data must take."""
    ack_via: Via = ()
    """Links that the ACKs must take."""
    stack: str | None = None
    """Name of the sender's stack in `stacks`; the scenario's `stack` without one."""
    receiver_stack: str | None = None
    """Name of the receiver's stack; the same as the sender's without one."""
    stream: str | None = None
    """Name of the random stream of the sizes; generators that share one draw the same sizes."""
