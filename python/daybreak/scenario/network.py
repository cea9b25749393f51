"""Hosts, switches, links, queues and marks, as a scenario names them."""

from typing import Literal

from pydantic import Field, model_validator

from .choice import Discipline
from .model import Model, Names
from .quantities import Framing, Loss, QueueLimit, Rate, Span, reject


class Node(Model):
    """A host or a switch."""

    name: str = Field(min_length=1)
    """Unique name."""
    kind: Literal["host", "switch"] = "host"
    """Flows start and end at hosts; switches forward."""


class Link(Model):
    """A link between two nodes, both ways unless `duplex = false`.

    The direction from `from` to `to` carries the link's name, the other one the name with ".back". Without a
    name they are called "a->b" and "b->a".
    """

    name: str | None = None
    """Unique name; needed where links are parallel."""
    from_: str = Field(alias="from")
    """Node at its start."""
    to: str
    """Node at its end."""
    duplex: bool = True
    """Whether there is the same link in the other direction."""
    rate: Rate
    """Rate of each direction."""
    delay: Span
    """Propagation delay."""
    queue: QueueLimit = QueueLimit.parse("1000 packets")
    """Most that waits for the link at a switch; drop-tail. A host's queue has its limit in `nic_queue`."""
    nic_queue: QueueLimit | None = None
    """Most that waits for the link at a host; without it nothing is ever dropped there."""
    queue_kind: Discipline = Discipline("drop_tail")
    """Queue discipline of the link's own queue at a switch, with its parameters; drop-tail at a host."""
    scheduler: Literal["round_robin", "strict_priority"] = "round_robin"
    """How it chooses among several queues: one packet of each in turn, or by their priority."""
    framing: Framing = Framing.parse("ethernet")
    """Bytes on the wire beyond the IP packet."""
    loss: Loss = Loss(0.0)
    """Probability that a packet is lost on the link."""
    jitter: Span = Span(0)
    """Most that a packet is late beyond the delay, drawn evenly from zero to this; packets keep their order."""

    @model_validator(mode="after")
    def _ends_differ(self) -> "Link":
        if self.from_ == self.to:
            raise reject(f'joins "{self.to}" with itself: expected two nodes')
        return self

    @property
    def forward_name(self) -> str:
        """Name of the direction from `from` to `to`."""
        return self.name or f"{self.from_}->{self.to}"

    @property
    def back_name(self) -> str:
        """Name of the other direction."""
        return f"{self.name}.back" if self.name else f"{self.to}->{self.from_}"


class Queue(Model):
    """A queue in front of one or several links, such as a VOQ that a packet network and a circuit may serve.

    The links all start at one switch. Where they end at different ones, the link that serves a packet decides where the
    packet goes: on the shortest way from there.
    """

    name: str = Field(min_length=1)
    """Unique name."""
    served_by: Names = Field(min_length=1)
    """Links that may serve it, in the order in which they are tried."""
    to: Names = ()
    """Hosts, or switches for all hosts at them: only packets to these wait here. Without it, all do that would cross
    one of the links. Of several queues that fit, the one listed first takes the packet."""
    arriving_by: Names = ()
    """Links: only packets that come over these wait here."""
    limit: QueueLimit
    """Most that may wait."""
    kind: Discipline = Discipline("drop_tail")
    """Queue discipline, with its parameters."""
    priority: int = Field(default=0, ge=0, le=255)
    """Of the queues of a link with strict priority those with the greatest are served first."""
    returned_limit: QueueLimit | None = None
    """Room for packets that come back from a full queue further on, in packets. These are served before the others
    and do not count against the limit. Without it none can come back."""
    overflow: Literal["drop", "return"] = "drop"
    """What becomes of a packet that finds the queue full: it is lost, or returns to the last queue on its way that has
    a `returned_limit`, to be sent again."""

    @model_validator(mode="after")
    def _makes_sense(self) -> "Queue":
        if self.returned_limit is not None and not self.returned_limit.in_packets:
            raise reject(f"has a returned_limit of {self.returned_limit}: expected packets")
        return self


class Mark(Model):
    """Something that the network writes on packets."""

    name: str = Field(min_length=1)
    """Unique name."""
    shown_as: Literal["ece"]
    """How the receiving host sees it: "ece" sets the ECE flag of the TCP header."""


class Marker(Model):
    """A place that writes a mark on the packets that pass, while it is on. An action `set_mark` switches it."""

    name: str = Field(min_length=1)
    """Unique name."""
    mark: str
    """Name of the mark."""
    at: str
    """Node that the packets pass."""
    from_: Names = Field(default=(), alias="from")
    """Hosts, or switches for all hosts at them, that send the packets; all without it."""
    to: Names = ()
    """Hosts, or switches for all hosts at them, to which the packets go; all without it."""
    on: bool = False
    """Whether it is on at the start."""
