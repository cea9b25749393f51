"""Figure 7: two CUBIC flows when packets that arrive in the night are dropped."""

from __future__ import annotations

from daybreak.metrics import concurrency
from daybreak.metrics.confidence import Interval, interval
from daybreak.studies.migration.claims.figure4 import is_equal
from daybreak.studies.migration.measured import Evidence, Measurements
from daybreak.studies.migration.settings import CYCLES, Scale, pair
from daybreak.studies.migration.testbed import RATE_GBPS
from daybreak.studies.scoreboard import Scoreboard, text

DAYS = 0.9
"""Part of the time in which the migrated flow's packets are not dropped, at every cycle."""
AFTER = 0.8
"""Part of what the days allow below which a flow suffers."""


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """The migrated flow falls behind at every cycle; at 9+1 ms the main flow has nearly all, and gains."""
    runs = {cycle: evidence[pair(scale, "cubic", "cubic", *cycle)] for cycle in CYCLES}
    below: list[bool] = []
    for (period, night), measured in runs.items():
        cycle = f"{period - night}+{night}"
        migrated, main = measured.rates()
        longer = measured.prolongation()
        is_below = migrated.high < main.low and longer is not None and longer.low > 0
        note = f"throughput while both run: migrated {text(migrated)}, main {text(main)} Gb/s"
        board.shape("fig7.below", is_below, longer, suffix=f"{cycle}ms", cycle=cycle, note=note)
        below.append(is_below)
    shortest = runs[CYCLES[-1]]
    rates = concurrency.means(shortest.while_both(shortest.throughput), "main", "gbps")
    shares = interval(rate / RATE_GBPS for rate in rates)
    board.shape("fig7.share", shares.mean >= 0.95, shares)
    without = {period: evidence[pair(scale, "cubic", "cubic", period)] for period in (100, 50, 10)}
    unlike(board, without[100], is_below=below[0])
    dark, light = shortest.fct("main"), without[10].fct("main")
    is_faster = dark is not None and light is not None and dark.mean < light.mean
    board.shape("fig7.main_faster", is_faster, dark, note=f"{text(light)} s at 10 ms without downtime")
    for period, night in ((50, 5), (10, 1)):
        cycle = f"{period - night}+{night}"
        dark, light = runs[period, night].fct("migrated"), without[period].fct("migrated")
        note = f"{text(light)} s at {period} ms without downtime"
        board.shape("fig7.migrated_slower", above(dark, light), dark, suffix=f"{cycle}ms", cycle=cycle, note=note)
    later = interval(shortest.rates_after("migrated"))
    board.shape("fig7.after", later.mean < AFTER * DAYS * RATE_GBPS, later)


def unlike(board: Scoreboard, light: Measurements, *, is_below: bool) -> None:
    """Behind at 90+10 ms, where without downtime it is not."""
    longer, main = light.prolongation(), light.fct("main")
    if longer is None or main is None:
        board.shape("fig7.unlike", False, note="a flow did not end")
        return
    mean, low, high = (100 * value / main.mean for value in (longer.mean, longer.low, longer.high))
    holds = is_below and is_equal(longer, main)
    board.shape("fig7.unlike", holds, Interval(mean, low, high, longer.runs), note=f"main {text(main)} s")


def above(one: Interval | None, other: Interval | None) -> bool:
    """Whether one mean is above the other with disjoint intervals."""
    return one is not None and other is not None and one.low > other.high
