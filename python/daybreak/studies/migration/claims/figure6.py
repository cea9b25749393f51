"""Figure 6: a migrated CUBIC flow against main flows of other variants."""

from __future__ import annotations

from daybreak.metrics import concurrency, phases
from daybreak.metrics.confidence import interval
from daybreak.metrics.fairness import jain
from daybreak.studies.migration.measured import GROUPS, Evidence, Measurements
from daybreak.studies.migration.settings import MIXED_MAINS, MIXED_PERIODS, Scale, pair
from daybreak.studies.migration.testbed import SEPARATE
from daybreak.studies.scoreboard import Scoreboard, text


def judge_a(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """At 50 ms."""
    runs = {main: evidence[pair(scale, "cubic", main, MIXED_PERIODS[0])] for main in MIXED_MAINS}
    order(board, runs, "a")
    bbr = runs["bbr"]
    uncongested = phases.during(bbr.while_both(bbr.throughput), bbr.phases, SEPARATE, last_part=0.5)
    board.value("fig6.bbr_peak", concurrency.means(uncongested, "main", "gbps"))
    board.value("fig6.bbr_after", bbr.rates_after("main", delay_s=0.05))
    cubic, main = bbr.fct("migrated"), bbr.fct("main")
    ratio = main.mean / cubic.mean if cubic and main else 0.0
    board.shape("fig6.bbr_fct", ratio >= 1.2, ratio, note=f"BBR {text(main)} s, CUBIC {text(cubic)} s")
    rates = {name: one.rates() for name, one in runs.items()}
    rates["cubic"] = evidence[pair(scale, "cubic", "cubic", MIXED_PERIODS[0])].rates()
    fairness = {name: jain((migrated.mean, other.mean)) for name, (migrated, other) in rates.items()}
    lead = fairness["cubic"] - max(fairness["bbr"], fairness["westwood"])
    note = ", ".join(f"{name} {value:.4f}" for name, value in fairness.items())
    board.shape("fig6.unfair", lead > 0, lead, note=note)


def judge_b(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """At the shorter period: the same order, other magnitudes."""
    long, short = (
        {main: evidence[pair(scale, "cubic", main, period)] for main in MIXED_MAINS} for period in MIXED_PERIODS
    )
    order(board, short, "b")
    similar(board, long, short)
    for main in MIXED_MAINS:
        before, after = long[main].prolongation(), short[main].prolongation()
        differs = before and after and not before.overlaps(after) and before.high == before.high
        note = f"{text(before)} s at {MIXED_PERIODS[0]} ms"
        board.shape("fig6.magnitude", bool(differs), after, suffix=main, main=main, period=MIXED_PERIODS[1], note=note)


def similar(board: Scoreboard, long: dict[str, Measurements], short: dict[str, Measurements]) -> None:
    """The same flow ends first."""
    longer = {main: (long[main].prolongation(), short[main].prolongation()) for main in MIXED_MAINS}
    same = [
        main for main, (before, after) in longer.items() if before and after and (before.mean > 0) == (after.mean > 0)
    ]
    parts = (f"{main} {text(before)} s and {text(after)} s" for main, (before, after) in longer.items())
    note = f"CUBIC's FCT less the main flow's at {MIXED_PERIODS[0]} and {MIXED_PERIODS[1]} ms: {', '.join(parts)}"
    board.shape("fig6.similar", len(same) == len(MIXED_MAINS), len(same), period=MIXED_PERIODS[1], note=note)


def order(board: Scoreboard, runs: dict[str, Measurements], part: str) -> None:
    """Who gets how much."""
    rates = {main: measured.rates() for main, measured in runs.items()}
    period = runs["bbr"].setting.period_ms
    cubic, bbr = rates["bbr"]
    is_above = cubic.mean > bbr.mean and not cubic.overlaps(bbr) and cubic.low == cubic.low
    board.shape("fig6.cubic_above_bbr", is_above, cubic, suffix=part, period=period, note=f"BBR {text(bbr)} Gb/s")
    fairness = {main: jain((migrated.mean, other.mean)) for main, (migrated, other) in rates.items()}
    reno = by_run(runs["reno"])
    leads = {
        main: interval(a - b for a, b in zip(reno, by_run(one), strict=True))
        for main, one in runs.items()
        if main != "reno"
    }
    fairest = fairness["reno"] == max(fairness.values()) and not any(lead.low <= 0 for lead in leads.values())
    note = ", ".join(f"{main} {value:.4f}" for main, value in fairness.items())
    note += "; Reno's lead, run by run: "
    note += ", ".join(f"{lead.mean:+.4f} +- {lead.margin:.2g} over {main}" for main, lead in leads.items())
    board.shape("fig6.reno_fairest", fairest, fairness["reno"], suffix=part, period=period, note=note)
    shares = {main: other.mean / (migrated.mean + other.mean) for main, (migrated, other) in rates.items()}
    cubic, westwood = rates["westwood"]
    dominates = westwood.mean > cubic.mean and shares["westwood"] == max(shares.values())
    note = f"CUBIC {text(cubic)} Gb/s; shares of the main flows: "
    note += ", ".join(f"{main} {value:.3f}" for main, value in shares.items())
    board.shape("fig6.westwood_dominates", dominates, westwood, suffix=part, period=period, note=note)


def by_run(measured: Measurements) -> list[float]:
    """Jain's index of the mean throughputs while both flows run, one value per run."""
    both = measured.while_both(measured.throughput)
    return [jain(rates) for rates in zip(*(concurrency.means(both, group, "gbps") for group in GROUPS), strict=True)]
