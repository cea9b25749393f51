"""The ideal completion time of each flow: alone on its path, at full rate, without slow start.

The slowdown of a flow is its completion time over this one. It is what the slowdown of pFabric ("normalized to the best
possible completion time for that flow", Alizadeh et al., SIGCOMM 2013, section 5) and of the scripts of HPCC and htsim
(size with headers over the rate of the bottleneck, plus a base round-trip time) becomes for our completion time, which
begins with the SYN and ends with the last ACK:

    SYN and SYN-ACK, then the payload in full packets back to back, stored and forwarded by each link of the path, then
    the ACK of the last one; each with its headers and the framing of the links.

Where timelines, controllers or several links change the path it is a lower bound: ways count as always open, links have
the greatest rate and the least delay that they ever get, links that may serve a queue at the same time carry the
payload together, and of mutually exclusive ways the fastest carries all of it. A packet that travels alone, such as the
SYN, takes its shortest way, and so does the last one. So waiting for a circuit counts as slowdown. A slowdown can be
below 1 only if a flow moves to another way while packets still wait on the old one: these may arrive in parallel.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import together, types, ways

Values = np.ndarray[Any, np.dtype[np.int64]]

NONE = 2**64 - 1
"""Mark of a flow without an ideal: it has no size or is no bulk transfer."""
_IP_AND_TCP = 40
_TIMESTAMPS, _MSS, _SACK_PERMITTED, _WINDOW_SCALE = 12, 4, 4, 4


class Hop(NamedTuple):
    """A link's properties for one packet."""

    rate_bps: int
    delay_ps: int
    framing_bytes: int

    def sending_ps(self, ip_bytes: int) -> int:
        """Time in ps to serialise a packet of this IP length."""
        return 8 * (ip_bytes + self.framing_bytes) * 10**12 // self.rate_bps


Hops = Sequence[Hop]
Numbered = Sequence[tuple[int, Hop]]
Way = tuple[int, ...]
"""Successive links."""
Group = frozenset[Way]
"""Ways that packets may take in parallel."""


def fct_ns(content: types.Plan) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """The ideal completion time of each flow in ns, rounded down; `NONE` if it has none. Shape (flows,)."""
    found = np.full(len(content.flows), NONE, dtype=np.uint64)
    alike: dict[tuple[int, int, int, int], list[int]] = defaultdict(list)
    for number, flow in enumerate(content.flows):
        if isinstance(flow.application, types.Bulk) and flow.application.bytes:
            alike[flow.data_path, flow.ack_path, flow.src_stack, flow.dst_stack].append(number)
    known = _Ways(content)
    for (data, acks, src, dst), numbers in alike.items():
        sizes = np.array([_bytes(content.flows[number]) for number in numbers], dtype=np.int64)
        stacks = content.stacks[src], content.stacks[dst]
        found[numbers] = _ideal_ps(known, (data, acks), stacks, sizes) // 1000
    return found


def _bytes(flow: types.Flow) -> int:
    assert isinstance(flow.application, types.Bulk)
    return flow.application.bytes or 0


def _ideal_ps(known: _Ways, paths: tuple[int, int], stacks: tuple[types.Stack, types.Stack], sizes: Values) -> Any:
    src, dst = stacks
    timestamps = _TIMESTAMPS if src.tcp_timestamps and dst.tcp_timestamps else 0
    payload = max(1, min(src.mtu, dst.mtu) - _IP_AND_TCP - timestamps)
    bytes_of_ack = _IP_AND_TCP + timestamps
    data, acks = (known.of(path) for path in paths)
    there, back = ([known.hops_of(way) for way in frozenset().union(*groups)] for groups in (data, acks))
    alone = _least_ps(there, _syn_bytes(src, src)) + _least_ps(back, _syn_bytes(*stacks), bytes_of_ack)
    return alone + _Train(sizes, payload, bytes_of_ack).over([list(map(known.with_links, group)) for group in data])


