"""Named changes that a setting may make to the study.

A row is a mechanism in which the TCP of ns-2 differs from Linux 6.1: either stack can be given the other's version. A
remedy is another way to move the flow, or another network or TCP.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from daybreak.scenario.stack import LARGEST, PRESETS, UNBOUNDED
from daybreak.studies.lightpath.settings import Setting

Document = dict[str, Any]
"""A scenario file."""


@dataclass(frozen=True)
class Row:
    """A row of the comparison of both stacks. ``ns2`` and ``linux`` have the fields that differ, by table.

    ``title`` is what ns-2 does, ``linux_title`` what Linux 6.1 does instead.
    """

    title: str
    linux_title: str
    mechanisms: tuple[str, ...] = ()
    """Of `Stack.legacy`."""
    ns2: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    linux: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def of_ns2(self, document: Document, setting: Setting) -> None:
        """Gives a stack this mechanism of ns-2."""
        self._take(document, self.ns2, [*_legacy(document), *self.mechanisms])

    def of_linux(self, document: Document, setting: Setting) -> None:
        """Gives a stack this mechanism of Linux."""
        self._take(document, self.linux, [one for one in _legacy(document) if one not in self.mechanisms])

    def _take(self, document: Document, fields: Mapping[str, Mapping[str, Any]], legacy: list[str]) -> None:
        document["stack"]["legacy"] = legacy
        for table, values in fields.items():
            (document["flows"][0] if table == "flow" else document[table]).update(values)


def _legacy(document: Document) -> list[str]:
    stack = document["stack"]
    return list(stack.get("legacy", PRESETS.get(stack.get("preset"), {}).get("legacy", ())))


CUBIC_2_1 = {"name": "cubic", "beta": 0.8, "hystart": False, "max_increment": 16, "ack_ratio": True}
NS2_QUEUE = "499 packets"
"""Capacity of the sender's queue in ns-2."""
ROWS = {
    "marking": Row(
        "losses marked by sequence", "losses marked by time (RACK)",
        ("fack",),
        {"stack": {"tcp_recovery": 0, "tcp_early_retrans": 0, "tcp_max_reordering": 3}},
        {"stack": {"tcp_recovery": 1, "tcp_early_retrans": 3, "tcp_max_reordering": 300}},
    ),
    "undo": Row(
        "no reduction undone", "spurious reductions undone",
        ("no_undo",),
        {"stack": {"tcp_dsack": False, "tcp_frto": 0}},
        {"stack": {"tcp_dsack": True, "tcp_frto": 2}},
    ),
    "at-once": Row("window reduced at once", "window reduced step by step (PRR)", ("window_at_once",)),
    "forgets": Row("SACKs forgotten", "SACKs kept after a recovery", ("forget_sacks",)),
    "ranges": Row("SACK blocks of whole ranges", "SACK blocks of what the receiver holds", ("whole_ranges",)),
    "paws": Row(
        "timestamps and window not checked", "timestamps (PAWS) and window checked",
        ("no_paws", "no_receive_window"),
        {"stack": {"tcp_wmem": (4_096, LARGEST, LARGEST)}},
        {"stack": {"tcp_wmem": (4_096, UNBOUNDED, UNBOUNDED)}},
    ),
    "echo": Row("no RTT from timestamps alone", "RTT from timestamps too", ("no_echo_samples",)),
    "timer": Row("timer restarted by duplicates", "timer not restarted by duplicates", ("rto_restart",)),
    "acks": Row(
        "an ACK for every packet", "delayed and compressed ACKs",
        ("ack_every_packet",),
        {"stack": {"tcp_comp_sack_nr": 0}},
        {"stack": {"tcp_comp_sack_nr": 44}},
    ),
    "growth": Row(
        "CUBIC 2.1", "CUBIC of Linux 6.1", (), {"flow": {"variant": CUBIC_2_1}}, {"flow": {"variant": "cubic"}}
    ),
    "start": Row(
        "initial window of 2", "initial window of 10",
        (),
        {"stack": {"initial_window": 2}},
        {"stack": {"initial_window": 10}},
    ),
    "host-queue": Row(
        "host queue that drops", "host queue that waits",
        (),
        {"topology": {"nic_queue": NS2_QUEUE}, "stack": {"tcp_limit_output_bytes": "off"}},
        {"topology": {"nic_queue": None}, "stack": {"tcp_limit_output_bytes": 1_048_576}},
    ),
}  # fmt: skip
"""The rows, by their names in settings."""


