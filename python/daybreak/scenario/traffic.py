"""Flows, and generators of flows."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from .choice import Variant
from .model import Model, Names
from .quantities import FlowSize, Size, Span, reject


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


Via = Names
"""Links that a path must take, in their order; the rest of it is the shortest way."""


class Flow(Model):
    """One TCP connection with a bulk transfer, or `count` of them."""

    name: str | None = None
    """Unique name; "flow-0", "flow-1" ... without one. With a `count`, "-0", "-1" ... are added."""
    from_: str = Field(alias="from")
    """Sending host."""
    to: str
    """Receiving host."""
    variant: Variant = Variant("cubic")
    """Congestion control, with its parameters: see `daybreak list variants`."""
    size: FlowSize | Literal["unlimited"]
    """Payload, or "unlimited"."""
    start: Time = Span(0)
    """When the sender opens the connection."""
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
