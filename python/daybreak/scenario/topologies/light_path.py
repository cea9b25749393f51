"""A sender and a receiver connected by a routed path, and a light-path from its first router to its last."""

from typing import Literal

from pydantic import Field

from ..choice import Discipline
from ..network import Link, Node
from ..quantities import Framing, QueueLimit, Rate, Span
from .ready import ReadyNetwork


class LightPath(ReadyNetwork):
    """sender, r1, r2, r3, receiver. The IP path from r1 to r3 takes the links "ip-1" and "ip-2", the light-path the
    one-way link "optical". The light-path has no reverse direction, so ACKs always return on the IP path; the path of
    the data is chosen by `via` of a flow, or by `between` of a timeline.

    The hosts' links, "sender" and "receiver", have no delay. Each IP link has a quarter of the base round-trip time
    each way, the light-path the delay `optical_delay`, so the round-trip time over the light-path is half of the base
    plus that delay.
    """

    kind: Literal["light_path"] = "light_path"
    """The kind of topology."""
    sender_rate: Rate
    """Rate of the sender's link."""
    ip_rate: Rate
    """Rate of both IP links."""
    optical_rate: Rate
    """Rate of the light-path."""
    receiver_rate: Rate
    """Rate of the receiver's link."""
    rtt: Span = Field(ge=8)
    """Base round-trip time on the IP path without serialisation."""
    optical_delay: Span | None = None
    """One-way delay of the light-path; by default a tenth of `rtt`, so that the round-trip time falls to 0.6 of it."""
    queue: QueueLimit = QueueLimit.parse("500 packets")
    """Limit of every queue at a router."""
    queue_kind: Discipline = Discipline("drop_tail")
    """Queue discipline of the routers' queues, with its parameters."""
    receiver_queue: QueueLimit | None = None
    """Limit of the queue for the receiver at r3; by default that of the other queues."""
    nic_queue: QueueLimit | None = None
    """Limit of the queue in the sender; unlimited if not given."""
    jitter: Span = Span(0)
    """Largest additional delay of a packet on the hosts' links, which keeps hosts of one rate from sending in step."""
    framing: Framing = Framing.parse("ethernet")
    """Bytes on the wire beyond the IP packet."""

    def build(self) -> tuple[list[Node], list[Link]]:
        """Its nodes and links."""
        nodes = [Node(name=name) for name in ("sender", "receiver")]
        nodes += [Node(name=name, kind="switch") for name in ("r1", "r2", "r3")]
        quarter = Span(self.rtt // 4)
        optical = Span(self.rtt // 10) if self.optical_delay is None else self.optical_delay
        every = {"queue": self.queue, "queue_kind": self.queue_kind, "framing": self.framing}
        ip = {"rate": self.ip_rate, "delay": quarter, **every}
        links = [
            Link(
                name="sender", from_="sender", to="r1", rate=self.sender_rate, delay=Span(0),
                jitter=self.jitter, nic_queue=self.nic_queue, **every,
            ),
            Link(name="ip-1", from_="r1", to="r2", **ip),
            Link(name="ip-2", from_="r2", to="r3", **ip),
            Link(
                name="optical", from_="r1", to="r3", duplex=False, rate=self.optical_rate, delay=optical, **every,
            ),
            Link(
                name="receiver", from_="r3", to="receiver", rate=self.receiver_rate, delay=Span(0),
                jitter=self.jitter, **(every | {"queue": self.receiver_queue or self.queue}),
            ),
        ]  # fmt: skip
        return nodes, links
