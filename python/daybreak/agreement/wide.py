"""Draws random scenarios from all that a stack may be set to, several settings at once.

What `drawn` varies one at a time, or not at all: rates from 5 Mbit/s, RTTs up to 100 ms, odd MTUs, up to four settings
of all hosts and two more of the receivers, buffers of a few kilobytes, up to four flows of several rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .draws import Draws

MTUS = (576, 900, 1280, 1400, 1492, 1500, 4352, 9000)
BESIDE = ("cubic", "bbr", "reno", "htcp", "illinois", "vegas", "veno")
MOST_PACKETS = 1_500
"""So that a scenario at 5 Mbit/s ends within a minute."""
TAIL = 500
"""Bytes beyond full segments, at most: less than a segment of the smallest MTU."""

SETTINGS: dict[str, Callable[[Draws], Any]] = {
    "tcp_timestamps": lambda _: False,
    "tcp_sack": lambda _: False,
    "tcp_dsack": lambda _: False,
    "tcp_frto": lambda _: 0,
    "tcp_early_retrans": lambda _: 0,
    "tcp_recovery": lambda draws: draws.one((0, 2, 3, 4, 5, 7)),
    "tcp_reordering": lambda draws: draws.whole(1, 100),
    "tcp_max_reordering": lambda draws: draws.whole(3, 400),
    "tcp_limit_output_bytes": lambda draws: draws.whole(5_000, 1_000_000),
    "tcp_comp_sack_nr": lambda draws: draws.one((0, 1, 5, 200)),
    "tcp_comp_sack_delay_ns": lambda draws: draws.whole(10_000, 5_000_000),
    "tcp_comp_sack_slack_ns": lambda draws: draws.whole(1_000, 2_000_000),
    "tcp_slow_start_after_idle": lambda _: False,
    "tcp_window_scaling": lambda _: False,
    "tcp_moderate_rcvbuf": lambda _: False,
    "tcp_adv_win_scale": lambda draws: draws.one((-2, -1, 2, 3)),
    "tcp_rmem": lambda draws: [4_096, draws.whole(5_000, 500_000), 6_291_456],
    "tcp_wmem": lambda draws: [4_096, draws.whole(5_000, 500_000), 4_194_304],
    "tcp_ecn": lambda draws: draws.one((0, 1, 2)),
    "initial_window": lambda draws: draws.whole(1, 60),
    "rto_min": lambda draws: f"{draws.whole(1, 1_000)} ms",
    "max_pacing_rate": lambda draws: f"{draws.whole(5, 5_000)} Mbit/s",
}
"""Values of the stack's settings, by name; cwnd_clamp is missing, which Linux 6.1 takes from a route."""


def widen(fields: dict[str, Any], draws: Draws) -> dict[str, Any]:
    """The fields of a case of `drawn`, with what this module draws in place of theirs."""
    stack = _settings(draws, most=4)
    receiver = _settings(draws, most=2)
    if _degree({**stack, **receiver}) or _degree(stack):
        stack.pop("tcp_max_reordering", None)
        receiver.pop("tcp_max_reordering", None)
    wide = fields | {
        "rate": f"{draws.whole(5, 10_000)} Mbit/s",
        "rtt": f"{draws.whole(20, 100_000)} us",
        "mtu": draws.one(MTUS),
        "stack": stack,
        "receiver": receiver,
    }
    if "packets" in wide:
        wide["packets"] = min(wide["packets"], MOST_PACKETS)
    if "tail" in wide:
        wide["tail"] = min(wide["tail"], TAIL)
    for buffer in ("rmem", "wmem"):
        if draws.chance(5):
            wide[buffer] = draws.whole(6_000, 3_000_000)
    if draws.chance(5):
        wide["flows"] = "+".join([fields["flows"].split("+")[0], *(draws.one(BESIDE) for _ in range(3))])
    return wide


def _settings(draws: Draws, most: int) -> dict[str, Any]:
    return {name: SETTINGS[name](draws) for name in draws.several(list(SETTINGS), most)}


def _degree(stack: dict[str, Any]) -> bool:
    """The first degree of reordering is above the largest."""
    return bool(stack.get("tcp_reordering", 3) > stack.get("tcp_max_reordering", 300))
