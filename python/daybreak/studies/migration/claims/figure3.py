"""Figure 3: a single flow under reconfiguration, in the absence of congestion."""

from __future__ import annotations

import polars as pl

from daybreak.metrics.confidence import interval
from daybreak.studies.migration.measured import BIN_NS, Evidence, Measured, fcts
from daybreak.studies.migration.settings import SINGLE_PERIODS, VARIANTS, Scale, single
from daybreak.studies.migration.testbed import RATE_GBPS
from daybreak.studies.scoreboard import Scoreboard

FULL = 0.95
"""Part of the link's rate from which it counts as full: a bin cannot show 100 %, it cuts packets."""


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """FCT of 3.47 s whatever the period, and a full link within 10 ms."""
    for variant in VARIANTS:
        name = variant.upper() if variant in ("cubic", "bbr") else variant.title()
        settings = {period: single(scale, variant, period) for period in SINGLE_PERIODS}
        for setting in settings.values():
            period = f"a period of {setting.period_ms} ms" if setting.period_ms else "no reconfiguration"
            board.value(
                "fig3.fct",
                f"FCT of one 4 GB flow, {name}, {period}",
                fcts(evidence[setting], "migrated"),
                suffix=f"{variant}.{setting.period}",
            )
        ramps = [time for setting in settings.values() for time in ramp_ms(evidence[setting])]
        worst = max((time for time in ramps if time is not None), default=None)
        board.shape(
            "fig3.ramp",
            f"time to a full link, {name}, worst of all runs and periods",
            None not in ramps and worst is not None and worst <= 10,
            suffix=variant,
            ours=worst,
            note="the link never was full in some run" if None in ramps else "",
        )
        means = {period: _mean(fcts(evidence[setting], "migrated")) for period, setting in settings.items()}
        changes = [100 * (means[period] / means[0] - 1) for period in SINGLE_PERIODS if period]
        board.shape(
            "fig3.period",
            f"change of the FCT by reconfiguration, {name}",
            all(abs(change) < 1 for change in changes),
            suffix=variant,
            ours=max(changes, key=abs),
            note=", ".join(
                f"{change:+.3f} % at {period} ms"
                for period, change in zip([p for p in SINGLE_PERIODS if p], changes, strict=True)
            ),
        )


def ramp_ms(measured: Measured) -> list[float | None]:
    """Milliseconds from the flow's start to the end of the first full bin, one value a run."""
    starts = measured.flows.select("run", (pl.col("start_ns") / 1e6).alias("start_ms"))
    first = (
        measured.throughput.filter(pl.col("gbps") >= FULL * RATE_GBPS)
        .group_by("run")
        .agg((pl.col("time_s").min() * 1e3 + BIN_NS / 1e6).alias("full_ms"))
    )
    joined = starts.join(first, on="run", how="left").sort("run")
    return joined.select(pl.col("full_ms") - pl.col("start_ms")).to_series().to_list()


def _mean(values: list[float | None]) -> float:
    return interval(float("nan") if value is None else value for value in values).mean
