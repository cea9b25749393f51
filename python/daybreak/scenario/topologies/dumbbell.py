"""Pairs of hosts with one bottleneck between them."""

from typing import Literal

from pydantic import Field

from ..model import Tagged
from ..network import Link, Node
from ..quantities import Framing, Loss, QueueLimit, Rate, Span


class Dumbbell(Tagged):
    """sender-0, sender-1 ... - left - right - receiver-0, receiver-1 ...; the link in the middle is "bottleneck"."""

    kind: Literal["dumbbell"] = "dumbbell"
    """Tells this topology."""
    pairs: int = Field(default=1, ge=1, le=10_000)
    """Number of senders, and of receivers."""
    rate: Rate
    """Rate of the bottleneck."""
    delay: Span
    """Delay of the bottleneck, one way."""
    queue: QueueLimit
    """Limit of the bottleneck's queues."""
    access_rate: Rate | None = None
    """Rate of the hosts' links; the bottleneck's without one."""
    access_delay: Span = Span.parse("1 us")
    """Delay of the hosts' links, one way."""
    loss: Loss = Loss(0.0)
    """Probability that a packet is lost on the bottleneck, in the direction of the data."""
    framing: Framing = Framing.parse("ethernet")
    """Bytes on the wire beyond the IP packet."""

    def build(self) -> tuple[list[Node], list[Link]]:
        """Its nodes and links."""
        senders = [f"sender-{i}" for i in range(self.pairs)]
        receivers = [f"receiver-{i}" for i in range(self.pairs)]
        nodes = [Node(name=name) for name in senders + receivers]
        nodes += [Node(name=name, kind="switch") for name in ("left", "right")]
        access = {"rate": self.access_rate or self.rate, "delay": self.access_delay, "framing": self.framing}
        middle = {"rate": self.rate, "delay": self.delay, "queue": self.queue, "framing": self.framing}
        links = [Link(from_=name, to="left", **access) for name in senders]
        if self.loss:
            links += [
                Link(name="bottleneck", from_="left", to="right", duplex=False, loss=self.loss, **middle),
                Link(name="bottleneck.back", from_="right", to="left", duplex=False, **middle),
            ]
        else:
            links.append(Link(name="bottleneck", from_="left", to="right", **middle))
        links += [Link(from_="right", to=name, **access) for name in receivers]
        return nodes, links
