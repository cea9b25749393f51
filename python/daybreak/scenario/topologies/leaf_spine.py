"""Leaf switches with hosts, each joined to every spine switch."""

from typing import Literal

from pydantic import Field, model_validator

from ..network import Link, Node
from ..quantities import Framing, QueueLimit, Rate, Span, reject
from .ready import ReadyNetwork

# Some hundred megabytes, and some seconds until a run starts.
_MOST_LINKS = 100_000


class LeafSpine(ReadyNetwork):
    """host-0 ... under leaf-0 ... (host h stands under leaf h / hosts_per_leaf), spine-0 ... above all of them."""

    kind: Literal["leaf_spine"] = "leaf_spine"
    """Tells this topology."""
    leaves: int = Field(ge=1, le=1_000)
    """Number of leaf switches."""
    spines: int = Field(ge=1, le=1_000)
    """Number of spine switches."""
    hosts_per_leaf: int = Field(ge=1, le=1_000)
    """Number of hosts under each leaf."""
    rate: Rate
    """Rate of the hosts' links."""
    spine_rate: Rate | None = None
    """Rate of the links to the spines; the hosts' without one."""
    delay: Span
    """Delay of every link, one way."""
    queue: QueueLimit
    """Limit of every queue at a switch."""
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

    def build(self) -> tuple[list[Node], list[Link]]:
        """Its nodes and links."""
        hosts = range(self.leaves * self.hosts_per_leaf)
        nodes = [Node(name=f"host-{host}") for host in hosts]
        nodes += [Node(name=f"leaf-{leaf}", kind="switch") for leaf in range(self.leaves)]
        nodes += [Node(name=f"spine-{spine}", kind="switch") for spine in range(self.spines)]
        every = {"delay": self.delay, "queue": self.queue, "framing": self.framing}
        links = [
            Link(from_=f"host-{host}", to=f"leaf-{host // self.hosts_per_leaf}", rate=self.rate, **every)
            for host in hosts
        ]
        links += [
            Link(from_=f"leaf-{leaf}", to=f"spine-{spine}", rate=self.spine_rate or self.rate, **every)
            for leaf in range(self.leaves)
            for spine in range(self.spines)
        ]
        return nodes, links
