"""Section 4: the other variants of TCP."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import polars as pl

from daybreak.studies.lightpath.measured import Evidence, Measurements
from daybreak.studies.lightpath.settings import NAMES, NS2, STACKS, Scale, Setting, grid
from daybreak.studies.scoreboard import Scoreboard

OPEN = "Open"
ORDER = ("compound", "cubic", "reno", "vegas")
"""The variants by the time they take to fill the path, fastest first."""

CUT = ("B", "C1", "D")
"""Scenarios in which a move may reduce the rate."""
FILLED = (1000, 100)
"""Mb/s and ms of the cell whose filling times are compared, taken from `moves.csv` without a run."""


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Recovery of Compound beside CUBIC's, growth of Reno and Vegas, and the time to fill the path."""
    small = scale.of_variants()
    for stack, name in STACKS.items():
        by_variant = {variant: grid(small, stack, [variant]) for variant in NAMES}
        later = [
            f"{one.cell} ({_shown(mine)} after {_shown(theirs)})"
            for one, other in zip(by_variant["compound"], by_variant["cubic"], strict=True)
            if (mine := _recovery(evidence[one])) > (theirs := _recovery(evidence[other]))
        ]
        board.shape(
            "var.compound", not later, float(len(later)), suffix=stack, cell=name,
            note=f"later in: {'; '.join(later)}" if later else "",
        )  # fmt: skip
        compound = _recoveries(evidence, by_variant["compound"], by_variant["cubic"])
        faster = [cell for cell, (mine, theirs) in compound.items() if 0 < mine < theirs]
        both = [f"{cell}: {_shown(mine)}, CUBIC {_shown(theirs)}" for cell, (mine, theirs) in compound.items()]
        board.shape(
            "var.faster", bool(faster), float(len(faster)), suffix=stack, cell=name,
            note="; ".join(both) or "no cell falls below 95 %",
        )  # fmt: skip
        cells = {variant: filling_cell(settings) for variant, settings in by_variant.items()}
        for variant in ("reno", "vegas"):
            one = cells[variant]
            growth = packets_per_rtt(evidence[one])
            is_linear = growth <= 1.05 and (growth >= 0.95 or variant != "reno")
            suffix, words = f"{stack}.{variant}", {"cell": f"{one.cell}, {name}", "variant": NAMES[variant]}
            board.shape("var.reno_vegas", is_linear, growth, suffix=suffix, **words)
            slow = _recoveries(evidence, by_variant[variant], by_variant["cubic"])
            later = [cell for cell, (mine, theirs) in slow.items() if mine > theirs]
            both = [f"{cell}: {_shown(mine)}, CUBIC {_shown(theirs)}" for cell, (mine, theirs) in slow.items()]
            board.shape(
                "var.recovery", 0 < len(later) == len(slow), float(len(later)), suffix=suffix, cell=name,
                variant=NAMES[variant], note="; ".join(both) or "no cell falls below 95 %",
            )  # fmt: skip
        if stack != NS2:
            continue  # The times of Linux 6.1 to fill this path are not run: the page says so.
        filling = {variant: Setting("D", *FILLED, variant, stack) for variant in ORDER}
        times = {variant: _fill_s(one) for variant, one in filling.items()}
        ordered = [times[variant] for variant in ORDER]
        is_ordered = all(first < second for first, second in pairwise(ordered))
        board.shape(
            "var.fill", is_ordered, times["cubic"], suffix=stack, cell=f"{filling['cubic'].cell}, {name}",
            note=", ".join(f"{NAMES[variant]} {_shown(time)}" for variant, time in times.items()),
        )  # fmt: skip


def filling_cell(settings: list[Setting]) -> Setting:
    """Scenario D at the largest rate with a base RTT of 100 ms."""
    return max((one for one in settings if (one.scenario, one.rtt_ms) == ("D", 100)), key=lambda one: one.rate_mbps)


def _recoveries(
    evidence: Evidence, settings: list[Setting], others: list[Setting]
) -> Mapping[str, tuple[float, float]]:
    """Recovery times in seconds of a variant and another one, by cell, if either fell below 95 %."""
    # Cells that either takes too long to fill are not run.
    same = {(other.scenario, other.rate_mbps, other.rtt_ms): other for other in others}
    found = {
        one.cell: (_recovery(evidence[one]), _recovery(evidence[same[place]]))
        for one in settings
        if one.scenario in CUT and (place := (one.scenario, one.rate_mbps, one.rtt_ms)) in same
    }
    return {cell: both for cell, both in found.items() if max(both) > 0}


def packets_per_rtt(measured: Measurements) -> float:
    """Growth of the window in packets per RTT, over the time in congestion avoidance in which it does not fall; 0 if
    there is no such time, since a constant window is sampled once."""
    avoiding = (pl.col("state") == OPEN) & (pl.col("cwnd") > pl.col("ssthresh"))
    spells = measured.windows.with_columns(
        pl.col("cwnd").cast(pl.Int64).diff().alias("more"),
        (pl.col("time_s").diff() * 1e3 / pl.col("srtt_ms")).alias("rtts"),
        (avoiding & avoiding.shift(1)).alias("both"),
    ).filter(pl.col("both") & (pl.col("more") >= 0))
    rtts = float(spells["rtts"].sum())
    return float(spells["more"].sum()) / rtts if rtts > 0 else 0.0


def _recovery(measured: Measurements) -> float:
    found = measured.recovery_s(measured.before_mbps)
    return float("inf") if found is None else found


def _fill_s(setting: Setting) -> float:
    return setting.move_s if setting.reaches_limit else float("inf")


def _shown(seconds: float) -> str:
    return "not within the run" if seconds == float("inf") else f"{seconds:.0f} s"
