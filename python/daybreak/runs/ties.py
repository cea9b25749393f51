"""Finds plans whose results depend on which of two packets comes first by nanoseconds.

Links of equal rate that feed one queue send in step: packets reach it at the same instants again and again, and when it
is full the same flow may lose its packet each time (Floyd and Jacobson, "Traffic phase effects in packet-switched
gateways", 1991). Real links and hosts have jitter, which ends this.
"""

from __future__ import annotations

from collections import defaultdict

from daybreak.plan import types as plan
from daybreak.plan import ways
from daybreak.plan.applications import has_connections


def ties(content: plan.Plan) -> str | None:
    """A warning if TCP flows meet in step at a queue that may be full and no link on their paths has jitter."""
    flows_by_path: dict[int, list[int]] = defaultdict(list)
    for number, flow in enumerate(content.flows):
        if has_connections(flow.application):
            path = flow.ack_path if isinstance(flow.application, plan.RequestResponse) else flow.data_path
            flows_by_path[path].append(number)
    coming: dict[int, dict[int, dict[int, list[int]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for path, flows in flows_by_path.items():
        arrivals = ways.arrivals(content, path)
        if any(content.links[link].jitter_ps for queue, _ in arrivals for link in content.queues[queue].served_by):
            continue
        for queue, link in arrivals:
            of = content.queues[queue]
            if link is not None and (of.limit_packets is not None or of.limit_bytes is not None):
                coming[queue][content.links[link].rate_bps][link] += flows
    rates, shut = ways.least_rates(content), ways.gates_that_shut(content)
    for queue, by_rate in coming.items():
        serving = sum(rates[link] for link in content.queues[queue].served_by if (queue, link) not in shut)
        for rate, by_link in by_rate.items():
            meeting = {flow for flows in by_link.values() for flow in flows}
            count = len(meeting)
            # A queue fills only if more enters than leaves; while a gate is shut, its link takes nothing. A flow that
            # comes by two links does so in turn.
            if min(count, len(by_link)) > 1 and len(by_link) * rate > serving:
                at_once = len({content.flows[flow].start_ps for flow in meeting}) < count
                otherwise = ", or draw when flows start," if at_once else ""
                return (
                    f'queue "{content.queues[queue].name}": {count} flows come to it by {len(by_link)} links of one '
                    "rate, and no link on their paths has jitter. Their packets arrive in lockstep; nanoseconds may "
                    "decide throughout the run whose packets are lost: give hosts' links some jitter"
                    f"{otherwise} and compare several seeds"
                )
    return None
