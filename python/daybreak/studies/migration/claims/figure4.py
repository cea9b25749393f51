"""Figure 4: two CUBIC flows, one of which is migrated, at four periods."""

from __future__ import annotations

from itertools import pairwise

import polars as pl

from daybreak.metrics import concurrency, phases
from daybreak.metrics.confidence import Interval, interval
from daybreak.studies.migration.measured import BIN_NS, GROUPS, Evidence, Measurements
from daybreak.studies.migration.settings import PAIR_PERIODS, Scale, pair
from daybreak.studies.migration.testbed import RATE_GBPS, SEPARATE, SHARED
from daybreak.studies.scoreboard import Scoreboard, text

FULL = 0.95
"""Part of a link's rate with which it is full."""


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Nearly equal FCTs at 50 ms, and a migrated flow that suffers more the shorter the period is."""
    runs = {period: evidence[pair(scale, "cubic", "cubic", period)] for period in PAIR_PERIODS}
    longer = {period: measured.prolongation() for period, measured in runs.items()}
    equal(board, longer[50], runs[50].fct("main"))
    sawtooth(board, runs[50])
    shared_fairly(board, runs[50])

    rates = {period: measured.rates() for period, measured in runs.items()}
    migrated, main = rates[25]
    is_below = migrated.mean < main.mean and longer[25] is not None and longer[25].low > 0
    note = f"throughput while both run: migrated {migrated.mean:.3f}, main {main.mean:.3f} Gb/s"
    board.shape("fig4.below", is_below, longer[25], note=note)
    for period in (10, 1):
        migrated, main = rates[period]
        is_apart = migrated.mean < main.mean and not migrated.overlaps(main) and migrated.high == migrated.high
        note = f"main flow {text(main)} Gb/s"
        board.shape("fig4.apart", is_apart, migrated, suffix=f"{period}ms", period=period, note=note)
    shared = runs[1].while_both(runs[1].throughput)
    part = concurrency.part_below(shared, "migrated", "main", "gbps", bin_ns=10 * BIN_NS)
    board.shape("fig4.consistent", part >= 0.95, part)

    order = [longer[period] for period in PAIR_PERIODS]
    known = [value.mean for value in order if value is not None]
    grows = len(known) == len(order) and all(a < b for a, b in pairwise(known))
    note = ", ".join(f"{text(value)} s at {period} ms" for period, value in longer.items())
    board.shape("fig4.trend", grows, longer[1], note=note)
    for period, measured in runs.items():
        ends = measured.flows.filter(pl.col("group") == "main").sort("run")["end_s"].to_list()
        board.value("fig4.main_end", ends, suffix=f"{period}ms", period=period)


def equal(board: Scoreboard, longer: Interval | None, main: Interval | None) -> None:
    """The FCTs do not differ significantly."""
    if longer is None or main is None:
        board.shape("fig4.equal", False, note="a flow did not end")
        return
    mean, low, high = (100 * value / main.mean for value in (longer.mean, longer.low, longer.high))
    percent = Interval(mean, low, high, longer.runs)
    board.shape("fig4.equal", is_equal(longer, main), percent, note=f"main {text(main)} s")


def is_equal(longer: Interval, main: Interval) -> bool:
    """Whether two FCTs do not differ significantly, by what one is longer than the main flow's."""
    return abs(longer.mean) <= 0.1 * main.mean or longer.contains(0)


def shared_fairly(board: Scoreboard, measured: Measurements) -> None:
    """Equal parts of the shared link, and time enough to fill one's own."""
    table = measured.while_both(measured.throughput)
    shared = phases.during(table, measured.phases, SHARED)
    migrated, main = (interval(concurrency.means(shared, group, "gbps")).mean for group in GROUPS)
    part = migrated / (migrated + main)
    note = f"migrated {migrated:.3f}, main {main:.3f} Gb/s"
    board.shape("fig4.fair", 0.45 <= part <= 0.55, part, note=note)
    later = phases.during(table, measured.phases, SEPARATE, last_part=0.5)
    rates = interval(concurrency.means(later, "migrated", "gbps"))
    board.shape("fig4.ramp_up", rates.mean >= FULL * RATE_GBPS, rates)


def sawtooth(board: Scoreboard, measured: Measurements) -> None:
    """The throughput alternates between the link's rate and half of it."""
    table = measured.while_both(measured.throughput)
    for group in ("main", "migrated"):
        for name, phase in (("high", SEPARATE), ("low", SHARED)):
            rates = concurrency.means(phases.during(table, measured.phases, phase), group, "gbps")
            board.value(f"fig4.sawtooth.{name}", rates, suffix=group, group=group)