def _syn_bytes(src: types.Stack, dst: types.Stack) -> int:
    timestamps = src.tcp_timestamps and dst.tcp_timestamps
    sack = src.tcp_sack and dst.tcp_sack and not timestamps
    scaling = src.tcp_window_scaling and dst.tcp_window_scaling
    return _IP_AND_TCP + _MSS + _TIMESTAMPS * timestamps + _SACK_PERMITTED * sack + _WINDOW_SCALE * scaling


def _least_ps(ways: Iterable[Hops], *sizes: int) -> int:
    """The least total time in ps of packets of these IP lengths, each travelling alone."""
    each = [[sum(hop.sending_ps(size) + hop.delay_ps for hop in way) for size in sizes] for way in ways]
    return sum(map(min, zip(*each, strict=True)))


class _Train:
    """Back-to-back packets, all full except the last: one train per flow size."""

    def __init__(self, sizes: Values, payload: int, headers: int):
        self._full = payload + headers
        self._before = (sizes - 1) // payload
        self._last = sizes - self._before * payload + headers

    def over(self, groups: Sequence[Sequence[Numbered]]) -> Any:
        """The least time over several groups of ways; the last packet may take the shortest way of all."""
        found = []
        shortest = [np.min([self._last_ps(way) for way in group], axis=0) for group in groups]
        for group, short in zip(groups, shortest, strict=True):
            (only, *others) = group
            found.append((self._together_ps(group) if others else self._alone_ps(only)) - short)
        return np.min(found, axis=0) + np.min(shortest, axis=0)

    def _last_ps(self, way: Numbered) -> Values:
        """Time of the last packet alone."""
        return sum((self._sending_last_ps(hop) + hop.delay_ps for _, hop in way), np.zeros_like(self._last))

    def _sending_last_ps(self, hop: Hop) -> Values:
        return 8 * (self._last + hop.framing_bytes) * 10**12 // hop.rate_bps

    def _alone_ps(self, way: Numbered) -> Values:
        """Time of all packets on one way."""
        first, slowest = 0, 0
        arrived = np.zeros(len(self._last), dtype=np.int64)
        for _, hop in way:
            full = hop.sending_ps(self._full)
            first, slowest = first + full, max(slowest, full)
            # The last packet starts when it has arrived and all others have left.
            left = np.where(self._before > 0, first + (self._before - 1) * slowest, 0)
            first += hop.delay_ps
            arrived = np.maximum(arrived, left) + self._sending_last_ps(hop) + hop.delay_ps
        return arrived

    def _together_ps(self, ways: Sequence[Numbered]) -> Values:
        """A lower bound for all packets on several ways in parallel: each way delivers its first packet after its own
        latency, and further ones at the rate of its slowest link. Links common to all ways carry all packets.
        """
        shared = set.intersection(*({link for link, _ in way} for way in ways))
        every = [self._slowest_ps(hop for link, hop in way if link not in shared) or 1 for way in ways]
        alone = np.array([self._last_ps(way) for way in ways])
        order = np.argsort(alone, axis=0)
        alone = np.take_along_axis(alone, order, axis=0)
        rates = 1 / np.array(every, dtype=np.float64)[order]
        # With the first way, the first two ways ... until all packets are delivered.
        packets = self._before + 1 - np.arange(1, len(ways) + 1)[:, None]
        until = (packets + np.cumsum(alone * rates, axis=0)) / np.cumsum(rates, axis=0)
        spread = np.min(np.maximum(until, alone), axis=0).astype(np.int64)
        slowest = self._slowest_ps(hop for link, hop in ways[0] if link in shared)
        bound: Values = np.maximum(spread, alone[0] + self._before * slowest)
        return bound

    def _slowest_ps(self, hops: Iterable[Hop]) -> int:
        """The longest serialisation time in ps of a full packet on these links."""
        return max((hop.sending_ps(self._full) for hop in hops), default=0)


