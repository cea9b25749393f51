"""Hosts, switches, links and shared queues, as a scenario names them."""

from typing import Literal

from pydantic import Field, model_validator

from .model import Model
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
    queue_kind: str = "drop_tail"
    """Queue discipline, by its name in `daybreak list queues`."""
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


class SharedQueue(Model):
    """One queue that several parallel links may serve, such as a VOQ in front of a packet link and a circuit."""

    name: str = Field(min_length=1)
    """Unique name."""
    served_by: tuple[str, ...] = Field(min_length=2)
    """Links that may serve it, in the order in which they are tried; all join the same two nodes."""
    limit: QueueLimit
    """Most that may wait."""
    kind: str = "drop_tail"
    """Queue discipline, by its name in `daybreak list queues`."""
