"""The base of all ready networks."""

from ..model import Tagged
from ..network import Link, Node, Queue


class ReadyNetwork(Tagged):
    """A network with a name and few parameters."""

    def build(self) -> tuple[list[Node], list[Link]]:
        """Its nodes and links."""
        raise NotImplementedError

    def queues(self) -> list[Queue]:
        """Its queues besides the links' own."""
        return []
