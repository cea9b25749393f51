"""How long each flow would take at best: alone on its path, at full rate, without slow start.

The slowdown of a flow is its completion time over this one. It is what the slowdown of pFabric ("normalized to the best
possible completion time for that flow", Alizadeh et al., SIGCOMM 2013, section 5) and of the scripts of HPCC and htsim
(size with headers over the rate of the bottleneck, plus a base round-trip time) becomes for our completion time, which
begins with the SYN and ends with the last ACK:

    SYN and SYN-ACK, then the payload in full packets back to back, stored and forwarded by each link of the path, then
    the ACK of the last one; each with its headers and the framing of the links.

Where timelines, controllers or several links change the path, the ideal is that of the fastest of all ways that the
packets may take, as if it were always open, and links have the greatest rate and the least delay that they ever get. So
waiting for a circuit counts as slowdown. A queue that two links serve at once can be faster than the faster one of
them: only there may a slowdown be below 1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from . import types, ways

Values = np.ndarray[Any, np.dtype[np.int64]]

NONE = 2**64 - 1
"""Of a flow without a size, or one that is no bulk transfer: it has no ideal."""
_IP_AND_TCP = 40
_TIMESTAMPS, _MSS, _SACK_PERMITTED, _WINDOW_SCALE = 12, 4, 4, 4


class Hop(NamedTuple):
    """A link as packets see it."""

    rate_bps: int
    delay_ps: int
    framing_bytes: int

    def sending_ps(self, ip_bytes: int) -> int:
        """Time to serialise a packet of this IP length."""
        return 8 * (ip_bytes + self.framing_bytes) * 10**12 // self.rate_bps


Way = tuple[Hop, ...]


def fct_ns(content: types.Plan) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """The ideal completion time of each flow in nanoseconds, rounded down; `NONE` where there is none."""
    found = np.full(len(content.flows), NONE, dtype=np.uint64)
    alike: dict[tuple[int, int, int, int], list[int]] = defaultdict(list)
    for number, flow in enumerate(content.flows):
        if isinstance(flow.application, types.Bulk) and flow.application.bytes:
            alike[flow.data_path, flow.ack_path, flow.src_stack, flow.dst_stack].append(number)
    known = _Ways(content)
    for (data, acks, src, dst), numbers in alike.items():
        sizes = np.array([_bytes(content.flows[number]) for number in numbers], dtype=np.int64)
        stacks = content.stacks[src], content.stacks[dst]
        found[numbers] = _ideal_ps(known.of(data), known.of(acks), stacks, sizes) // 1000
    return found


def _bytes(flow: types.Flow) -> int:
    assert isinstance(flow.application, types.Bulk)
    return flow.application.bytes or 0


def _ideal_ps(data: Iterable[Way], acks: Iterable[Way], stacks: tuple[types.Stack, types.Stack], sizes: Values) -> Any:
    src, dst = stacks
    timestamps = _TIMESTAMPS if src.tcp_timestamps and dst.tcp_timestamps else 0
    payload = max(1, min(src.mtu, dst.mtu) - _IP_AND_TCP - timestamps)
    bytes_of_ack = _IP_AND_TCP + timestamps
    back = [_one_ps(way, _syn_bytes(*stacks)) + _one_ps(way, bytes_of_ack) for way in acks]
    there = [_one_ps(way, _syn_bytes(src, src)) + _train_ps(way, sizes, payload, bytes_of_ack) for way in data]
    return np.min(there, axis=0) + min(back)


def _syn_bytes(src: types.Stack, dst: types.Stack) -> int:
    timestamps = src.tcp_timestamps and dst.tcp_timestamps
    sack = src.tcp_sack and dst.tcp_sack and not timestamps
    scaling = src.tcp_window_scaling and dst.tcp_window_scaling
    return _IP_AND_TCP + _MSS + _TIMESTAMPS * timestamps + _SACK_PERMITTED * sack + _WINDOW_SCALE * scaling


def _one_ps(way: Way, ip_bytes: int) -> int:
    """From the first bit at the sender to the last one at the receiver."""
    return sum(hop.sending_ps(ip_bytes) + hop.delay_ps for hop in way)


def _train_ps(way: Way, sizes: Values, payload: int, headers: int) -> Values:
    """The time of one packet, for packets back to back: all of them full but for the last one."""
    before = (sizes - 1) // payload
    last_bytes = sizes - before * payload + headers
    first, slowest = 0, 0
    arrived = np.zeros(len(sizes), dtype=np.int64)
    for hop in way:
        full = hop.sending_ps(payload + headers)
        first, slowest = first + full, max(slowest, full)
        # The last packet starts when it is there and all others have left.
        left = np.where(before > 0, first + (before - 1) * slowest, 0)
        sending = 8 * (last_bytes + hop.framing_bytes) * 10**12 // hop.rate_bps
        first += hop.delay_ps
        arrived = np.maximum(arrived, left) + sending + hop.delay_ps
    return arrived


class _Ways:
    """All ways behind a path, each found once. Ways of links that are alike are one."""

    def __init__(self, content: types.Plan):
        self._content = content
        rates, delays = ways.greatest_rates(content), ways.least_delays(content)
        self._hops = [
            Hop(rate, delay, link.framing_bytes) for rate, delay, link in zip(rates, delays, content.links, strict=True)
        ]
        self._found: dict[int, frozenset[Way]] = {}

    def of(self, path: int) -> frozenset[Way]:
        """From the start of a path to the receiver."""
        if path not in self._found:
            # What leads back to where it began is never the fastest way.
            self._found[path] = frozenset()
            self._found[path] = self._through(path)
        return self._found[path]

    def _through(self, path: int) -> frozenset[Way]:
        content = self._content
        so_far: set[Way] = {()}
        for step in content.paths[path]:
            match step.kind:
                case "queue":
                    hops = {self._hops[link] for link in content.queues[step.index].served_by}
                    so_far = {(*way, hop) for way in so_far for hop in hops}
                case "fork":
                    tails = content.forks[step.index].tails
                    ends = {(self._hops[tail.link], *rest) for tail in tails for rest in self.of(tail.path)}
                    overflow = content.forks[step.index].overflow
                    ends |= set() if overflow is None else self.of(overflow)
                    return frozenset((*way, *end) for way in so_far for end in ends)
                case "route_switch":
                    ends = {way for one in content.route_switches[step.index].alternatives for way in self.of(one)}
                    return frozenset((*way, *end) for way in so_far for end in ends)
                case "return":
                    return frozenset()
                case "marker":
                    pass
        return frozenset(so_far)
