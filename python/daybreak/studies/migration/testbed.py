"""The testbed of all settings: two servers and a switch with a green and a blue loopback link.

Printed values are taken as printed: 10 Gb/s everywhere, one port of each server for each of the two flows, ACKs
that bypass the loopback links, state 0 with the flows on separate links and state 1 with both on the green one,
alternating with the reconfiguration period, and packets that arrive in a night dropped. Inferences, with their reasons,
are in `inferences.toml`.
"""

from __future__ import annotations

from typing import Any

from daybreak.scenario import Scenario
from daybreak.studies.hosts import UBUNTU_18_04
from daybreak.studies.migration.settings import Setting

BIN_MS = 1
"""Width of the recorded bins and window samples."""
RATE_GBPS = 10.0
MTU = 9000
PAYLOAD = MTU - 52
"""Payload of a segment: its bytes without IP and TCP headers with timestamps."""
ARRIVAL_PERIOD = "10 ms"
EARLIER = "earlier-"
"""Prefix of the names of Table II's groups in the round of transfers before the measured one."""
MEASURED_FROM_NS = 6_000_000_000
"""Arrival time of the measured groups of Table II: the round before takes less than 3 s, and the switch is in state
0."""
MOST_FLOWS = 20
REQUEST = "200 B"
"""A client's request: the size of a short HTTP request. It is an inference, and takes the bypass."""
SIZES_MIB = tuple(2**n for n in range(9))
BETWEEN = ("blue", "green")
"""The migrated flow's paths: one of its own, and the main flow's."""
SEPARATE, SHARED = "path 0", "path 1"
"""States 0 and 1: the names of the migrated flow's phases in table `circuits`."""


def scenario(setting: Setting, begin_ns: int = 0) -> Scenario:
    """The scenario of a setting. The switch's cycle and the flows begin at ``begin_ns``; the hosts' ticks count from
    0."""
    bed = setting.testbed
    document: dict[str, Any] = {
        "name": setting.name,
        "description": "Migration study: TCP flows that an optical switch moves between two loopback links.",
        "duration": "120 s",
        "topology": {
            "kind": "migration_testbed", "rate": f"{RATE_GBPS} Gbit/s", "rtt": f"{bed.rtt_us} us",
            "jitter": f"{bed.jitter_ns} ns", "queue": f"{bed.buffer} packets",
        },
        "stack": {
            "mtu": MTU, "hz": bed.hz, "tcp_no_metrics_save": False, "tcp_no_ssthresh_metrics_save": False,
        },
        "records": {
            "bins": f"{BIN_MS} ms", "delivered": False, "taps": ["green", "blue"], "window": f"{BIN_MS} ms",
            "drops": False,
        },
    }  # fmt: skip
    if bed.older:
        document["stack"]["legacy"] = [*UBUNTU_18_04, *(["ms_delays"] if bed.older == 2 else [])]
    if not bed.small_queues:
        document["stack"]["tcp_limit_output_bytes"] = "off"
    if setting.kind in ("forest", "exchanges"):
        # Only completion times are stored of these.
        document["records"] = {"drops": False, "circuits": False}
    variants = {"migrated": setting.migrated, "main": setting.main}
    groups = {group: _flow(group, variant, setting) for group, variant in variants.items() if variant}
    moved = ["migrated"]
    if setting.kind in ("groups", "exchanges"):
        # The round before, whose flows leave their thresholds in the metrics cache, then the measured one.
        moved.append(f"{EARLIER}migrated")
        sizes = {
            "choice": [f"{size} MiB" for size in SIZES_MIB],
            "total": f"{setting.mib} MiB",
            "max_flows": MOST_FLOWS,
        }
        document["arrivals"] = [
            flow | {"name": f"{before}{group}", "start": start, "sizes": sizes, "every": ARRIVAL_PERIOD}
            for before, start in ((EARLIER, f"{begin_ns} ns"), ("", f"{begin_ns + MEASURED_FROM_NS} ns"))
            for group, flow in groups.items()
        ]
    else:
        one = {
            "size": f"{setting.mib} MiB",
            "start": {"uniform": [f"{begin_ns} ns", f"{begin_ns + bed.start_ms * 1_000_000} ns"]},
        }
        document["flows"] = [flow | {"name": group, "group": group} | one for group, flow in groups.items()]
    if setting.period_ms:
        way = "ack_between" if setting.kind == "exchanges" else "between"
        move: dict[str, Any] = {"kind": "migrate", way: list(BETWEEN), "period": f"{setting.period_ms} ms"}
        if setting.night_ms:
            move |= {"night": f"{setting.night_ms} ms", "downtime": "drop"}
        if begin_ns:
            move["start"] = f"{begin_ns} ns"
        document["timelines"] = [{"name": group, "group": group} | move for group in moved]
    return Scenario.parse(document, source=f'study migration, setting "{setting.name}"')


def _flow(group: str, variant: str, setting: Setting) -> dict[str, Any]:
    """A flow of a group without its size; a timeline, if there is one, sets the path of the migrated flow."""
    way = BETWEEN[0] if group == "migrated" else BETWEEN[1]
    links = {} if group == "migrated" and setting.period_ms else {"via": way}
    if setting.kind != "exchanges":
        return {"from": f"sender-{group}", "to": f"receiver-{group}", "ack_via": "bypass", "variant": variant} | links
    # The client receives the data: its requests take the path of ACKs, and the responses that of data.
    asks = {"application": {"kind": "request_response", "request": REQUEST}}
    ends = {"from": f"receiver-{group}", "to": f"sender-{group}", "via": "bypass", "variant": variant}
    return ends | asks | {f"ack_{key}": links[key] for key in links}
