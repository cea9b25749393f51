"""Pairs of hosts with one bottleneck between them."""

from typing import Literal

from pydantic import Field

from ..choice import Discipline
from ..network import Link, Node
from ..quantities import Framing, Loss, QueueLimit, Rate, Span
from . import two_sides
from .ready import ReadyNetwork


class Dumbbell(ReadyNetwork):
    """sender-0, sender-1 ... - left - right - receiver-0, receiver-1 ...; the link in the middle is "bottleneck"."""

    kind: Literal["dumbbell"] = "dumbbell"
    """The kind of topology."""
    pairs: int = Field(default=1, ge=1, le=10_000)
    """Number of senders, and of receivers."""
    rate: Rate
    """Rate of the bottleneck."""
    delay: Span
    """Delay of the bottleneck, one way."""
    queue: QueueLimit
    """Limit of the bottleneck's queues."""
    queue_kind: Discipline = Discipline("drop_tail")
    """Queue discipline of the bottleneck's queues, with its parameters."""
    other_queue_kind: Discipline = Discipline("drop_tail")
    """Queue discipline of the other queues at switches, which have no limit, with its parameters."""
    access_rate: Rate | None = None
    """Rate of the hosts' links; by default the bottleneck's."""
    access_delay: Span = Span.parse("1 us")
    """Delay of the hosts' links, one way."""
    loss: Loss = Loss(0.0)
    """Probability that a packet is lost on the bottleneck, in the direction of the data."""
    jitter: Span = Span(0)
    """Largest additional delay of a packet on the hosts' links, which keeps hosts of one rate from sending in step."""
    framing: Framing = Framing.parse("ethernet")
    """Bytes on the wire beyond the IP packet."""

    def build(self) -> tuple[list[Node], list[Link]]:
        """Its nodes and links."""
        access = {
            "rate": self.access_rate or self.rate, "delay": self.access_delay, "queue_kind": self.other_queue_kind,
            "jitter": self.jitter, "framing": self.framing,
        }  # fmt: skip
        bottleneck = {
            "rate": self.rate, "delay": self.delay, "queue": self.queue, "queue_kind": self.queue_kind,
            "framing": self.framing,
        }  # fmt: skip
        if self.loss:
            middle = [
                Link(name="bottleneck", from_="left", to="right", duplex=False, loss=self.loss, **bottleneck),
                Link(name="bottleneck.back", from_="right", to="left", duplex=False, **bottleneck),
            ]
        else:
            middle = [Link(name="bottleneck", from_="left", to="right", **bottleneck)]
        return two_sides.build(self.pairs, access=access, middle=middle)
