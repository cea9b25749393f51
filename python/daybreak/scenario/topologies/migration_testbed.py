"""The testbed of the migration study: two servers, and a programmable switch with two loopback links."""

from typing import Literal

from pydantic import Field

from ..choice import Discipline
from ..network import Link, Node
from ..quantities import Framing, QueueLimit, Rate, Span
from .ready import ReadyNetwork


class MigrationTestbed(ReadyNetwork):
    """Server 1 sends from the ports sender-main and sender-migrated, server 2 receives at receiver-main and
    receiver-migrated. The switch is two nodes, ingress and egress, joined by the loopback links "green" and "blue".
    ACKs return over "bypass", which is never a bottleneck, so they do not interfere with the data.

    The base round-trip time is split over the hosts' links (half), a loopback link and the bypass (a quarter each).
    """

    kind: Literal["migration_testbed"] = "migration_testbed"
    """The kind of topology."""
    rate: Rate = Rate.parse("10 Gbit/s")
    """Rate of the loopback links and of the servers' ports."""
    rtt: Span = Field(default=Span.parse("40 us"), ge=8)
    """Base round-trip time without serialisation."""
    queue: QueueLimit = QueueLimit.parse("350 packets")
    """Limit of each loopback link's queue."""
    queue_kind: Discipline = Discipline("drop_tail")
    """Queue discipline of the loopback links' queues, with its parameters."""
    other_queue_kind: Discipline = Discipline("drop_tail")
    """Queue discipline of the other queues at switches, which have no limit, with its parameters."""
    jitter: Span = Span.parse("7.23 us")
    """Jitter of the servers' ports towards the switch; by default the time of one packet of 9000 bytes at 10 Gbit/s.
    With less, two senders of equal rate stay in phase, and one gets all of a full queue and the other nothing."""
    framing: Framing = Framing.parse("ethernet")
    """Bytes on the wire beyond the IP packet."""

    def build(self) -> tuple[list[Node], list[Link]]:
        """Its nodes and links."""
        pairs = ("main", "migrated")
        nodes = [Node(name=f"{end}-{pair}") for end in ("sender", "receiver") for pair in pairs]
        nodes += [Node(name=name, kind="switch") for name in ("ingress", "egress")]
        access, bypass = Span(self.rtt // 8), Span(self.rtt // 4)
        loopback = Span(self.rtt - 4 * access - bypass)
        every = {"queue_kind": self.other_queue_kind, "framing": self.framing}
        port = {"rate": self.rate, "delay": access, **every}
        links = [Link(from_=f"sender-{pair}", to="ingress", jitter=self.jitter, **port) for pair in pairs]
        links += [
            Link(
                name=name, from_="ingress", to="egress", duplex=False, rate=self.rate, delay=loopback,
                queue=self.queue, queue_kind=self.queue_kind, framing=self.framing,
            )
            for name in ("green", "blue")
        ]  # fmt: skip
        ack_rate = Rate(min(10 * self.rate, Rate.highest))
        links.append(
            Link(name="bypass", from_="egress", to="ingress", duplex=False, rate=ack_rate, delay=bypass, **every)
        )
        links += [Link(from_="egress", to=f"receiver-{pair}", **port) for pair in pairs]
        return nodes, links
