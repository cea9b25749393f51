"""Section 4 besides the variants: datagrams, a larger buffer at r3, other rates."""

from __future__ import annotations

from daybreak.studies.lightpath.changes import LARGE_BUFFER
from daybreak.studies.lightpath.measured import Evidence
from daybreak.studies.lightpath.settings import NS2, UDP, Scale, Setting
from daybreak.studies.lightpath.testbed import QUEUE_PACKETS, UDP_PART
from daybreak.studies.scoreboard import Scoreboard

FULL_FROM = 0.995
"""Part of the rate before that datagrams keep: throughput is not affected."""
DATAGRAMS = (("B", 1000, 100), ("C1", 1000, 100), ("D", 1000, 100), ("D", 1000, 10))
LARGE_AT_S = {"46": 683, "59": 3821}
"""Time of the move with a large buffer, and the packets in it at that time in ns-2."""
LARGE_LOST = 4873
"""Packets lost in ns-2 in 200 ms if the buffer is nearly full."""


def datagrams() -> list[Setting]:
    """Constant rate over UDP."""
    return [Setting(*cell, variant=UDP, move="3", after_s=3) for cell in DATAGRAMS]


def large_buffers() -> dict[str, Setting]:
    """D at 1 Gb/s and 100 ms with 5000 packets at r3, by the time of the move."""
    of_d = {at: Setting("D", 1000, 100, stack=NS2, move=at, after_s=12) for at in LARGE_AT_S}
    return {at: setting.changed("large-buffer") for at, setting in of_d.items()}


def settings(scale: Scale) -> list[Setting]:
    """All of them."""
    return [*datagrams(), *large_buffers().values()]


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Datagrams against arithmetic, and the loss with a large buffer."""
    for setting in datagrams():
        measured = evidence[setting]
        overlap = UDP_PART * setting.overlap_packets
        free = QUEUE_PACKETS
        lost = max((2 * UDP_PART - 1) * setting.overlap_packets - free, 0.0) if setting.scenario == "D" else 0.0
        found = measured.lost_anywhere()
        kept = measured.trough().rate / measured.before_mbps
        late = float(measured.counted("reordered"))
        # The phase of the two streams decides which of them loses datagrams at r3.
        is_exact = abs(found - lost) <= max(0.01 * lost, 1) and (lost > 0 or abs(late - overlap) <= 0.01 * overlap)
        board.shape(
            "udp", is_exact and kept >= FULL_FROM, late, suffix=setting.cell, cell=setting.cell,
            note=f"{overlap:.0f} late ones expected; lost {found}, {lost:.0f} expected; {kept:.3f} of the rate before",
        )  # fmt: skip
    for at, setting in large_buffers().items():
        measured = evidence[setting]
        queue = measured.queue_at_move("receiver")
        over = setting.overlap_packets - (LARGE_BUFFER - 1 - queue)
        lost_in_time = measured.lost("receiver", 0, 0.2)
        board.shape(
            "big_buffer", (lost_in_time > 0) == (over > 0), float(lost_in_time), suffix=at, cell=f"moved at {at} s",
            note=f"queue of {queue} at the move (ns-2 {LARGE_AT_S[at]}), so the overlap is {over:.0f} over the free "
            f"part; the rate falls by {100 * measured.reduction:.0f} %",
        )  # fmt: skip
