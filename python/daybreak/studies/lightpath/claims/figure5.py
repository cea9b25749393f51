"""Figure 5: scenario C2, where the IP links are the limit and the light-path is faster: the rate rises."""

from __future__ import annotations

from daybreak.metrics import transient
from daybreak.metrics.transient import Line
from daybreak.studies.lightpath.measured import Evidence, Measurements
from daybreak.studies.lightpath.settings import RATES_MBPS, STACKS, Scale, figure5
from daybreak.studies.scoreboard import Scoreboard

GROWTH = {10: 334.3, 100: 36.8}
"""Mb/s per second before the move in ns-2 at 10 Gb/s, by base RTT; after it at 10 ms: `GROWTH_AFTER`."""
GROWTH_AFTER = 516.0
STRAIGHT = 0.99
PRINTED_MBPS = 10_000
LONG_S = 60.0
"""Seconds after the move without which the growth after it is not seen."""


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """The transient, the rise, and growth that is linear before and after."""
    for stack, name in STACKS.items():
        for rtt, setting in figure5(scale, stack).items():
            measured = evidence[setting]
            suffix, cell = f"{stack}.{rtt}ms", f"base RTT {rtt} ms, {name}"
            seconds, before = measured.bins(1000), measured.before_mbps
            first = [transient.mean_between(seconds, "mbps", start, start + 1) / before for start in range(3)]
            shown = ", ".join(f"{part:.2f}" for part in first)
            note = f"the first seconds over the one before: {shown}"
            board.shape(
                "C2.transient",
                all(0.9 <= part <= 1.8 for part in first),
                min(first),
                suffix=suffix,
                cell=cell,
                note=note,
            )
            level = 1.3 * setting.rate_mbps
            rise = transient.reached_s(seconds, "mbps", width_s=1.0, level=level)
            board.shape("C2.rise", rise is not None and rise <= 5, rise, suffix=suffix, cell=cell)
            if setting.rate_mbps < PRINTED_MBPS:
                _miss_growth(board, suffix, cell)
                continue
            growth = growth_before(measured)
            board.shape(
                "C2.linear_before", abs(growth.slope / GROWTH[rtt] - 1) <= 0.05 and growth.r2 > STRAIGHT, growth.slope,
                suffix=suffix, cell=cell, note=f"r^2 {growth.r2:.4f}",
            )  # fmt: skip
            if setting.after_s >= LONG_S:
                _judge_after(board, measured, suffix, cell)
            else:
                for key in ("C2.linear_after", "C2.optical_full"):
                    why = f"not compared: the run ends {setting.after_s:.0f} s after the move, long before that rate"
                    board.left_out(key, why, suffix=suffix, cell=cell)


def _miss_growth(board: Scoreboard, suffix: str, cell: str) -> None:
    for key in ("C2.linear_before", "C2.linear_after", "C2.optical_full"):
        board.shape(key, False, suffix=suffix, cell=cell, note="printed for 10 Gb/s, which was not run")


def _judge_after(board: Scoreboard, measured: Measurements, suffix: str, cell: str) -> None:
    seconds, optical = measured.bins(1000), RATES_MBPS[measured.setting.rate_mbps]
    after = transient.line(seconds, "mbps", 25, 60)
    board.shape(
        "C2.linear_after", abs(after.slope / GROWTH_AFTER - 1) <= 0.05 and after.r2 > STRAIGHT, after.slope,
        suffix=suffix, cell=cell, note=f"r^2 {after.r2:.4f} from 25 to 60 s after the move",
    )  # fmt: skip
    full = transient.reached_s(seconds, "mbps", width_s=1.0, level=0.99 * optical)
    board.shape("C2.optical_full", full is not None and 55 <= full <= 90, full, suffix=suffix, cell=cell)


def growth_before(measured: Measurements) -> Line:
    """The line through the rate's rise before the move, from a third of the limit to 98 % of it."""
    rate = measured.setting.rate_mbps
    earlier = measured.bins(1000)
    rising = [(time, mbps) for time, mbps in earlier.select("time_s", "mbps").rows() if time < 0]
    full = next((time for time, mbps in rising if mbps >= 0.98 * rate), 0.0)
    low = max((time for time, mbps in rising if time < full and mbps < rate / 3), default=rising[0][0])
    return transient.line(earlier, "mbps", low, full) if full - low >= 3 else Line(float("nan"), float("nan"))
