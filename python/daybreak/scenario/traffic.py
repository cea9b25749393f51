"""Flows, and generators of flows."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from .choice import Variant
from .model import Model, Names, Tagged
from .programs import Programs
from .quantities import FlowSize, Rate, Size, Span, reject
from .times import Time
from .workloads.pairs import OnePair, Pairs
from .workloads.processes import AllAtOnce, Every, Process, Trace
from .workloads.sizes import Sizes

MOST_MESSAGE = 2**36
"""Size of a request or a response."""


class RequestResponse(Tagged):
    """Successive requests and responses on one TCP connection, which the sender closes at the end."""

    kind: Literal["request_response"] = "request_response"
    """The kind of application."""
    request: Size = Field(gt=0, le=MOST_MESSAGE)
    """Payload of each request."""
    response: Size | None = Field(default=None, gt=0, le=MOST_MESSAGE)
    """Payload of each response; in `arrivals` by default the size drawn from `sizes`."""
    exchanges: int = Field(default=1, ge=1, le=1_000_000)
    """Number of requests."""
    think: Time = Span(0)
    """Time from the end of a response to the next request."""


class ConstantRate(Tagged):
    """Datagrams of one size at even intervals, over UDP."""

    kind: Literal["constant_rate"] = "constant_rate"
    """The kind of application."""
    rate: Rate = Field(gt=0)
    """Rate of the UDP payload."""
    payload: Size = Field(ge=16)
    """Payload of each datagram, which begins with its number and its sending time (16 bytes)."""
    stop: Span | None = None
    """End of the flow; by default the end of the run."""


Application = Annotated[RequestResponse | ConstantRate | Programs, Field(discriminator="kind")]
"""The application of a flow that is no bulk transfer."""


Via = Names
"""Links that a path must take, in order; the rest of it is the shortest way."""


class Flow(Model):
    """A bulk transfer over one TCP connection, or another application; `count` of them for each pair of hosts.

    `from` and `to` are each a host or a group of hosts. "senders[*]" are the hosts sender-0, sender-1 ...: a group has
    the name of its hosts with an "s", and its index is the number in their names, as in "senders[3]", "senders[0:8]" (0
    to 7), "senders[8:]". Hosts with two numbers have two indices: "hosts[0][*]" are host-0-0, host-0-1 .... The hosts
    at a switch form a group with its name, counted from 0 in the order of the network: "leaf-0[0:2]". A group as `from`
    and a host as `to` form an incast.
    """

    name: str | None = None
    """Unique name; by default "flow-0", "flow-1" ... For groups the host is appended, as in "incast/sender-0", or
    "all/sender-0->receiver-1" if both are groups; with a `count`, then "-0", "-1" ...."""
    from_: str = Field(alias="from")
    """Sending host, or a group of hosts, each of which sends."""
    to: str
    """Receiving host, or a group of hosts, each of which receives."""
    pairing: Literal["all", "one_to_one"] = "all"
    """Each host of `from` sends to each of `to` except itself, or only to the one at the same position."""
    variant: Variant = Variant("cubic")
    """Congestion control, with its parameters: see `daybreak list variants`."""
    size: FlowSize | Literal["unlimited"] | None = None
    """Payload of a bulk transfer, or "unlimited"."""
    application: Application | None = None
    """The application, if the flow is no bulk transfer."""
    start: Time = Span(0)
    """When the sender opens the connection, or sends its first datagram."""
    count: int = Field(default=1, ge=1, le=100_000)
    """Number of such flows for each pair of hosts."""
    group: str | None = None
    """Group of flows that metrics aggregate; by default the entry's `name`."""
    via: Via = ()
    """Links that the data must take."""
    ack_via: Via = ()
    """Links that the ACKs must take."""
    stack: str | None = None
    """Name of the sender's stack in `stacks`; by default the scenario's `stack`."""
    receiver_stack: str | None = None
    """Name of the receiver's stack; by default the sender's."""

    @model_validator(mode="after")
    def _does_one_thing(self) -> "Flow":
        if (self.size is None) == (self.application is None):
            raise reject(f"expected either size or application, not {'none' if self.size is None else 'both'} of them")
        if isinstance(self.application, RequestResponse) and self.application.response is None:
            raise reject("expected an application with a response: only arrivals draw it")
        return self


