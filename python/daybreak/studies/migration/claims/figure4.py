"""Figure 4: two CUBIC flows, one of which is migrated, at four periods."""

from __future__ import annotations

from itertools import pairwise

import polars as pl

from daybreak.metrics.confidence import Interval, interval
from daybreak.studies.migration.measured import Evidence, Measured, fcts, in_state, means, prolongations, while_both
from daybreak.studies.migration.settings import PAIR_PERIODS, Scale, pair
from daybreak.studies.scoreboard import Scoreboard


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Nearly equal FCTs at 50 ms, and a migrated flow that suffers the more the shorter the period is."""
    runs = {period: evidence[pair(scale, "cubic", "cubic", period)] for period in PAIR_PERIODS}
    longer = {period: measured_interval(prolongations(measured)) for period, measured in runs.items()}
    equal(board, runs[50], longer[50])
    sawtooth(board, runs[50])

    rates = {period: both_rates(measured) for period, measured in runs.items()}
    migrated, main = rates[25]
    board.shape(
        "fig4.below",
        "FCT prolongation at 25 ms",
        migrated.mean < main.mean and longer[25] is not None and longer[25].low > 0,
        ours=longer[25],
        note=f"throughput while both run: migrated {migrated.mean:.3f}, main {main.mean:.3f} Gb/s",
    )
    for period in (10, 1):
        migrated, main = rates[period]
        board.shape(
            "fig4.apart",
            f"migrated flow's throughput while both run, {period} ms",
            migrated.mean < main.mean and not migrated.overlaps(main) and migrated.high == migrated.high,
            suffix=f"{period}ms",
            ours=migrated,
            note=f"main flow {text(main)} Gb/s",
        )
    part = lower_bins(runs[1], bin_ms=10)
    board.shape(
        "fig4.consistent", "part of the time in which the migrated flow is below, 1 ms", part >= 0.95, ours=part
    )

    order = [longer[period] for period in PAIR_PERIODS]
    known = [value.mean for value in order if value is not None]
    board.shape(
        "fig4.trend",
        "FCT prolongation from 50 ms to 1 ms",
        len(known) == len(order) and all(a < b for a, b in pairwise(known)),
        ours=longer[1],
        note=", ".join(f"{text(value)} s at {period} ms" for period, value in longer.items()),
    )
    for period, measured in runs.items():
        ends = measured.flows.filter(pl.col("group") == "main").sort("run")["end_s"].to_list()
        board.value("fig4.main_end", f"end of the main flow, {period} ms", ends, suffix=f"{period}ms")


def equal(board: Scoreboard, measured: Measured, longer: Interval | None) -> None:
    """FCTs that do not differ significantly."""
    main = measured_interval(fcts(measured, "main"))
    if longer is None or main is None:
        board.shape("fig4.equal", "FCT prolongation at 50 ms", False, note="a flow did not end")
        return
    mean, low, high = (100 * value / main.mean for value in (longer.mean, longer.low, longer.high))
    relative = Interval(mean, low, high, longer.runs)
    board.shape(
        "fig4.equal",
        "FCT prolongation at 50 ms, in percent of the main flow's FCT",
        abs(relative.mean) <= 10 or longer.contains(0),
        ours=relative,
        note=f"main {text(main)} s",
    )


def sawtooth(board: Scoreboard, measured: Measured) -> None:
    """Between the link's rate and half of it."""
    table = while_both(measured, measured.throughput)
    for group in ("main", "migrated"):
        for name, state in (("high", 0), ("low", 1)):
            place = "separate links" if state == 0 else "the shared link"
            board.value(
                f"fig4.sawtooth.{name}",
                f"throughput of the {group} flow on {place}, 50 ms",
                means(in_state(measured, table, state), group),
                suffix=group,
            )


def both_rates(measured: Measured) -> tuple[Interval, Interval]:
    """Mean throughput of the migrated and of the main flow while both run."""
    table = while_both(measured, measured.throughput)
    return interval(means(table, "migrated")), interval(means(table, "main"))


def lower_bins(measured: Measured, *, bin_ms: int) -> float:
    """Part of the wider bins, all runs together, in which the migrated flow has less than the main flow."""
    table = while_both(measured, measured.throughput)
    slot = ((pl.col("time_s") * 1000).round(3) // bin_ms).cast(pl.Int64).alias("slot")
    wide = table.group_by("run", "group", slot).agg(pl.col("gbps").mean())
    both = wide.filter(group="migrated").join(wide.filter(group="main"), on=["run", "slot"], suffix="_main")
    return float(both.select((pl.col("gbps") < pl.col("gbps_main")).mean()).item()) if both.height else 0.0


def measured_interval(values: list[float | None]) -> Interval | None:
    """Mean and interval, or None when a flow did not end in some run."""
    known = [value for value in values if value is not None]
    return interval(known) if known and len(known) == len(values) else None


def text(value: Interval | None) -> str:
    """A mean with its half width, as notes have it."""
    if value is None:
        return "unfinished"
    if value.low != value.low:
        return f"{value.mean:.4g}"
    return f"{value.mean:.4g} +- {value.high - value.mean:.2g}"
