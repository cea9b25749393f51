"""The network of all settings: sender, r1, r2, r3 and receiver, an IP path r1-r2-r3 and a light-path r1-r3.

Printed values are taken as printed (table 1, section 2). Inferences are in `inferences.toml`.
"""

from __future__ import annotations

from typing import Any

from daybreak.scenario import Scenario
from daybreak.scenario.stack import PRESETS
from daybreak.studies.lightpath.changes import CHANGES, CUBIC_2_1
from daybreak.studies.lightpath.settings import NS2, RATES_MBPS, UDP, Setting

PACKET = 1500
"""Bytes of a packet on the wire; there is no framing, as in ns-2."""
PAYLOAD = PACKET - 52
"""Payload: its bytes without IP and TCP headers with timestamps."""
BIN_MS = 1
SAMPLE_MS = 100
"""Interval of the samples of window and queues."""
QUEUE_PACKETS = 499
"""Packets that may wait in r3's queue: the limit of 500 packets in ns-2 includes the one that is being sent."""
UDP_PART = 0.95
"""Part of the limiting rate that datagrams take on the wire."""
LIMITS = {
    "A": (),
    "B": ("sender_rate",),
    "C1": ("ip_rate", "optical_rate"),
    "C2": ("ip_rate",),
    "D": ("receiver_rate",),
}
"""The links that have the limiting rate."""
BOTTLENECKS = {"A": "sender", "B": "sender", "C1": "ip-1", "C2": "ip-1", "D": "receiver"}
"""The link whose queue fills first, by scenario."""
UNBOUNDED = 2**31
"""Socket buffers in bytes. Half is window: 1 GiB, the largest that a TCP header can express (RFC 7323, section 2.3)."""
OF_2009 = {"cubic": CUBIC_2_1, "vegas": {"name": "vegas", "past_window": True, "syn_rtt": True}}
"""Variants that differ in the TCP of ns-2."""
ONCE = "86400 s"
"""A period longer than any run."""


def scenario(setting: Setting) -> Scenario:
    """The scenario of a setting."""
    links = ("sender_rate", "ip_rate", "optical_rate", "receiver_rate")
    limited = LIMITS[setting.scenario]
    rates = {link: setting.rate_mbps if link in limited else RATES_MBPS[setting.rate_mbps] for link in links}
    to = {"kind": "set_route", "route": "way", "path": int(setting.moved)}
    move = {"at": f"{setting.move_s} s", "do": [to]}
    start = f"{setting.assumed.start_ms} ms"
    document: dict[str, Any] = {
        "name": setting.name,
        "description": "Lightpath study: a TCP flow that is moved from a routed path to a shorter light-path.",
        "duration": f"{setting.end_s} s",
        "topology": {
            "kind": "light_path", "rtt": f"{setting.rtt_ms} ms", "framing": 0,
            "queue": waiting(setting.assumed.router_queues), "receiver_queue": f"{QUEUE_PACKETS} packets",
            **{link: f"{rate} Mbit/s" for link, rate in rates.items()},
            **({"nic_queue": waiting(setting.assumed.sender_queue)} if setting.stack == NS2 else {}),
        },
        "stack": stack(setting),
        "flows": [{"name": "elephant", "from": "sender", "to": "receiver", "start": start, **sends(setting)}],
        "routes": [{"name": "way", "flows": ["elephant"], "between": [["ip-1", "ip-2"], ["optical"]]}],
        "timelines": [{"kind": "program", "name": "move", "period": ONCE, "steps": [move]}],
        "records": {
            "bins": f"{BIN_MS} ms", "taps": ["receiver"], "window": f"{SAMPLE_MS} ms", "queues": f"{SAMPLE_MS} ms",
            "sampled_queues": ["ip-1", "optical", "receiver"], "links": ["ip-2", "optical"],
            "drops": False, "loss_bins": f"{BIN_MS} ms",
        },
    }  # fmt: skip
    for change in setting.changes:
        CHANGES[change](document, setting)
    return Scenario.parse(document, source=f'study lightpath, setting "{setting.name}"')


def waiting(limit: int) -> str:
    """The queue limit for a limit of ns-2, without the packet that is being sent."""
    return f"{limit - 1} packets"


def sends(setting: Setting) -> dict[str, Any]:
    """The flow's application: an unlimited transfer, or datagrams at a constant rate."""
    if setting.variant != UDP:
        return {"variant": variant(setting), "size": "unlimited"}
    payload = PACKET - 28
    rate = UDP_PART * setting.rate_mbps * payload / PACKET
    return {"application": {"kind": "constant_rate", "rate": f"{rate:.6f} Mbit/s", "payload": f"{payload} B"}}


def stack(setting: Setting) -> dict[str, Any]:
    """The hosts' TCP: buffers that never bind. In A the window is bounded as ns-2 bounds it, in packets."""
    buffers = [4096, UNBOUNDED, UNBOUNDED]
    settings: dict[str, Any] = {"tcp_rmem": buffers, "tcp_wmem": buffers, "tcp_moderate_rcvbuf": False}
    if setting.stack == NS2:
        settings = {"preset": NS2}
        if setting.variant not in ("cubic", UDP):
            settings["legacy"] = [*PRESETS[NS2]["legacy"], "half_threshold"]
    if setting.scenario == "A":
        settings["cwnd_clamp"] = buffer_packets(setting)
    return settings


def variant(setting: Setting) -> str | dict[str, Any]:
    """The congestion control: in the TCP of ns-2, CUBIC is version 2.1, and Vegas that of Linux 2.6.22."""
    return OF_2009.get(setting.variant, setting.variant) if setting.stack == NS2 else setting.variant


def buffer_packets(setting: Setting) -> int:
    """The buffers of scenario A in packets: limiting rate times base RTT (table 1)."""
    return int(setting.rate_mbps * 1e6 * setting.rtt_ms / 1e3 / 8 / PACKET)
