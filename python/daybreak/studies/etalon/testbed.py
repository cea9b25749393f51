"""The testbed of all settings: three racks of sixteen hosts, one of which sends to another.

What the emulator's code and logs state is taken as stated; inferences, with their sources, are in `inferences.toml`.
"""

from __future__ import annotations

from typing import Any

from daybreak.scenario import Scenario
from daybreak.studies.etalon.settings import Setting
from daybreak.studies.hosts import LINUX_4_15

HOSTS = 16
RACKS = 3
"""Actual racks; the schedule emulates the others."""
CIRCUIT_GBPS, PACKET_GBPS = 80, 10
MTU = 9000
THRESHOLD = 10
"""Packets above which a VOQ marks (CE) for DCTCP."""
CURVE_INTERVAL = "5 us"
"""Sampling interval of the VOQ."""


def pair(racks: int) -> tuple[int, int]:
    """The racks that send and receive, counted from 0: those of the published runs."""
    return (1, 2) if racks > 8 else (0, 1)


OFFLOAD_BYTES = 65_536
"""Segmentation offload of the emulator's hosts."""
ETHERNET_HEADER = 14
"""Bytes of header that a real NIC adds to a packet; the emulator's rates do not count them."""


def scenario(setting: Setting, *, real_hosts: bool = False) -> Scenario:
    """The scenario of a setting. With ``real_hosts`` the kernel engine can run it."""
    source, destination = pair(setting.racks)
    week_us = (setting.racks - 1) * (setting.day_us + setting.night_us)
    hosts = [f"host-{source}-{k}->tor-{source}" for k in range(HOSTS)]
    voq: dict[str, Any] = {"name": "drop_tail"}
    schedule: dict[str, Any] = {
        "kind": "strobe",
        "day": f"{setting.day_us} us",
        "night": f"{setting.night_us} us",
        "as_racks": setting.racks,
    }
    if setting.large is not None:
        schedule["resize"] = {"limit": f"{setting.large} packets", "before": f"{setting.tau_us} us"}
    if setting.mark_us is not None:
        schedule["announce"] = {"before": f"{setting.mark_us} us", "until": "next_check"}
    if setting.variant == "dctcp":
        voq = {"name": "ecn_threshold", "threshold": f"{THRESHOLD} packets", "count_arrival": True}
        if setting.large is not None:
            threshold = round(setting.large / setting.small * THRESHOLD)
            schedule["resize"]["threshold"] = f"{threshold} packets"
    document: dict[str, Any] = {
        "name": setting.name,
        "description": "Etalon study: bulk flows from one rack to another over packets and circuits.",
        "duration": f"{setting.weeks * week_us} us",
        "stop": "duration",
        "topology": {
            "kind": "hybrid",
            "racks": RACKS,
            "hosts": HOSTS,
            "host_rate": "40 Gbit/s",
            "to_host_rate": "800 Gbit/s",
            "host_delay": f"{setting.hosts.delay_ns} ns",
            "packet_rate": f"{PACKET_GBPS} Gbit/s",
            "packet_delay": "5 us",
            "circuit_rate": f"{CIRCUIT_GBPS} Gbit/s",
            "circuit_delay": "30 us",
            "voq": f"{setting.small} packets",
            "voq_kind": voq,
            "framing": ETHERNET_HEADER if real_hosts else 0,
        },
        "schedule": schedule,
        "stack": {
            "mtu": MTU,
            "timer_dilation": setting.dilation,
            "hz": setting.hosts.hz,
            "tso_max_bytes": OFFLOAD_BYTES,
            # No compressed SACKs in 4.15. netem, which is the hosts' queueing discipline, takes packets off the
            # socket's account: TCP small queues never act.
            "tcp_comp_sack_nr": setting.hosts.compressed_sacks,
            **({} if setting.hosts.small_queues else {"tcp_limit_output_bytes": "off"}),
            **({"legacy": list(LINUX_4_15)} if setting.hosts.older and not real_hosts else {}),
            "tcp_ecn": 1 if setting.variant == "dctcp" else 2,
        },
        "flows": [
            {
                "name": f"flow-{k}",
                "group": "all",
                "from": f"host-{source}-{k}",
                "to": f"host-{destination}-{k}",
                "variant": setting.variant,
                "size": "unlimited",
                "start": {"uniform": ["0 us", f"{setting.hosts.start_us} us"]},
            }
            for k in range(HOSTS)
        ],
        "records": {
            "bins": "off",
            "drops": False,
            "circuits": False,
            "queues": CURVE_INTERVAL,
            "sampled_queues": [f"voq-{source}-{destination}"],
            "packets": [*hosts, f"circuit-{source}-{destination}", f"packet-{destination}.back"],
        },
    }
    return Scenario.parse(document, source=f'setting "{setting.name}"')
