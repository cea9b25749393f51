"""Figure 4: scenarios B and C1, where the sender's link or all core links are the limit: reordering, a brief dip."""

from __future__ import annotations

import polars as pl

from daybreak.studies.lightpath.measured import Evidence, Measurements
from daybreak.studies.lightpath.settings import STACKS, Scale, Setting, counted, figure4
from daybreak.studies.scoreboard import Scoreboard

ROUTERS = ("ip-1", "ip-2", "optical", "receiver")
DIP = 0.99
"""Relative rate, compared to no move, below which a second counts as below it."""


def settings(scale: Scale, stack: str) -> list[Setting]:
    """The settings of the figure for one stack."""
    b, c1 = figure4(scale, stack), figure4(scale, stack, "C1")
    return [b, b.unmoved(), c1, *counted(b)]


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """The dip, its depth and its duplicate ACKs in B; C1 beside it."""
    for stack, name in STACKS.items():
        setting, other = figure4(scale, stack), figure4(scale, stack, "C1")
        b, c1, cell = evidence[setting], evidence[other], f"1 Gb/s, 100 ms, {name}"
        below = seconds_below(b, evidence[setting.unmoved()])
        lowest = b.trough()
        board.shape(
            "B.dip", 1 <= below <= 30, lowest.rate, suffix=stack, cell=cell,
            note=f"{below} of the seconds after the move are below the run without one",
        )  # fmt: skip
        board.value("B.peak", [b.peak_mbps / 1e3], suffix=stack, cell=cell)
        board.value("B.trough", [lowest.rate], suffix=stack, cell=cell)
        at_move, later = (evidence[one] for one in counted(setting))
        dup_acks, recoveries = (later.counted(one) - at_move.counted(one) for one in ("dup_acks", "fast_recoveries"))
        board.value("B.dupacks", [float(dup_acks)], suffix=stack, cell=cell)
        undone = later.counted("spurious") - at_move.counted("spurious")
        board.shape(
            "B.cause", recoveries >= 1, float(recoveries), suffix=stack, cell=cell,
            note=f"{undone} of them found to be spurious and undone",
        )  # fmt: skip
        ratio = c1.trough().rate / lowest.rate
        board.shape("C1.as_B", abs(ratio - 1) <= 0.05, ratio, suffix=stack, cell=cell)
        for measured in (b, c1):
            which = measured.setting.scenario
            lost = sum(measured.lost(place, 0, 1) for place in ROUTERS)
            board.value(
                "BC.no_drop", [float(lost)], suffix=f"{stack}.{which}", cell=f"{which}, {cell}, first second",
                note=f"{measured.lost('sender', 0, 1)} lost in the sender's own queue",
            )  # fmt: skip


def seconds_below(moved: Measurements, unmoved: Measurements) -> int:
    """Seconds after the move with less throughput than the same run without a move."""
    both = moved.bins(1000).join(unmoved.bins(1000), on="time_s", suffix="_unmoved")
    return both.filter((pl.col("time_s") >= 0) & (pl.col("mbps") < DIP * pl.col("mbps_unmoved"))).height
