"""Figure 3: scenario A, where TCP's buffers are the limit: the rate rises to buffer over new RTT, without a loss."""

from __future__ import annotations

import polars as pl

from daybreak.metrics import transient
from daybreak.studies.lightpath.measured import ENOUGH, Evidence
from daybreak.studies.lightpath.settings import STACKS, Scale, figure3
from daybreak.studies.lightpath.testbed import PACKET, buffer_packets
from daybreak.studies.scoreboard import Scoreboard

STEADY_S = 10.0
"""From here on the rate after the move is steady."""
QUICK_S = 5.0
STABLE_S = 5.0
STABLE = 0.97
"""Part of the limit that each of the seconds before the move has, if the rate is stable."""


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Rates before and after, and losses, at three RTTs."""
    for stack, name in STACKS.items():
        for rtt, setting in figure3(scale, stack).items():
            measured = evidence[setting]
            suffix, cell = f"{stack}.{rtt}ms", f"base RTT {rtt} ms, {name}"
            before = measured.before_mbps / 1e3
            board.shape("A.before", 0.97 <= before <= 1.01, before, suffix=suffix, cell=cell)
            seconds = measured.bins(1000)
            last = seconds.filter((pl.col("time_s") >= -STABLE_S) & (pl.col("time_s") < 0))["mbps"]
            least = float(last.min()) / setting.rate_mbps  # type: ignore[arg-type]
            board.shape("A.stable", least >= STABLE, least, suffix=suffix, cell=cell)
            after = transient.mean_between(seconds, "mbps", STEADY_S, float("inf")) / 1e3
            board.value("A.after", [after], suffix=suffix, cell=cell)
            new_rate_mbps = buffer_packets(setting) * PACKET * 8 / (0.6 * rtt * 1e3)
            quick = transient.reached_s(seconds, "mbps", width_s=1.0, level=ENOUGH * new_rate_mbps)
            board.shape("A.quick", quick is not None and quick <= QUICK_S, quick, suffix=suffix, cell=cell)
            board.value("A.no_loss", [measured.lost_anywhere()], suffix=suffix, cell=cell)
