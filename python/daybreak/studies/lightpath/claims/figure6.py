"""Figures 6 and 7: scenario D, where the receiver's link is the limit: both paths together overflow r3."""

from __future__ import annotations

import polars as pl

from daybreak.studies.lightpath.claims.figure4 import seconds_below
from daybreak.studies.lightpath.measured import Evidence, Measurements
from daybreak.studies.lightpath.settings import NS2, STACKS, Scale, Setting, counted, figure4, figure6
from daybreak.studies.lightpath.testbed import QUEUE_PACKETS
from daybreak.studies.scoreboard import Scoreboard

COUNTED_FROM_S = 60.0
"""A reduced run does not count duplicate ACKs, which takes two runs more."""
MUCH = 2.0
"""How many times as long is much longer."""
BEFORE_RETRANSMISSIONS = 0.65
"""Base RTTs after the move in which no retransmission can have reached r3: the first early packet's SACK reaches the
sender after 0.6, and a retransmission reaches r3 a light-path delay of 0.1 later."""


def settings(scale: Scale, stack: str) -> list[Setting]:
    """What figure 6 needs of one stack."""
    one, of_b = figure6(scale, stack), figure4(scale, stack)
    return [one, *(counted(one) if one.after_s >= COUNTED_FROM_S else ()), of_b, of_b.unmoved()]


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Figure 6: the loss and its effect on the rate."""
    for stack, name in STACKS.items():
        setting = figure6(scale, stack)
        measured, cell = evidence[setting], f"10 Gb/s, 10 ms, {name}"
        reduction = 100 * measured.reduction
        board.shape("D.severe", reduction > 50, reduction, suffix=stack, cell=cell)
        board.value("D.overlap", [arriving_gbps(measured)], suffix=stack, cell=cell)
        lost = float(measured.lost("receiver", 0, 0.2))
        board.value("D.drops", [lost], suffix=stack, cell=cell)
        first, expected = first_loss(measured), expected_loss(measured)
        board.shape(
            "D.first_loss", abs(first / expected - 1) <= 0.01, float(first), suffix=stack, cell=cell,
            note=f"{expected:.0f} expected with {measured.queue_at_move('receiver')} packets in the queue at the move",
        )  # fmt: skip
        lowest = measured.trough().rate / 1e3
        board.value("D.trough", [lowest], suffix=stack, cell=cell)
        if all(one in evidence for one in counted(setting)):
            at_move, later = (evidence[one].counted("dup_acks") for one in counted(setting))
            board.shape("D.dupacks", later - at_move > 1e4, float(later - at_move), suffix=stack, cell=cell)
        back = measured.recovery_s(measured.before_mbps)
        rtts = None if back is None else back / (0.6e-3 * setting.rtt_ms)
        board.shape("D.recovery", rtts is not None and rtts >= 1000, rtts, suffix=stack, cell=cell)
        of_b = figure4(scale, stack)
        brief = seconds_below(evidence[of_b], evidence[of_b.unmoved()])
        times = f"{'not within the run' if back is None else f'{back:.0f} s'}, B {brief} s"
        longer = back is not None and back >= MUCH * max(brief, 1)
        ratio = None if back is None or not brief else back / brief
        board.shape("D.longer", longer, ratio, suffix=stack, cell=cell, note=times)


def judge_queue(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Figure 7: r3's queue."""
    for stack, name in STACKS.items():
        measured, cell = evidence[figure6(scale, stack)], f"10 Gb/s, 10 ms, {name}"
        back = measured.recovery_s(measured.before_mbps) or 0.0
        if stack != NS2:
            continue  # It is moved by the rule, not at the time of the paper's flow.
        count = fillings(measured, back, back + 60)
        board.shape("D.probing", count >= 2, float(count), suffix=stack, cell=cell)
        moved_s = measured.setting.move_s
        board.value("D.queue_at_move", [float(measured.queue_at_move("receiver"))], suffix=stack, cell=cell)
        earlier = measured.losses.filter((pl.col("place") == "receiver") & (pl.col("time_s") < 0))["time_s"].to_list()
        board.value("D.queue_t46", [moved_s + max(earlier) if earlier else None], suffix=stack, cell=cell)
        board.value("D.t_switch", [moved_s], suffix=stack, cell=cell)


def arriving_gbps(measured: Measurements) -> float:
    """Largest rate at which packets arrive at r3 in a millisecond of the first half RTT."""
    span = 0.5e-3 * measured.setting.rtt_ms
    part = measured.bins(1).filter((pl.col("time_s") >= 0) & (pl.col("time_s") < span))
    return float(part["arriving_mbps"].cast(pl.Float64).max() or 0.0) / 1e3  # type: ignore[arg-type]


def first_loss(measured: Measurements) -> int:
    """Packets lost at r3 by the overlap itself."""
    return measured.lost("receiver", 0, BEFORE_RETRANSMISSIONS * 1e-3 * measured.setting.rtt_ms)


def expected_loss(measured: Measurements) -> float:
    """Packets of the overlap beyond r3's free buffer, for a flow that fills its link: 0.4 base RTTs of the rate."""
    free = QUEUE_PACKETS - measured.queue_at_move("receiver")
    return max(measured.setting.overlap_packets - free, 0.0)


def fillings(measured: Measurements, from_s: float, to_s: float) -> int:
    """Number of times that r3's queue fills: runs of samples at its limit."""
    samples = measured.queues.filter(
        (pl.col("queue") == "receiver") & (pl.col("time_s") >= from_s) & (pl.col("time_s") < to_s)
    )
    full = (samples["max_packets"] >= QUEUE_PACKETS).to_list()
    return sum(now and not earlier for earlier, now in zip([False, *full], full, strict=False))
