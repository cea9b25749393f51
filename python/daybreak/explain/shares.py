"""When each flow had a path, and its fair share: from the plan, the steps of the timelines and the flows' lifetimes.

A flow's fair share is the least, over the links of its path, of the link's rate over the number of flows that run and
have the link on their path. (Max-min fairness would give more where others cannot use their share.) Of several links
that may serve a queue the path takes the fastest whose gate is open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, assert_never

import polars as pl

from daybreak.plan import types as plan
from daybreak.plan.downtimes import POLICIES

SCHEMA = {"flow": pl.UInt32, "start_ns": pl.Int64, "end_ns": pl.Int64, "share_bps": pl.Int64, "fills_bytes": pl.Int64}


def shares(content: plan.Plan, flows: pl.DataFrame, circuits: pl.DataFrame, chosen: Iterable[int]) -> pl.DataFrame:
    """One row per interval of a chosen flow's life in which its share stays the same.

    Columns ``flow``, ``start_ns``, ``end_ns``, ``share_bps`` (bits on the wire; 0 without a path) and ``fills_bytes``,
    the bandwidth-delay product: the share times the base round-trip time. ``flows`` are all flows of the run. Flows
    that did not end have no rows.
    """
    lives = {
        flow: (start, end)
        for flow, start, end in flows.select("flow", "start_ns", "end_ns").iter_rows()
        if end is not None
    }
    others_start = {flow: start for flow, start in flows.select("flow", "start_ns").iter_rows() if flow not in lives}
    network, wanted = _Network(content), set(chosen) & lives.keys()
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
    current: dict[int, tuple[int, int, int]] = {}
    """Since when each chosen flow that is running has which share, and what fills it."""

    def close(flow: int, time: int) -> None:
        since, share, fills = current.pop(flow)
        if time > since:
            rows.append((flow, since, time, share, fills))

    for at, (time, kind, what) in enumerate(events):
        match kind:
            case 0:
                network.end(what)
                if what in current:
                    close(what, time)
            case 1:
                network.start(what)
                if what in wanted:
                    current[what] = (time, -1, -1)
            case _:
                timeline, step = what
                network.apply(content.timelines[timeline].steps[step].actions)
        if at + 1 < len(events) and events[at + 1][0] > time:
            for flow in sorted(current):
                share, fills = network.share(flow)
                if current[flow][1:] != (share, fills):
                    close(flow, time)
                    current[flow] = (time, share, fills)
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def taps(content: plan.Plan, flows: Iterable[int]) -> list[int]:
    """The links into the receivers of these flows: each data packet that arrives crosses one of them."""
    receivers = {content.flows[flow].dst for flow in flows}
    return [number for number, link in enumerate(content.links) if link.to in receivers]


def round_trip_ps(content: plan.Plan, packets: int) -> int:
    """The longest base RTT of a flow when the run starts, plus the time of `packets` packets on its slowest link."""
    network = _Network(content)
    longest = 0
    alike = {(flow.data_path, flow.ack_path, flow.src_stack): number for number, flow in enumerate(content.flows)}
    for number in alike.values():
        links = network.links(content.flows[number].data_path)
        if links is None:
            continue
        rate = min(network.rates[link] for link in links)
        one = _wire_bits(content, number, links[0]) * 10**12 // rate
        longest = max(longest, network.round_trip_ps(number) + packets * one)
    return longest


class _Network:
    """The network at one time, and the flows that run in it."""

    def __init__(self, content: plan.Plan):
        self.content = content
        self.rates = [link.rate_bps for link in content.links]
        self.delays = [link.delay_ps for link in content.links]
        self.routes: list[int | None] = [switch.initial for switch in content.route_switches]
        self.closed: set[tuple[int, int]] = set()
        self._running: set[int] = set()
        self._users: Counter[int] = Counter()
        """Number of running flows with each link on their path."""
        # Many flows have the same path, and none changes between two steps of a timeline.
        self._links: dict[int, list[int] | None] = {}
        self._round_trips: dict[tuple[int, int, int], int] = {}

    def start(self, flow: int) -> None:
        """The flow runs from now on."""
        self._running.add(flow)
        self._users.update(self._links_of(flow) or ())

    def end(self, flow: int) -> None:
        """The flow has ended."""
        if flow in self._running:
            self._running.remove(flow)
            self._users.subtract(self._links_of(flow) or ())

    def apply(self, actions: Sequence[plan.Action]) -> None:
        """Applies the changes of paths, rates and delays of actions."""
        for action in actions:
            self._apply(action)
        self._links.clear()
        self._round_trips.clear()
        self._users = Counter(link for flow in self._running for link in self._links_of(flow) or ())

    def _apply(self, action: plan.Action) -> None:
        match action:
            case plan.SetRoute():
                self.routes[action.route_switch] = action.alternative
            case plan.Darken():
                if POLICIES[action.downtime].is_night:
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

    def share(self, flow: int) -> tuple[int, int]:
        """The fair share of a running flow (bit/s), and the bytes that it fills."""
        links = self._links_of(flow)
        if not links:
            return 0, 0
        share = min(self.rates[link] // self._users[link] for link in links)
        of = self.content.flows[flow]
        key = (of.data_path, of.ack_path, of.src_stack)
        if key not in self._round_trips:
            self._round_trips[key] = self.round_trip_ps(flow)
        return share, share * self._round_trips[key] // (8 * 10**12)

    def _links_of(self, flow: int) -> list[int] | None:
        """The current links of the path on which a flow's payload goes."""
        of = self.content.flows[flow]
        path = of.ack_path if isinstance(of.application, plan.RequestResponse) else of.data_path
        if path not in self._links:
            self._links[path] = self.links(path)
        return self._links[path]

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
