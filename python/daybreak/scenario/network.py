"""Hosts, switches, links, queues and marks of a scenario."""

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

    The direction from `from` to `to` has the link's name, the other one the name with ".back". Without a name they are
    called "a->b" and "b->a".
    """

    name: str | None = None
    """Unique name; needed where links are parallel."""
    from_: str = Field(alias="from")
    """Node at its start."""
    to: str
    """Node at its end."""
    duplex: bool = True
    """Whether there is an equal link in the other direction."""
    rate: Rate
    """Rate of each direction."""
    delay: Span
    """Propagation delay."""
    queue: QueueLimit = QueueLimit.parse("1000 packets")
    """Limit of the link's queue at a switch (drop-tail). For a host's queue see `nic_queue`."""
    nic_queue: QueueLimit | None = None
    """Limit of the link's queue at a host; unlimited if not given."""
    queue_kind: Discipline = Discipline("drop_tail")
    """Queue discipline of the link's own queue at a switch, with its parameters; drop-tail at a host."""
    scheduler: Literal["round_robin", "strict_priority"] = "round_robin"
    """How the link chooses among several queues: one packet of each in turn, or by priority."""
    framing: Framing = Framing.parse("ethernet")
    """Bytes on the wire beyond the IP packet."""
    loss: Loss = Loss(0.0)
    """Probability that a packet is lost on the link."""
    jitter: Span = Span(0)
    """Largest additional delay of a packet, uniform between zero and this; packets keep their order."""

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
    """A queue in front of one or several links, such as a VOQ that both a packet network and a circuit may serve.

    All links start at the same switch. If they end at different ones, the link that serves a packet determines where it
    goes: on the shortest path from there.
    """

    name: str = Field(min_length=1)
    """Unique name."""
    served_by: Names = Field(min_length=1)
    """Links that may serve it, in the order in which they are tried."""
    to: Names = ()
    """Hosts, groups of hosts, or switches for all hosts at them: only packets to these wait here; by default all
    packets that would cross one of the links. If several queues match, the one listed first takes the packet."""
    arriving_by: Names = ()
    """Links: only packets that arrive over these wait here."""
    limit: QueueLimit
    """Limit of the queue."""
    kind: Discipline = Discipline("drop_tail")
    """Queue discipline, with its parameters."""
    priority: int = Field(default=0, ge=0, le=255)
    """With strict priority, a link serves the queue with the greatest value first."""
    returned_limit: QueueLimit | None = None
    """Capacity, in packets, for packets that come back from a full queue further on. They are served before the others
    and do not count against the limit. By default none can come back."""
    overflow: Literal["drop", "return"] = "drop"
    """What happens to a packet that finds the queue full: it is dropped, or returns to the last queue on its path with
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
    """How the receiving host perceives it: "ece" sets the ECE flag of the TCP header."""


class Marker(Model):
    """A place that marks the packets that pass while it is on. The action `set_mark` switches it."""

    name: str = Field(min_length=1)
    """Unique name."""
    mark: str
    """Name of the mark."""
    at: str
    """Node that the packets pass."""
    from_: Names = Field(default=(), alias="from")
    """Senders of the packets: hosts, groups of hosts such as "senders[0:8]" (see `flows`), or switches for all hosts at
    them; by default all."""
    to: Names = ()
    """Destinations of the packets: hosts, groups of hosts, or switches for all hosts at them; by default all."""
    on: bool = False
    """Whether it is on at the start."""
