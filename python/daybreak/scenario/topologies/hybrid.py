"""Racks connected by a packet network and by circuits (Etalon: Mukerjee et al., NSDI 2020)."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field, model_validator

from ..choice import Discipline
from ..network import Link, Node, Queue
from ..quantities import Framing, QueueLimit, Rate, Span, reject
from .ready import ReadyNetwork

# Costs some hundred megabytes, and some seconds until a run starts.
_MOST_LINKS = 100_000


class Hybrid(ReadyNetwork):
    """host-0-0, host-0-1 ... under tor-0, host-1-0 ... under tor-1 and so on; packet-switch connects all racks.

    Packets from rack i to rack j wait in one queue at tor-i, "voq-i-j", which two networks may serve: the packet
    network, over "packet-i" to the packet switch and "packet-j.back" from there, and the circuit "circuit-i-j". Without
    a `schedule` both always do. The packet switch has a FIFO for each input and output, "fifo-i-j"; a packet that finds
    it full goes back to its VOQ, where it is served before the others.
    """

    kind: Literal["hybrid"] = "hybrid"
    """The kind of topology."""
    racks: int = Field(ge=2, le=256)
    """Number of racks."""
    hosts: int = Field(ge=1, le=1_000)
    """Number of hosts in each rack."""
    host_rate: Rate
    """Rate of a host's link to its switch."""
    to_host_rate: Rate | None = None
    """Rate of the link from the switch to a host; by default that of the other direction."""
    host_delay: Span
    """Delay of the hosts' links, one way."""
    packet_rate: Rate
    """Rate of each rack's link to the packet switch, and back."""
    packet_delay: Span
    """Delay of these links, one way; packets between racks cross two of them."""
    circuit_rate: Rate
    """Rate of a circuit."""
    circuit_delay: Span
    """Delay of a circuit, one way."""
    voq: QueueLimit
    """Limit of each VOQ."""
    voq_kind: Discipline = Discipline("drop_tail")
    """Queue discipline of the VOQs, with its parameters."""
    returned_limit: QueueLimit = QueueLimit.parse("5 packets")
    """Capacity of a VOQ for packets that come back from the packet switch."""
    fifo: QueueLimit = QueueLimit.parse("3 packets")
    """Limit of the packet switch's FIFOs."""
    fifo_kind: Discipline = Discipline("drop_tail")
    """Queue discipline of the FIFOs, with its parameters."""
    other_queue_kind: Discipline = Discipline("drop_tail")
    """Queue discipline of the switches' queues for hosts, which have no limit, with its parameters."""
    jitter: Span = Span(0)
    """Largest additional delay of a packet on the hosts' links, which keeps hosts of one rate from sending in step."""
    framing: Framing = Framing.parse("ethernet")
    """Bytes on the wire beyond the IP packet."""

    @model_validator(mode="after")
    def _makes_sense(self) -> "Hybrid":
        links = self.racks * (2 * self.hosts + self.racks + 1)
        if links > _MOST_LINKS:
            raise reject(
                f"has {self.racks} racks and {self.hosts} hosts in each, which makes {links:,} links: "
                f"expected at most {_MOST_LINKS:,}"
            )
        if not self.returned_limit.in_packets:
            raise reject(f"has a returned_limit of {self.returned_limit}: expected packets")
        return self

    def build(self) -> tuple[list[Node], list[Link]]:
        """Its nodes and links."""
        racks, hosts = range(self.racks), range(self.hosts)
        nodes = [Node(name=f"host-{rack}-{host}") for rack in racks for host in hosts]
        nodes += [Node(name=tor(rack), kind="switch") for rack in racks]
        nodes.append(Node(name="packet-switch", kind="switch"))
        up = {"rate": self.host_rate, "delay": self.host_delay, "jitter": self.jitter, "framing": self.framing}
        down = up | {"rate": self.to_host_rate or self.host_rate, "queue_kind": self.other_queue_kind}
        links = []
        for rack in racks:
            for host in hosts:
                name = f"host-{rack}-{host}"
                links.append(Link(from_=name, to=tor(rack), duplex=False, **up))
                links.append(Link(from_=tor(rack), to=name, duplex=False, **down))
        links += [
            Link(
                name=f"packet-{rack}", from_=tor(rack), to="packet-switch", rate=self.packet_rate,
                delay=self.packet_delay, framing=self.framing,
            )
            for rack in racks
        ]  # fmt: skip
        links += [
            Link(
                name=circuit(pair), from_=tor(pair[0]), to=tor(pair[1]), duplex=False, rate=self.circuit_rate,
                delay=self.circuit_delay, framing=self.framing,
            )
            for pair in self.pairs()
        ]  # fmt: skip
        return nodes, links

    def queues(self) -> list[Queue]:
        """The VOQs, and the FIFOs of the packet switch."""
        voqs = [
            Queue(
                name=voq((i, j)), served_by=(circuit((i, j)), packet(i)), to=(tor(j),), limit=self.voq,
                kind=self.voq_kind, returned_limit=self.returned_limit,
            )
            for i, j in self.pairs()
        ]  # fmt: skip
        fifos = [
            Queue(
                name=f"fifo-{i}-{j}", served_by=(f"packet-{j}.back",), arriving_by=(packet(i),), limit=self.fifo,
                kind=self.fifo_kind, overflow="return",
            )
            for i, j in self.pairs()
        ]  # fmt: skip
        return voqs + fifos

    def pairs(self) -> Iterator[tuple[int, int]]:
        """All ordered pairs of racks."""
        racks = range(self.racks)
        return ((i, j) for i in racks for j in racks if i != j)


def tor(rack: int) -> str:
    """The switch of a rack."""
    return f"tor-{rack}"


def packet(rack: int) -> str:
    """A rack's link to the packet switch."""
    return f"packet-{rack}"


def circuit(pair: tuple[int, int]) -> str:
    """The circuit from one rack to another."""
    return f"circuit-{pair[0]}-{pair[1]}"


def voq(pair: tuple[int, int]) -> str:
    """The VOQ for packets from one rack to another."""
    return f"voq-{pair[0]}-{pair[1]}"
