"""Figure 3: a single flow under reconfiguration, in the absence of congestion."""

from __future__ import annotations

from daybreak.metrics.confidence import interval
from daybreak.metrics.throughput import ramps_s
from daybreak.studies.migration.measured import BIN_NS, Evidence, Measurements
from daybreak.studies.migration.settings import NAMES, SINGLE_PERIODS, Scale, single
from daybreak.studies.migration.testbed import RATE_GBPS
from daybreak.studies.scoreboard import Scoreboard

FULL = 0.95
"""Share of the link's rate from which it counts as full: a bin cannot show 100 %, since it cuts packets."""


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """An FCT of 3.47 s for every period, and a full link within 10 ms."""
    for variant, name in NAMES.items():
        runs = {period: evidence[single(scale, variant, period)] for period in SINGLE_PERIODS}
        for period, measured in runs.items():
            said = f"a period of {period} ms" if period else "no reconfiguration"
            suffix = f"{variant}.{measured.setting.period}"
            board.value("fig3.fct", measured.fcts("migrated"), suffix=suffix, variant=name, period=said)
        ramps = [time for measured in runs.values() for time in ramp_ms(measured)]
        worst = max((time for time in ramps if time is not None), default=None)
        never = "the link never was full in some run" if None in ramps else ""
        is_short = not never and worst is not None and worst <= 10
        board.shape("fig3.ramp", is_short, worst, suffix=variant, variant=name, note=never)
        means = {period: mean_fct(measured) for period, measured in runs.items()}
        changes = {period: 100 * (mean / means[0] - 1) for period, mean in means.items() if period}
        board.shape(
            "fig3.period",
            all(abs(change) < 1 for change in changes.values()),
            max(changes.values(), key=abs),
            suffix=variant,
            variant=name,
            note=", ".join(f"{change:+.3f} % at {period} ms" for period, change in changes.items()),
        )


def ramp_ms(measured: Measurements) -> list[float | None]:
    """Milliseconds from the flow's start to the end of the first full bin, one value per run."""
    ramps = ramps_s(measured.throughput, measured.flows, gbps=FULL * RATE_GBPS, bin_ns=BIN_NS)
    return [None if ramp is None else 1e3 * ramp for ramp in ramps]


def mean_fct(measured: Measurements) -> float:
    """Mean FCT of the flow over the runs; NaN if it did not end in some run."""
    return interval(float("nan") if value is None else value for value in measured.fcts("migrated")).mean
