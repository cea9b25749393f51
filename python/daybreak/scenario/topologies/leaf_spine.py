"""Leaf switches with hosts, connected to spine switches, and in pairs by direct optical links."""

from collections import Counter
from typing import Annotated, Literal

from pydantic import Field, model_validator

from ..choice import Discipline
from ..network import Link, Node
from ..quantities import Framing, QueueLimit, Rate, Span, reject
from .ready import ReadyNetwork

# Costs some hundred megabytes, and some seconds until a run starts.
_MOST_LINKS = 100_000


Pair = tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]]


class LeafSpine(ReadyNetwork):
    """host-0 ... under leaf-0 ... (host h is under leaf h / hosts_per_leaf), spine-0 ... above all of them.

    Every leaf has as many uplink ports as there are spines, all of `spine_rate`. A direct link between two leaves uses
    one port of each: "direct-i-j" replaces the links of leaf-i and leaf-j to the last spine, a leaf's second direct
    link the one to the last but one, and so on. So direct links move capacity and add none. The shortest path between
    two leaves with a direct link takes it: flows that should not take it need a `via`, as in `via = "leaf-0->spine-0"`,
    or are moved by a `schedule` or a controller.
    """

    kind: Literal["leaf_spine"] = "leaf_spine"
    """The kind of topology."""
    leaves: int = Field(ge=1, le=1_000)
    """Number of leaf switches."""
    spines: int = Field(ge=1, le=1_000)
    """Number of spine switches."""
    hosts_per_leaf: int = Field(ge=1, le=1_000)
    """Number of hosts under each leaf."""
    rate: Rate
    """Rate of the hosts' links."""
    spine_rate: Rate | None = None
    """Rate of the links to the spines, and of direct links; by default the hosts'."""
    direct: tuple[Pair, ...] = ()
    """Pairs of leaves, by number, with a direct link, which replaces a spine link of each."""
    delay: Span
    """Delay of every link, one way."""
    queue: QueueLimit
    """Limit of every queue at a switch."""
    queue_kind: Discipline = Discipline("drop_tail")
    """Queue discipline of every queue at a switch, with its parameters."""
    jitter: Span = Span(0)
    """Largest additional delay of a packet on the hosts' links, which keeps hosts of one rate from sending in step."""
    framing: Framing = Framing.parse("ethernet")
    """Bytes on the wire beyond the IP packet."""

    @model_validator(mode="after")
    def _is_not_too_large(self) -> "LeafSpine":
        links = self.leaves * (self.hosts_per_leaf + self.spines)
        if links > _MOST_LINKS:
            raise reject(
                f"has {self.leaves} leaves, {self.spines} spines and {self.hosts_per_leaf} hosts_per_leaf, which makes "
                f"{links:,} links: expected at most {_MOST_LINKS:,}"
            )
        return self

    @model_validator(mode="after")
    def _has_ports_for_direct_links(self) -> "LeafSpine":
        for i, j in self.direct:
            if i == j or max(i, j) >= self.leaves:
                raise reject(f"has a direct link {i}-{j}: expected two different leaves from 0 to {self.leaves - 1}")
        if len({frozenset(pair) for pair in self.direct}) < len(self.direct):
            raise reject("has two direct links between the same leaves: expected one for each pair")
        for leaf, taken in sorted(self._direct_links_of().items()):
            if taken >= self.spines:
                raise reject(
                    f"has {taken} direct links at leaf {leaf}: expected at most {self.spines - 1}, since each takes "
                    f"the place of one of its {self.spines} spine links and one of these must stay"
                )
        return self

    def build(self) -> tuple[list[Node], list[Link]]:
        """Its nodes and links."""
        hosts = range(self.leaves * self.hosts_per_leaf)
        nodes = [Node(name=f"host-{host}") for host in hosts]
        nodes += [Node(name=leaf_name(leaf), kind="switch") for leaf in range(self.leaves)]
        nodes += [Node(name=spine_name(spine), kind="switch") for spine in range(self.spines)]
        every = {"delay": self.delay, "queue": self.queue, "queue_kind": self.queue_kind, "framing": self.framing}
        above = {"rate": self.spine_rate or self.rate, **every}
        links = [
            Link(
                from_=f"host-{host}", to=leaf_name(host // self.hosts_per_leaf), rate=self.rate, jitter=self.jitter,
                **every,
            )
            for host in hosts
        ]  # fmt: skip
        links += [
            Link(from_=leaf_name(leaf), to=spine_name(spine), **above)
            for leaf in range(self.leaves)
            for spine in range(self.spines_of(leaf))
        ]
        links += [
            Link(name=direct(pair), from_=leaf_name(pair[0]), to=leaf_name(pair[1]), **above) for pair in self.direct
        ]
        return nodes, links

    def spines_of(self, leaf: int) -> int:
        """Number of spines that a leaf is connected to: the first ones."""
        return self.spines - self._direct_links_of()[leaf]

    def leaf_of(self, host: str) -> int | None:
        """The leaf of one of its hosts; None for any other name."""
        kind, _, number = host.partition("-")
        if kind != "host" or not number.isdecimal() or int(number) >= self.leaves * self.hosts_per_leaf:
            return None
        return int(number) // self.hosts_per_leaf

    def _direct_links_of(self) -> Counter[int]:
        return Counter(leaf for pair in self.direct for leaf in pair)


def leaf_name(leaf: int) -> str:
    """A leaf switch."""
    return f"leaf-{leaf}"


def spine_name(spine: int) -> str:
    """A spine switch."""
    return f"spine-{spine}"


def direct(pair: tuple[int, int]) -> str:
    """The direct link between two leaves, in the direction from the first to the second."""
    return f"direct-{pair[0]}-{pair[1]}"
