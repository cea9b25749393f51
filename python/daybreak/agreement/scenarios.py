"""Makes scenarios from cases.

    sender-i - left = bottleneck = right - receiver-i          ACKs return over "back", which is never a bottleneck

Two senders of equal rate that feed a full queue stay in phase, and one gets everything: a property of noiseless clocks,
not of TCP. So packets leave a sender's link with a jitter of up to the time of one packet on the bottleneck, and start
times are random. Both engines draw from the same streams.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from daybreak.scenario import Rate, Scenario, Span

from .suite import HEADERS, Case

ACCESS_FACTOR = 4
"""Ratio of the rates of the hosts' links and the bottleneck, so that queues form at the bottleneck, not in the
hosts."""
FRAMING = 38
LONGEST = "60 s"
REVERSE = "reverse"
"""Group of the flows from receivers to senders, which is not compared."""
BINS = 80
"""Approximate number of bins of a transfer without losses."""


def scenario(case: Case) -> Scenario:
    """The scenario of a case. Raises ScenarioError."""
    return Scenario.parse(_document(case), source=f'suite, scenario "{case.name}"')


def bottlenecks(case: Case) -> tuple[str, ...]:
    """The links whose queues are compared."""
    return ("bottleneck",) if case.period is None else ("first", "second")


def bin_width(case: Case) -> Span:
    """Width of bins and sampling intervals: 1, 2 or 5 times a power of ten."""
    packets = case.payload_bytes() // (case.mtu - HEADERS) + 1
    whole = sum(_packet_time(case) * packets for _ in case.variants()) + 10 * int(case.rtt)
    whole = max(whole, case.repeat * int(case.gap))
    wanted = max(whole // BINS, 10**7)
    power = 10 ** (len(str(wanted)) - 1)
    return Span(next(step * power for step in (1, 2, 5, 10) if step * power >= wanted))


def groups(case: Case) -> list[str]:
    """The group of each flow: its variant, or its role where one flow is moved."""
    variants = case.variants()
    if case.period is None:
        return variants
    return ["main"] * (len(variants) - 1) + ["moved"]


def _document(case: Case) -> dict[str, Any]:
    variants = case.variants()
    reverse = case.reverse_variants()
    indices = range(max(len(variants), len(reverse)))
    nodes = [{"name": f"{end}-{i}"} for end in ("sender", "receiver") for i in indices]
    nodes += [{"name": name, "kind": "switch"} for name in ("left", "right")]
    document: dict[str, Any] = {
        "name": case.name,
        "description": case.what,
        "duration": LONGEST,
        "stack": _stack(case),
        "nodes": nodes,
        "links": _links(case, len(indices)),
        "flows": [*_flows(case), *(_reverse_flow(i, variant) for i, variant in enumerate(reverse))],
        "records": {
            "bins": str(bin_width(case)),
            "window": str(bin_width(case)),
            "queues": str(bin_width(case)),
            "sampled_queues": list(bottlenecks(case)),
            "drops": False,
            "circuits": False,
        },
    }
    if case.receiver:
        document["stacks"] = {"receiver": document["stack"] | case.receiver}
    if case.day is not None:
        document["timelines"] = [
            {
                "kind": "circuit", "matchings": [["bottleneck"]], "day": str(case.day), "night": str(case.night),
                "downtime": case.downtime,
            }
        ]  # fmt: skip
    if case.period is not None:
        document["timelines"] = [
            {
                "kind": "migrate", "group": "moved", "between": ["second", "first"], "period": str(case.period),
                "night": str(case.night), "downtime": case.downtime,
            }
        ]  # fmt: skip
    return document


def _links(case: Case, pairs: int) -> list[dict[str, Any]]:
    edge, middle = int(case.rtt) // 8, int(case.rtt) // 4
    access = {"rate": str(_times(case.rate, ACCESS_FACTOR)), "delay": str(Span(edge)), "queue": "100000 packets"}
    late = str(Span(_packet_time(case)))
    links: list[dict[str, Any]] = [{"from": f"sender-{i}", "to": "left", "jitter": late} | access for i in range(pairs)]
    narrow: dict[str, Any] = {"rate": str(case.rate), "queue": f"{case.queue_packets()} packets"}
    if case.threshold is not None:
        narrow["queue_kind"] = {"name": "ecn_threshold", "threshold": f"{case.threshold} packets"}
    far = round((case.far - 1) * int(case.rtt))
    delays = dict.fromkeys(bottlenecks(case), middle)
    delays[bottlenecks(case)[-1]] += far
    links += [
        {
            "name": name, "from": "left", "to": "right", "duplex": False, "delay": str(Span(delay)), "loss": case.loss,
        } | narrow
        for name, delay in delays.items()
    ]  # fmt: skip
    back = {"name": "back", "from": "right", "to": "left", "duplex": False} | access
    back |= {"delay": str(Span(middle)), "loss": case.ack_loss}
    if case.reverse or case.exchange:
        # Data on the way back has the bottleneck's rate and buffer.
        back |= narrow | {"loss": max(case.ack_loss, case.loss if case.exchange else 0.0)}
    links.append(back)
    links += [{"from": "right", "to": f"receiver-{i}"} | access for i in range(pairs)]
    return links


def _flows(case: Case) -> Iterator[dict[str, Any]]:
    for index, (variant, group) in enumerate(zip(case.variants(), groups(case), strict=True)):
        flow = _flow(case, index, variant, group)
        if case.repeat == 1:
            yield flow
        for k in range(case.repeat if case.repeat > 1 else 0):
            earliest, latest = (int(case.gap) * k + time for time in (0, int(_latest_start(case))))
            start = {"uniform": [str(Span(earliest)), str(Span(latest))]}
            yield flow | {"name": f"{flow['name']}-{k}", "start": start}


def _reverse_flow(index: int, variant: str) -> dict[str, Any]:
    return {
        "name": f"reverse-{index}", "group": REVERSE, "from": f"receiver-{index}", "to": f"sender-{index}",
        "variant": variant, "size": "unlimited",
    }  # fmt: skip


def _flow(case: Case, index: int, variant: str, group: str) -> dict[str, Any]:
    flow: dict[str, Any] = {
        "name": f"{group}-{index}",
        "group": group,
        "from": f"sender-{index}",
        "to": f"receiver-{index}",
        "variant": variant,
        "start": {"uniform": ["0 s", str(_latest_start(case))]},
    }
    if case.exchange is None:
        flow["size"] = f"{case.payload_bytes()} B"
    else:
        flow["application"] = case.exchange.model_dump(mode="json", exclude_none=True)
    if case.period is not None and group == "main":
        flow["via"] = "first"
    if case.receiver:
        flow["receiver_stack"] = "receiver"
    return flow


def _stack(case: Case) -> dict[str, Any]:
    stack: dict[str, Any] = {"mtu": case.mtu}
    if case.threshold is not None:
        stack["tcp_ecn"] = 1
    if case.rmem is not None:
        stack["tcp_rmem"] = [4096, min(131_072, case.rmem), case.rmem]
    if case.wmem is not None:
        stack["tcp_wmem"] = [4096, min(16_384, case.wmem), case.wmem]
    return stack | case.stack


def _latest_start(case: Case) -> Span:
    # A round-trip time separates flows; a timer tick of the kernel, which is a millisecond, separates runs.
    return Span(max(int(case.rtt), 10**9))


def _packet_time(case: Case) -> int:
    """Serialisation time of a full packet on the bottleneck in ps."""
    return (case.mtu + FRAMING) * 8 * 10**12 // int(case.rate)


def _times(rate: Rate, factor: int) -> Rate:
    return Rate(min(int(rate) * factor, Rate.highest))
