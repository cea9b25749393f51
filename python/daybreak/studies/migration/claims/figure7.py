"""Figure 7: two CUBIC flows when packets that arrive in the night are dropped."""

from __future__ import annotations

from daybreak.metrics.confidence import Interval, interval
from daybreak.studies.migration.claims.figure4 import both_rates, measured_interval, text
from daybreak.studies.migration.measured import (
    Evidence,
    after_first,
    fcts,
    fraction_of_link,
    means,
    prolongations,
    while_both,
)
from daybreak.studies.migration.settings import CYCLES, Scale, pair
from daybreak.studies.scoreboard import Scoreboard


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """The migrated flow falls behind at every cycle; at 9+1 ms the main flow has nearly all, and gains."""
    runs = {cycle: evidence[pair(scale, "cubic", "cubic", *cycle)] for cycle in CYCLES}
    for (period, night), measured in runs.items():
        migrated, main = both_rates(measured)
        longer = measured_interval(prolongations(measured))
        board.shape(
            "fig7.below",
            f"FCT prolongation at {period - night}+{night} ms",
            migrated.high < main.low and longer is not None and longer.low > 0,
            suffix=f"{period - night}+{night}ms",
            ours=longer,
            note=f"throughput while both run: migrated {text(migrated)}, main {text(main)} Gb/s",
        )
    shortest = runs[CYCLES[-1]]
    table = while_both(shortest, shortest.throughput)
    shares = interval(fraction_of_link(rate) for rate in means(table, "main"))
    board.shape("fig7.share", "main flow's part of the link while both run, 9+1 ms", shares.mean >= 0.95, ours=shares)
    without = {period: evidence[pair(scale, "cubic", "cubic", period)] for period in (50, 10)}
    dark, light = (measured_interval(fcts(measured, "main")) for measured in (shortest, without[10]))
    board.shape(
        "fig7.main_faster",
        "main flow's FCT at 9+1 ms",
        dark is not None and light is not None and dark.mean < light.mean,
        ours=dark,
        note=f"{text(light)} s at 10 ms without downtime",
    )
    for period, night in ((50, 5), (10, 1)):
        dark, light = (
            measured_interval(fcts(measured, "migrated")) for measured in (runs[period, night], without[period])
        )
        board.shape(
            "fig7.migrated_slower",
            f"migrated flow's FCT at {period - night}+{night} ms",
            above(dark, light),
            suffix=f"{period - night}+{night}ms",
            ours=dark,
            note=f"{text(light)} s at {period} ms without downtime",
        )
    later = interval(means(after_first(shortest, "migrated"), "migrated"))
    board.shape(
        "fig7.after", "migrated flow's throughput after the main flow's end, 9+1 ms", later.mean < 9, ours=later
    )


def above(one: Interval | None, other: Interval | None) -> bool:
    """Whether one mean is above the other with intervals that do not overlap."""
    return one is not None and other is not None and one.low > other.high
