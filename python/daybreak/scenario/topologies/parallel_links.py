"""Two switches with several links between them, such as a packet network and a light-path."""

from typing import Literal

from pydantic import Field

from ..choice import Discipline
from ..model import Model
from ..network import Link, Node
from ..quantities import Framing, QueueLimit, Rate, Span
from . import two_sides
from .ready import ReadyNetwork


class ParallelLink(Model):
    """One of the links between the switches."""

    name: str = Field(min_length=1)
    """Unique name."""
    rate: Rate
    """Rate of each direction."""
    delay: Span
    """Delay, one way."""
    queue: QueueLimit
    """Limit of its queues."""
    queue_kind: Discipline = Discipline("drop_tail")
    """Queue discipline of the link's queues, with its parameters."""


class ParallelLinks(ReadyNetwork):
    """sender-0 ... - left = right - receiver-0 ...; the links between left and right have their own names."""

    kind: Literal["parallel_links"] = "parallel_links"
    """The kind of topology."""
    pairs: int = Field(default=1, ge=1, le=10_000)
    """Number of senders, and of receivers."""
    between: tuple[ParallelLink, ...] = Field(min_length=2)
    """The links between the switches."""
    access_rate: Rate
    """Rate of the hosts' links."""
    access_delay: Span = Span.parse("1 us")
    """Delay of the hosts' links, one way."""
    other_queue_kind: Discipline = Discipline("drop_tail")
    """Queue discipline of the switches' queues for hosts, which have no limit, with its parameters."""
    jitter: Span = Span(0)
    """Largest additional delay of a packet on the hosts' links, which keeps hosts of one rate from sending in step."""
    framing: Framing = Framing.parse("ethernet")
    """Bytes on the wire beyond the IP packet."""

    def build(self) -> tuple[list[Node], list[Link]]:
        """Its nodes and links."""
        access = {
            "rate": self.access_rate, "delay": self.access_delay, "queue_kind": self.other_queue_kind,
            "jitter": self.jitter, "framing": self.framing,
        }  # fmt: skip
        middle = [
            Link(
                name=link.name, from_="left", to="right", rate=link.rate, delay=link.delay, queue=link.queue,
                queue_kind=link.queue_kind, framing=self.framing,
            )
            for link in self.between
        ]  # fmt: skip
        return two_sides.build(self.pairs, access=access, middle=middle)
