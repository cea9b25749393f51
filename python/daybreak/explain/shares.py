"""When each flow had a path, and its fair share: from the plan, the steps of the timelines and the flows' lifetimes.

A flow's fair share is the least, over the links of its path, of the link's rate over the number of flows that run and
have the link on their path. (Max-min fairness would give more where others cannot use their share.) Of several links
that may serve a queue the path takes the fastest whose gate is open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, assert_never

import polars as pl

from daybreak.plan import types as plan

SCHEMA = {"flow": pl.UInt32, "start_ns": pl.Int64, "end_ns": pl.Int64, "share_bps": pl.Int64, "fills_bytes": pl.Int64}


def shares(content: plan.Plan, flows: pl.DataFrame, circuits: pl.DataFrame) -> pl.DataFrame:
    """One row per interval of a flow's life in which nothing changes.

    Columns ``flow``, ``start_ns``, ``end_ns``, ``share_bps`` (bits on the wire; 0 without a path) and ``fills_bytes``,
    the bandwidth-delay product: the share times the base round-trip time. Flows that did not end have no rows.
    """
    lives = {
        flow: (start, end)
        for flow, start, end in flows.select("flow", "start_ns", "end_ns").iter_rows()
        if end is not None
    }
    others_start = {flow: start for flow, start in flows.select("flow", "start_ns").iter_rows() if flow not in lives}
    network = _Network(content)
    events: list[tuple[int, int, Any]] = []
    for flow, (start, end) in lives.items():
        events += [(start, 1, flow), (end, 0, flow)]
    events += [(start, 1, flow) for flow, start in others_start.items()]
    events += [
        (time, 2, (timeline, step))
        for time, timeline, step in circuits.select("time_ns", "timeline", "step").iter_rows()
    ]
    events.sort(key=lambda event: event[:2])
    rows: list[tuple[int, int, int, int, int]] = []
    for at, (time, kind, what) in enumerate(events):
        match kind:
            case 0:
                network.running.discard(what)
            case 1:
                network.running.add(what)
            case _:
                timeline, step = what
                for action in content.timelines[timeline].steps[step].actions:
                    network.apply(action)
        until = events[at + 1][0] if at + 1 < len(events) else time
        if until > time:
            rows += [
                (flow, time, until, share, fills) for flow, share, fills in network.now() if flow in lives
            ]  # fmt: skip
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def taps(content: plan.Plan) -> list[str]:
    """The links into the receiving hosts: each data packet that arrives crosses one of them."""
    receivers = {flow.dst for flow in content.flows}
    return [link.name for link in content.links if link.to in receivers]


def round_trip_ps(content: plan.Plan, packets: int) -> int:
    """The longest base RTT of a flow when the run starts, plus the time of `packets` packets on its slowest link."""
    network = _Network(content)
    longest = 0
    for number, flow in enumerate(content.flows):
        links = network.links(flow.data_path)
        if links is None:
            continue
        rate = min(network.rates[link] for link in links)
        one = _wire_bits(content, number, links[0]) * 10**12 // rate
        longest = max(longest, network.round_trip_ps(number) + packets * one)
    return longest


@dataclass
class _Network:
    content: plan.Plan
    running: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.rates = [link.rate_bps for link in self.content.links]
        self.delays = [link.delay_ps for link in self.content.links]
        self.routes: list[int | None] = [switch.initial for switch in self.content.route_switches]
        self.closed: set[tuple[int, int]] = set()

    def apply(self, action: plan.Action) -> None:
        """Applies an action's changes of paths, rates and delays."""
        match action:
            case plan.SetRoute():
                self.routes[action.route_switch] = action.alternative
            case plan.Darken():
                if action.downtime != "make_before_break":
                    self.routes[action.route_switch] = None
            case plan.OpenGate():
                self.closed.discard((action.queue, action.link))
            case plan.CloseGate():
                self.closed.add((action.queue, action.link))
            case plan.SetRate():
                self.rates[action.link] = action.rate_bps
            case plan.SetDelay():
                self.delays[action.link] = action.delay_ps
            case plan.SetLimit() | plan.SetLoss() | plan.SetParameter() | plan.SetMark():
                pass
            case _:
                assert_never(action)

    def now(self) -> Iterator[tuple[int, int, int]]:
        """Each running flow with its share (bit/s) and the bytes that this share fills."""
        paths = {flow: self.links(self.content.flows[flow].data_path) for flow in sorted(self.running)}
        users = Counter(link for links in paths.values() if links for link in links)
        for flow, links in paths.items():
            if not links:
                yield flow, 0, 0
                continue
            share = min(self.rates[link] // users[link] for link in links)
            yield flow, share, share * self.round_trip_ps(flow) // (8 * 10**12)

    def links(self, path: int) -> list[int] | None:
        """The current links of a path; None if a packet would have to wait for a gate or a route."""
        found: list[int] = []
        for step in self.content.paths[path]:
            match step.kind:
                case "queue":
                    open_ = self._open(step.index)
                    if not open_:
                        return None
                    found.append(max(open_, key=lambda link: self.rates[link]))
                case "fork":
                    fork = self.content.forks[step.index]
                    tails = {tail.link: tail.path for tail in fork.tails}
                    open_ = [link for link in self._open(fork.queue) if link in tails]
                    if not open_:
                        return None
                    link = max(open_, key=lambda link: self.rates[link])
                    rest = self.links(tails[link])
                    return None if rest is None else [*found, link, *rest]
                case "route_switch":
                    chosen = self.routes[step.index]
                    if chosen is None:
                        return None
                    rest = self.links(self.content.route_switches[step.index].alternatives[chosen])
                    return None if rest is None else [*found, *rest]
                case "marker" | "return":
                    pass
                case _:
                    assert_never(step.kind)
        return found

    def _open(self, queue: int) -> list[int]:
        return [link for link in self.content.queues[queue].served_by if (queue, link) not in self.closed]

    def round_trip_ps(self, flow: int) -> int:
        """Base RTT in ps: propagation both ways and the serialisation of one full packet; ACKs count as empty."""
        content = self.content
        data = self.links(content.flows[flow].data_path) or []
        acks = self.links(content.flows[flow].ack_path) or []
        waiting = sum(_wire_bits(content, flow, link) * 10**12 // self.rates[link] for link in data)
        return waiting + sum(self.delays[link] for link in [*data, *acks])


def _wire_bits(content: plan.Plan, flow: int, link: int) -> int:
    return 8 * (content.stacks[content.flows[flow].src_stack].mtu + content.links[link].framing_bytes)
