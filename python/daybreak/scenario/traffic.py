"""Flows, and generators of flows."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from .choice import Variant
from .model import Model, Names, Tagged
from .programs import Programs
from .quantities import FlowSize, Rate, Size, Span, reject
from .times import Time
from .workloads import AllAtOnce, Every, OnePair, Pairs, Process, Sizes, Trace

MOST_MESSAGE = 2**36
"""Bytes of a request or a response."""


class RequestResponse(Tagged):
    """Requests and their responses, one after the other on one TCP connection, which the sender closes at the end."""

    kind: Literal["request_response"] = "request_response"
    """The kind of application."""
    request: Size = Field(gt=0, le=MOST_MESSAGE)
    """Payload of each request."""
    response: Size | None = Field(default=None, gt=0, le=MOST_MESSAGE)
    """Payload of each response; in `arrivals`, without it, what `sizes` draws for the flow."""
    exchanges: int = Field(default=1, ge=1, le=1_000_000)
    """How many requests there are."""
    think: Time = Span(0)
    """Time from the end of a response to the next request."""


class ConstantRate(Tagged):
    """Datagrams of one size at even intervals, over UDP."""

    kind: Literal["constant_rate"] = "constant_rate"
    """The kind of application."""
    rate: Rate = Field(gt=0)
    """Rate of the UDP payload."""
    payload: Size = Field(ge=16)
    """Payload of each datagram, which begins with its number and the time at which it was sent (16 bytes)."""
    stop: Span | None = None
    """When it ends; without it, with the run."""


Application = Annotated[RequestResponse | ConstantRate | Programs, Field(discriminator="kind")]
"""What a flow does if it is no bulk transfer."""


Via = Names
"""Links that a path must take, in their order; the rest of it is the shortest way."""


class Flow(Model):
    """A bulk transfer over one TCP connection, or another application; `count` of them for each pair of hosts.

    `from` and `to` are a host or a group of hosts each. "senders[*]" are the hosts sender-0, sender-1 ...: a group is
    called as its hosts are, with an "s", and its index is the number in their names, as in "senders[3]",
    "senders[0:8]" (0 to 7), "senders[8:]". Hosts with two numbers have two indices: "hosts[0][*]" are host-0-0,
    host-0-1 .... The hosts at a switch are a group by its name, counted from 0 in the order of the network:
    "leaf-0[0:2]". A group as `from` and a host as `to` are an incast.
    """

    name: str | None = None
    """Unique name; "flow-0", "flow-1" ... without one. The hosts of a group are added, as in "incast/sender-0", or
    "all/sender-0->receiver-1" where both are groups; with a `count`, then "-0", "-1" ...."""
    from_: str = Field(alias="from")
    """Sending host, or a group of hosts, each of which sends."""
    to: str
    """Receiving host, or a group of hosts, each of which receives."""
    pairing: Literal["all", "one_to_one"] = "all"
    """Each host of `from` sends to each of `to` except itself, or to the one in its place alone."""
    variant: Variant = Variant("cubic")
    """Congestion control, with its parameters: see `daybreak list variants`."""
    size: FlowSize | Literal["unlimited"] | None = None
    """Payload of a bulk transfer, or "unlimited"."""
    application: Application | None = None
    """What the flow does instead of a bulk transfer."""
    start: Time = Span(0)
    """When the sender opens the connection, or sends its first datagram."""
    count: int = Field(default=1, ge=1, le=100_000)
    """How many such flows there are, for each pair of hosts."""
    group: str | None = None
    """Flows that metrics add up; the entry's `name` without one."""
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
        if isinstance(self.application, RequestResponse) and self.application.response is None:
            raise reject("expected an application with a response: only arrivals draw it")
        return self


class Arrivals(Model):
    """Flows that a generator makes: of random sizes, at random times, between many hosts.

    It makes flows until its `sizes` or its `process` have no more, or until `count` or `lasts` says so.
    """

    name: str = Field(min_length=1)
    """Unique name; the flows are called "<name>-0", "<name>-1" ..."""
    from_: str | None = Field(default=None, alias="from")
    """Sending host, where all flows have one."""
    to: str | None = None
    """Receiving host, where all flows have one."""
    pairs: Pairs | None = None
    """Between which hosts flows go, by its kind in `daybreak list pairs`, instead of `from` and `to`. Where it takes
    several hosts, it takes groups of them as well, such as "senders[*]" (see `flows`)."""
    variant: Variant = Variant("cubic")
    """Congestion control, with its parameters: see `daybreak list variants`."""
    sizes: Sizes | None = None
    """What they carry, by its kind in `daybreak list sizes`."""
    application: RequestResponse | None = None
    """What the flows do instead of bulk transfers: each asks, and the responses have the drawn size."""
    every: Time | None = None
    """Time between arrivals; two generators with the same `every` and `start` make pairs. Short for a `process`."""
    process: Process | None = None
    """When flows arrive, by its kind in `daybreak list processes`, instead of `every`."""
    at_once: int = Field(default=1, ge=1, le=100_000)
    """Flows that arrive together."""
    count: int | None = Field(default=None, ge=1, le=1_000_000)
    """Most flows."""
    lasts: Span | None = Field(default=None, gt=0)
    """Time in which flows arrive, from `start` on."""
    start: Time = Span(0)
    """The first arrival; with a Poisson process, the time from which on flows arrive."""
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
        """The process, which `every` is short for."""
        return self.process if self.process is not None else Every(gap=self.every)

    @property
    def host_pairs(self) -> Pairs:
        """The pairs, which `from` and `to` are short for."""
        return self.pairs if self.pairs is not None else OnePair(from_=self.from_, to=self.to)