class _Ways:
    """All ways from a path to the receiver, each computed once, in groups that may be used in parallel. Identical links
    are merged in groups of a single way."""

    def __init__(self, content: types.Plan):
        self._content = content
        self._serving = together.serving(content)
        rates, delays = ways.greatest_rates(content), ways.least_delays(content)
        self._hops = [
            Hop(rate, delay, link.framing_bytes) for rate, delay, link in zip(rates, delays, content.links, strict=True)
        ]
        first: dict[Hop, int] = {}
        self._alike = [first.setdefault(hop, link) for link, hop in enumerate(self._hops)]
        self._found: dict[int, frozenset[Group]] = {}

    def hops_of(self, way: Way) -> Hops:
        """The properties of a way's links."""
        return [self._hops[link] for link in way]

    def with_links(self, way: Way) -> Numbered:
        """The properties of a way's links, each with the link's number."""
        return [(link, self._hops[link]) for link in way]

    def of(self, path: int) -> frozenset[Group]:
        """The groups of ways from the start of a path to the receiver."""
        if path not in self._found:
            # A loop is never the fastest way.
            self._found[path] = frozenset()
            self._found[path] = self._through(path)
        return self._found[path]

    def _through(self, path: int) -> frozenset[Group]:
        content = self._content
        so_far: frozenset[Group] = frozenset({frozenset({()})})
        for step in content.paths[path]:
            match step.kind:
                case "queue":
                    links = self._serving[step.index]
                    so_far = self._joined(so_far, {frozenset((link,) for link in some) for some in links})
                case "fork":
                    return self._joined(so_far, self._behind(content.forks[step.index]))
                case "route_switch":
                    ends = {group for one in content.route_switches[step.index].alternatives for group in self.of(one)}
                    return self._joined(so_far, ends)
                case "return":
                    return frozenset()
                case "marker":
                    pass
        return so_far

    def _behind(self, fork: types.Fork) -> set[Group]:
        """The groups of ways behind a fork."""
        found = set[Group]()
        overflow = set[Way]() if fork.overflow is None else self._every(fork.overflow, frozenset())
        for some in self._serving[fork.queue]:
            tails = [tail for tail in fork.tails if tail.link in some]
            if len(tails) == 1 and not overflow:
                (tail,) = tails
                found |= self._joined(frozenset({frozenset({(tail.link,)})}), self.of(tail.path))
            else:
                ways = {(tail.link, *rest) for tail in tails for rest in self._every(tail.path, frozenset())}
                found.add(frozenset(ways | overflow))
        return found - {frozenset()}

    def _every(self, path: int, above: frozenset[int]) -> set[Way]:
        """Every way from a path to the receiver, as if all could be used in parallel."""
        if path in above:
            return set()
        above |= {path}
        content = self._content
        so_far: set[Way] = {()}
        for step in content.paths[path]:
            match step.kind:
                case "queue":
                    so_far = {(*way, link) for way in so_far for link in content.queues[step.index].served_by}
                case "fork":
                    fork = content.forks[step.index]
                    ends = {(tail.link, *rest) for tail in fork.tails for rest in self._every(tail.path, above)}
                    ends |= set() if fork.overflow is None else self._every(fork.overflow, above)
                    return {(*way, *end) for way in so_far for end in ends}
                case "route_switch":
                    paths = content.route_switches[step.index].alternatives
                    ends = {way for one in paths for way in self._every(one, above)}
                    return {(*way, *end) for way in so_far for end in ends}
                case "return":
                    return set()
                case "marker":
                    pass
        return so_far

    def _joined(self, heads: Iterable[Group], tails: Iterable[Group]) -> frozenset[Group]:
        joined = {frozenset((*way, *end) for way in head for end in tail) for head in heads for tail in tails}
        return frozenset(self._one(group) for group in joined if group)

    def _one(self, group: Group) -> Group:
        """A group of one way, with each link replaced by the first identical one."""
        return frozenset({tuple(self._alike[link] for link in way) for way in group}) if len(group) == 1 else group
