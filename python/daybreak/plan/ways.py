"""The links that packets may take, whatever timelines and controllers make of the network."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from . import types


def links(content: types.Plan, path: int) -> set[int]:
    """The links that a packet on this path may cross: behind every fork and with every route."""
    return {link for queue in queues(content, path) for link in content.queues[queue].served_by}


def queues(content: types.Plan, path: int) -> set[int]:
    """The queues in which a packet on this path may wait."""
    return {queue for queue, _ in arrivals(content, path)}


def arrivals(content: types.Plan, path: int) -> set[tuple[int, int | None]]:
    """The queues that a packet on this path may come to, each with the link that it comes by; None at its sender."""
    found, seen = set[tuple[int, int | None]](), set[tuple[int, int | None]]()
    ahead: list[tuple[int, int | None]] = [(path, None)]
    while ahead:
        here = ahead.pop()
        if here in seen:
            continue
        seen.add(here)
        path, by = here
        for step in content.paths[path]:
            match step.kind:
                case "queue":
                    found.add((step.index, by))
                    by = content.queues[step.index].served_by[0]
                case "fork" | "return":
                    fork = content.forks[step.index]
                    found.add((fork.queue, by))
                    ahead += [(tail.path, tail.link) for tail in fork.tails]
                    ahead += [] if fork.overflow is None else [(fork.overflow, by)]
                case "route_switch":
                    ahead += [(one, by) for one in content.route_switches[step.index].alternatives]
                case "marker":
                    pass
    return found


def most_bps(content: types.Plan, flows: Iterable[int]) -> int:
    """The most that these flows together can bring to their receivers, in bit/s on the wire: the least cut through the
    links that their packets may take, each with the greatest rate that it ever has."""
    rates = greatest_rates(content)
    taken, sources, sinks = set[int](), set[int](), set[int]()
    ways: dict[int, set[int]] = {}
    for number in flows:
        flow = content.flows[number]
        for path, source, sink in ((flow.data_path, flow.src, flow.dst), *_answers(flow)):
            if path not in ways:
                ways[path] = links(content, path)
            taken |= ways[path]
            sources.add(source)
            sinks.add(sink)
    if not taken:
        return 0
    # scipy is slow to import, and few runs ask for it.
    from scipy.sparse import coo_array  # noqa: PLC0415
    from scipy.sparse.csgraph import maximum_flow  # noqa: PLC0415

    # What a host receives it does not pass on: as a receiver it is another node.
    nodes = len(content.nodes)
    start, end = 2 * nodes, 2 * nodes + 1
    capacity: dict[tuple[int, int], int] = defaultdict(int)
    for link in taken:
        to = content.links[link].to
        capacity[content.links[link].from_, nodes + to if to in sinks else to] += rates[link]
    total = sum(capacity.values())
    capacity |= {(start, source): total for source in sources} | {(nodes + sink, end): total for sink in sinks}
    # The graph counts in 32 bits.
    unit = total // (2**31 - 1) + 1
    places = np.array(list(capacity)).T
    rounded = np.array([-(-rate // unit) for rate in capacity.values()], dtype=np.int32)
    graph = coo_array((rounded, places), shape=(end + 1, end + 1)).tocsr()
    return int(maximum_flow(graph, start, end).flow_value) * unit


def last_packets_bits(content: types.Plan, flows: Iterable[int]) -> int:
    """One full packet of each of the receivers of these flows, on the wire: what may be counted in a bin in which it
    has only ended."""
    framing = max((link.framing_bytes for link in content.links), default=0)
    longest: dict[int, int] = defaultdict(int)
    for number in flows:
        flow = content.flows[number]
        longest[flow.dst] = max(
            longest[flow.dst], content.stacks[flow.src_stack].mtu, content.stacks[flow.dst_stack].mtu
        )
    return sum(8 * (mtu + framing) for mtu in longest.values())


def may_catch_up(content: types.Plan, flows: Iterable[int]) -> str:
    """Why packets of these flows may arrive closer together than links send them, in words; empty if they do not."""
    paths = {content.flows[number].data_path for number in flows}
    taken = set[int]().union(*(links(content, path) for path in paths))
    if any(isinstance(action, types.SetDelay) and action.link in taken for action in _actions(content)):
        return "a delay falls"
    queues = {queue for path in paths for queue, _ in arrivals(content, path)}
    switches = any(step.kind == "route_switch" for path in paths for step in content.paths[path])
    if switches or any(len(content.queues[queue].served_by) > 1 for queue in queues):
        return "a shorter way is taken"
    return "jitter brings packets together" if any(content.links[link].jitter_ps for link in taken) else ""


def greatest_rates(content: types.Plan) -> list[int]:
    """The greatest rate in bit/s that each link ever has."""
    return _rates(content, max)


def least_rates(content: types.Plan) -> list[int]:
    """The least rate in bit/s that each link ever has."""
    return _rates(content, min)


def _rates(content: types.Plan, of_two: Callable[[int, int], int]) -> list[int]:
    """The rate in bit/s that ``of_two`` selects of all that each link ever has."""
    rates = [link.rate_bps for link in content.links]
    for action in _actions(content):
        if isinstance(action, types.SetRate):
            rates[action.link] = of_two(rates[action.link], action.rate_bps)
    return rates


def gates_that_shut(content: types.Plan) -> set[tuple[int, int]]:
    """The queues, each with a link, for which the link may stop serving the queue."""
    return {(action.queue, action.link) for action in _actions(content) if isinstance(action, types.CloseGate)}


def least_delays(content: types.Plan) -> list[int]:
    """The least propagation delay in picoseconds that each link ever has."""
    delays = [link.delay_ps for link in content.links]
    for action in _actions(content):
        if isinstance(action, types.SetDelay):
            delays[action.link] = min(delays[action.link], action.delay_ps)
    return delays


def changing_links(content: types.Plan) -> set[int]:
    """The links whose rate or delay may change in a run."""
    return {action.link for action in _actions(content) if isinstance(action, types.SetRate | types.SetDelay)}


def _actions(content: types.Plan) -> Iterator[types.Action]:
    """All that timelines and controllers may do."""
    for line in content.timelines:
        for step in line.steps:
            yield from step.actions
    for controller in content.controllers:
        if isinstance(controller.controls, types.ControlledCircuit):
            yield from controller.controls.open
            yield from controller.controls.close


def _answers(flow: types.Flow) -> list[tuple[int, int, int]]:
    """The way of responses, which have payload too."""
    return (
        [(flow.ack_path, flow.dst, flow.src)]
        if isinstance(flow.application, types.RequestResponse | types.Program)
        else []
    )
