"""Shared by topologies with senders on the left, receivers on the right, and links in the middle."""

from typing import Any

from ..network import Link, Node


def build(pairs: int, *, access: dict[str, Any], middle: list[Link]) -> tuple[list[Node], list[Link]]:
    """sender-0, sender-1 ... - left, right - receiver-0, receiver-1 ..., with the links `middle` between left and right
    and the properties `access` of the hosts' links."""
    senders = [f"sender-{i}" for i in range(pairs)]
    receivers = [f"receiver-{i}" for i in range(pairs)]
    nodes = [Node(name=name) for name in senders + receivers]
    nodes += [Node(name=name, kind="switch") for name in ("left", "right")]
    to_left = [Link(from_=name, to="left", **access) for name in senders]
    from_right = [Link(from_="right", to=name, **access) for name in receivers]
    return nodes, to_left + middle + from_right
