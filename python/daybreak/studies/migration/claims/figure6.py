"""Figure 6: a migrated CUBIC flow against main flows of other variants."""

from __future__ import annotations

from daybreak.metrics.confidence import Interval
from daybreak.metrics.fairness import jain
from daybreak.studies.migration.claims.figure4 import both_rates, measured_interval, text
from daybreak.studies.migration.measured import (
    Evidence,
    Measured,
    after_first,
    fcts,
    in_state,
    means,
    prolongations,
    while_both,
)
from daybreak.studies.migration.settings import MIXED_MAINS, MIXED_PERIODS, Scale, pair
from daybreak.studies.scoreboard import Scoreboard

Rates = dict[str, tuple[Interval, Interval]]


def judge_a(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """At 50 ms."""
    runs = {main: evidence[pair(scale, "cubic", main, MIXED_PERIODS[0])] for main in MIXED_MAINS}
    order(board, runs, "a")
    bbr = runs["bbr"]
    uncongested = in_state(bbr, while_both(bbr, bbr.throughput), 0, last_part=0.5)
    board.value("fig6.bbr_peak", "BBR's throughput on its own link while CUBIC runs, 50 ms", means(uncongested, "main"))
    alone = means(after_first(bbr, "main", delay_s=0.05), "main")
    board.value("fig6.bbr_after", "BBR's throughput after CUBIC's end, 50 ms", list(alone))
    cubic, main = measured_interval(fcts(bbr, "migrated")), measured_interval(fcts(bbr, "main"))
    ratio = main.mean / cubic.mean if cubic and main else 0.0
    board.shape(
        "fig6.bbr_fct",
        "FCT of BBR over FCT of CUBIC, 50 ms",
        ratio >= 1.2,
        ours=ratio,
        note=f"BBR {text(main)} s, CUBIC {text(cubic)} s",
    )


def judge_b(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """At the shorter period: the same order, other magnitudes."""
    long, short = (
        {main: evidence[pair(scale, "cubic", main, period)] for main in MIXED_MAINS} for period in MIXED_PERIODS
    )
    order(board, short, "b")
    for main in MIXED_MAINS:
        before = measured_interval(prolongations(long[main]))
        after = measured_interval(prolongations(short[main]))
        board.shape(
            "fig6.magnitude",
            f"FCT of migrated CUBIC less that of {main} at {MIXED_PERIODS[1]} ms",
            before is not None and after is not None and not before.overlaps(after) and before.high == before.high,
            suffix=main,
            ours=after,
            note=f"{text(before)} s at {MIXED_PERIODS[0]} ms",
        )


def order(board: Scoreboard, runs: dict[str, Measured], part: str) -> None:
    """Who gets how much."""
    rates: Rates = {main: both_rates(measured) for main, measured in runs.items()}
    period = f"{runs['bbr'].setting.period_ms} ms"
    cubic, bbr = rates["bbr"]
    board.shape(
        "fig6.cubic_above_bbr",
        f"throughput of migrated CUBIC beside BBR, {period}",
        cubic.mean > bbr.mean and not cubic.overlaps(bbr) and cubic.low == cubic.low,
        suffix=part,
        ours=cubic,
        note=f"BBR {text(bbr)} Gb/s",
    )
    fairness = {main: jain((migrated.mean, other.mean)) for main, (migrated, other) in rates.items()}
    board.shape(
        "fig6.reno_fairest",
        f"Jain's index of CUBIC and Reno, {period}",
        fairness["reno"] == max(fairness.values()),
        suffix=part,
        ours=fairness["reno"],
        note=", ".join(f"{main} {value:.4f}" for main, value in fairness.items()),
    )
    shares = {main: other.mean / (migrated.mean + other.mean) for main, (migrated, other) in rates.items()}
    cubic, westwood = rates["westwood"]
    board.shape(
        "fig6.westwood_dominates",
        f"throughput of Westwood beside migrated CUBIC, {period}",
        westwood.mean > cubic.mean and shares["westwood"] == max(shares.values()),
        suffix=part,
        ours=westwood,
        note=f"CUBIC {text(cubic)} Gb/s; shares of the main flows: "
        + ", ".join(f"{main} {value:.3f}" for main, value in shares.items()),
    )