class Arrivals(Model):
    """A generator of flows of random sizes, at random times, between many hosts.

    It generates flows until its `sizes` or its `process` is exhausted, or until `count` or `lasts` is reached.
    """

    name: str = Field(min_length=1)
    """Unique name; the flows are named "<name>-0", "<name>-1" ..."""
    from_: str | None = Field(default=None, alias="from")
    """Sending host, if it is the same for all flows."""
    to: str | None = None
    """Receiving host, if it is the same for all flows."""
    pairs: Pairs | None = None
    """The choice of host pairs, by its kind in `daybreak list pairs`, instead of `from` and `to`. Lists of hosts may
    contain groups, such as "senders[*]" (see `flows`)."""
    variant: Variant = Variant("cubic")
    """Congestion control, with its parameters: see `daybreak list variants`."""
    sizes: Sizes | None = None
    """The distribution of sizes, by its kind in `daybreak list sizes`."""
    application: RequestResponse | None = None
    """The application, if the flows are no bulk transfers: responses have the drawn size."""
    every: Time | None = None
    """Time between arrivals, short for a `process`; two generators with equal `every` and `start` generate pairs."""
    process: Process | None = None
    """The arrival process, by its kind in `daybreak list processes`, instead of `every`."""
    at_once: int = Field(default=1, ge=1, le=100_000)
    """Number of flows per arrival."""
    count: int | None = Field(default=None, ge=1, le=1_000_000)
    """Most flows."""
    lasts: Span | None = Field(default=None, gt=0)
    """Duration of the arrivals, from `start` on."""
    start: Time = Span(0)
    """Time of the first arrival; with a Poisson process, the time from which flows arrive."""
    group: str | None = None
    """Group of flows that metrics aggregate; by default the generator's name."""
    via: Via = ()
    """Links that the data must take."""
    ack_via: Via = ()
    """Links that the ACKs must take."""
    stack: str | None = None
    """Name of the sender's stack in `stacks`; by default the scenario's `stack`."""
    receiver_stack: str | None = None
    """Name of the receiver's stack; by default the sender's."""
    stream: str | None = None
    """Name of the random stream of the sizes; generators that share it draw the same sizes."""

    @model_validator(mode="after")
    def _says_each_thing_once(self) -> Self:
        if (self.every is None) == (self.process is None):
            raise reject(f"expected either every or process, not {'none' if self.every is None else 'both'} of them")
        if (self.from_ is None) != (self.to is None):
            raise reject("expected both from and to, or pairs")
        responds = self.application is not None and self.application.response is not None
        if isinstance(self.process, Trace):
            given = [key for key in ("from_", "pairs", "sizes") if getattr(self, key) is not None]
            if given or responds or self.at_once > 1:
                key = given[0].rstrip("_") if given else "application.response" if responds else "at_once"
                raise reject(f"expected no {key}: a trace says the hosts, size and time of each flow")
            return self
        if (self.from_ is None) == (self.pairs is None):
            raise reject(
                f"expected either from and to or pairs, not {'none' if self.pairs is None else 'both'} of them"
            )
        if (self.sizes is None) != responds:
            where = "an application with a response" if self.sizes is None else "the application's response"
            raise reject(f"expected {'sizes or ' + where if self.sizes is None else 'either sizes or ' + where}")
        if isinstance(self.process, AllAtOnce) and self.at_once > 1:
            raise reject('expected count: process.kind = "all_at_once" has no other at_once')
        return self

    @property
    def arrival_process(self) -> Process:
        """The process that `every` is short for, or the given one."""
        return self.process if self.process is not None else Every(gap=self.every)

    @property
    def host_pairs(self) -> Pairs:
        """The pairs that `from` and `to` are short for, or the given ones."""
        return self.pairs if self.pairs is not None else OnePair(from_=self.from_, to=self.to)