def long_queues(document: Document, setting: Setting) -> None:
    """Removes losses in the sender and on the IP path."""
    document["topology"] |= {"nic_queue": None, "queue": "1000000 packets", "receiver_queue": NS2_QUEUE}


def long_sender_queue(document: Document, setting: Setting) -> None:
    """Removes losses in the sender from the move on."""
    _at(document, setting.move_s, {"kind": "set_limit", "queue": "sender", "limit": "unlimited"})


LARGE_BUFFER = 5000
LARGER_FROM_S = 40


def large_buffer(document: Document, setting: Setting) -> None:
    """Gives r3's queue `LARGE_BUFFER` packets from `LARGER_FROM_S` on."""
    _at(document, LARGER_FROM_S, {"kind": "set_limit", "queue": "receiver", "limit": f"{LARGE_BUFFER} packets"})


def _at(document: Document, time_s: float, action: Document) -> None:
    step = {"at": f"{time_s} s", "do": [action]}
    period = document["timelines"][0]["period"]
    document["timelines"].append({"kind": "program", "name": "limits", "period": period, "steps": [step]})


def night(downtime: str) -> Callable[[Document, Setting], None]:
    """Removes the path for 0.4 base RTTs before the move, the time by which the light-path is shorter."""

    def apply(document: Document, setting: Setting) -> None:
        dark_s = setting.move_s - 0.4e-3 * setting.rtt_ms
        do = [{"kind": "darken", "route": "way", "downtime": downtime}]
        document["timelines"][0]["steps"].insert(0, {"at": f"{dark_s * 1e3:.6f} ms", "do": do})

    return apply


def optical_delay(part: float) -> Callable[[Document, Setting], None]:
    """Sets the light-path's one-way delay to this part of the base RTT; it is 0.1 in the study and 0.5 on the IP
    path."""

    def apply(document: Document, setting: Setting) -> None:
        document["topology"]["optical_delay"] = f"{part * setting.rtt_ms * 1000:.0f} us"

    return apply


def buffer_for_overlap(document: Document, setting: Setting) -> None:
    """Gives r3 room for the packets of the overlap, besides its own 500 packets."""
    document["topology"]["receiver_queue"] = f"{500 + round(setting.overlap_packets)} packets"


def paced(document: Document, setting: Setting) -> None:
    """Paces the sender at the limiting rate, less headers and a margin to drain the queue."""
    document["stack"]["max_pacing_rate"] = f"{0.95 * setting.rate_mbps} Mbit/s"


def by_duplicates(document: Document, setting: Setting) -> None:
    """Disables RACK and probes: losses are detected by duplicate ACKs (RFC 6675)."""
    document["stack"] |= {"tcp_recovery": 0, "tcp_early_retrans": 0}
    document["stack"]["legacy"] = [one for one in _legacy(document) if one != "fack"]


@dataclass(frozen=True)
class Remedy:
    """A change that may avoid the cost of a move."""

    title: str
    apply: Callable[[Document, Setting], None]


REMEDIES = {
    "hold": Remedy("packets held for 0.4 RTT", night("hold")),
    "drain": Remedy("old path drained, packets held", night("drain")),
    "drop": Remedy("packets dropped for 0.4 RTT", night("drop")),
    "delay-0.3": Remedy("light-path of 0.3 RTT", optical_delay(0.3)),
    "delay-0.5": Remedy("light-path as long as the IP path", optical_delay(0.5)),
    "overlap-buffer": Remedy("r3 has room for the overlap", buffer_for_overlap),
    "no-rack": Remedy("losses by duplicate ACKs, no RACK", by_duplicates),
    "paced": Remedy("sender paced at 95 % of the limit", paced),
}
"""Ways to move, by their names in settings. The default keeps the old path: make before break."""

CHANGES: dict[str, Callable[[Document, Setting], None]] = {
    "long-queues": long_queues,
    "long-sender-queue": long_sender_queue,
    "large-buffer": large_buffer,
    **{f"{name}-of-ns2": row.of_ns2 for name, row in ROWS.items()},
    **{f"{name}-of-linux": row.of_linux for name, row in ROWS.items()},
    **{name: remedy.apply for name, remedy in REMEDIES.items()},
}
"""All of them, by name."""
