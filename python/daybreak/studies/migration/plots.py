"""The study's figures, drawn from measurements in the paper's layout."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import polars as pl
from matplotlib.figure import Figure

from daybreak.figures import fct as fct_figures
from daybreak.figures import throughput as throughput_figures
from daybreak.figures import window as window_figures
from daybreak.figures.curves import Panel
from daybreak.figures.fct import Bar
from daybreak.figures.prediction import scatter
from daybreak.figures.shading import Shading
from daybreak.metrics import fct, phases
from daybreak.metrics.series import mean_curve
from daybreak.studies.migration.claims import figure8 as forest
from daybreak.studies.migration.claims.table2 import averages
from daybreak.studies.migration.claims.variants import OTHERS
from daybreak.studies.migration.measured import BIN_NS, GROUPS, Evidence, Measurements
from daybreak.studies.migration.settings import (
    CYCLES,
    GROUP_PERIODS,
    MIXED_MAINS,
    NAMES,
    PAIR_PERIODS,
    SINGLE_PERIODS,
    Scale,
    Setting,
    exchanges,
    groups,
    kernel_rows,
    kernel_setting,
    pair,
    single,
)  # fmt: skip
from daybreak.studies.migration.testbed import RATE_GBPS, SHARED
from daybreak.studies.published import PublishedValues

MOVING = "both links carry the flow when it moves"
LABELS = {"migrated": "migrated flow", "main": "main flow", "baseline": "one flow alone"}

Figures = dict[str, Figure]
"""Figures by file name."""


def figure3(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """One flow of each variant at three periods; and its FCT."""
    runs = {(v, p): evidence[single(scale, v, p)] for v in NAMES for p in SINGLE_PERIODS}
    end = end_of(runs.values())
    names = {0: "no reconfiguration", 50: "50 ms", 10: "10 ms"}
    panels = [
        Panel(
            name,
            {names[p]: curve(runs[variant, p].throughput, "migrated", "gbps", 50, end) for p in SINGLE_PERIODS},
            end_s=end,
            layered=True,
        )
        for variant, name in NAMES.items()
    ]
    printed = published["fig3.fct"].value
    bars = [Bar.of(NAMES[v], names[p], runs[v, p].fcts("migrated"), printed) for v in NAMES for p in SINGLE_PERIODS]
    return {
        "figure3": throughput_figures.over_time(panels, rate_gbps=RATE_GBPS, above=MOVING),
        "figure3-fct": fct_figures.bars(bars, ylabel="FCT [s]"),
    }


def figure4(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Two CUBIC flows at four periods; and their FCTs."""
    runs = {period: evidence[pair(scale, "cubic", "cubic", period)] for period in PAIR_PERIODS}
    return {
        "figure4": multiples({f"CUBIC ({period} ms)": measured for period, measured in runs.items()}),
        "figure4-fct": pair_fcts({f"{p} ms": measured for p, measured in runs.items()}, "Reconfiguration period"),
    }


def figure4_variants(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """FCTs of two flows of each other variant at four periods."""
    found = {
        f"{NAMES[variant]}\n{period} ms": evidence[pair(scale, variant, variant, period)]
        for variant in OTHERS
        for period in PAIR_PERIODS
    }
    return {"figure4-variants": pair_fcts(found, "Variant of both flows and reconfiguration period")}


def figure5(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Windows of the flows of figure 4 beside that of a flow alone."""
    alone = evidence[single(scale, "cubic", 0)]
    runs = {period: evidence[pair(scale, "cubic", "cubic", period)] for period in PAIR_PERIODS}
    end = end_of(runs.values())
    panels = [
        Panel(
            f"CUBIC ({period} ms)",
            {
                name: curve(one.windows, group, "kilobytes", bin_ms(measured.setting), end)
                for name, one, group in (
                    ("migrated", measured, "migrated"),
                    ("main", measured, "main"),
                    ("baseline", alone, "migrated"),
                )
            },
            shading(measured),
            end,
        )
        for period, measured in runs.items()
    ]
    return {"figure5": window_figures.over_time(panels, columns=2, labels=LABELS)}


def figure6(part: str, period: int, evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """CUBIC migrated against three other variants at one of two periods."""
    runs = {main: evidence[pair(scale, "cubic", main, period)] for main in MIXED_MAINS}
    titles = {f"CUBIC - {NAMES[main]} ({period} ms)": measured for main, measured in runs.items()}
    return {f"figure6{part}": multiples(titles, columns=3)}


def figure7(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Two CUBIC flows at four cycles of day and night; and their FCTs."""
    runs = {(p - night, night): evidence[pair(scale, "cubic", "cubic", p, night)] for p, night in CYCLES}
    titles = {f"CUBIC ({day} ms day + {night} ms night)": measured for (day, night), measured in runs.items()}
    return {
        "figure7": multiples(titles, whole_cycles=True),
        "figure7-cycles": first_cycles(titles),
        "figure7-fct": pair_fcts({f"{day}+{night} ms": one for (day, night), one in runs.items()}, "Day + night"),
    }


def table2(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Average throughputs beside the printed ones."""
    return {"table2": _averages(evidence, published, partial(groups, scale), scale.reading)}


def table2_exchanges(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Average throughputs with clients that request the files."""
    return {"table2-exchanges": _averages(evidence, published, partial(exchanges, scale), scale.reading)}


def _averages(evidence: Evidence, published: PublishedValues, of: Callable[[int], Setting], reading: str) -> Figure:
    bars = [
        Bar.of(
            f"{period} ms",
            group,
            averages(evidence[of(period)], group, reading),
            published[f"table2.{group}"].values[f"{period}ms"],
        )
        for period in GROUP_PERIODS
        for group in GROUPS
    ]
    names = {"migrated": "migrated flows", "main": "main flows"}
    return fct_figures.bars(
        bars, ylabel="Average throughput [Gb/s]", xlabel="Reconfiguration period", labels=names, height=2.8
    )


def kernel(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """FCTs of the model and of the real kernel."""
    bars = []
    what = "Variant of the migrated / of the main flow, period or day + night"
    for row in kernel_rows():
        measured = evidence[kernel_setting(scale, row)]
        night = f"+{row['night_ms']}" if row["night_ms"] else ""
        place = f"{NAMES[row['migrated']]} /\n{NAMES[row['main']]}\n{row['period_ms'] - row['night_ms']}{night} ms"
        bars += [Bar.of(place, group, measured.fcts(group), row[f"{group}_s"]) for group in GROUPS]
    return {
        "kernel": fct_figures.bars(
            bars, ylabel="FCT of 1 GiB [s]", labels=LABELS, diamond="Linux 6.1.192", height=3.0, xlabel=what
        )
    }


def multiples(runs: dict[str, Measurements], columns: int = 2, *, whole_cycles: bool = False) -> Figure:
    """Throughput of the migrated and the main flow, one panel per setting, by its title; with ``whole_cycles`` in bins
    of two periods, which average over the states."""
    end = end_of(runs.values())
    panels = []
    for title, measured in runs.items():
        width = 2 * measured.setting.period_ms if whole_cycles else bin_ms(measured.setting)
        curves = {group: curve(measured.throughput, group, "gbps", width, end) for group in GROUPS}
        panels.append(Panel(title, curves, None if whole_cycles else shading(measured), end))
    return throughput_figures.over_time(panels, rate_gbps=RATE_GBPS, columns=columns, labels=LABELS, above=MOVING)


def first_cycles(runs: dict[str, Measurements], periods: int = 6) -> Figure:
    """The first periods of each setting, with the states and the nights."""
    panels = []
    for title, measured in runs.items():
        period_ms = measured.setting.period_ms
        end = periods * period_ms / 1e3
        width = max(1, period_ms // 20)
        curves = {group: curve(measured.throughput, group, "gbps", width, end) for group in GROUPS}
        panels.append(Panel(title, curves, shading(measured), end))
    return throughput_figures.over_time(panels, rate_gbps=RATE_GBPS, labels=LABELS, above=MOVING)


def pair_fcts(runs: dict[str, Measurements], xlabel: str) -> Figure:
    """FCTs of the migrated and the main flow, two bars per setting."""
    bars = [Bar.of(name, group, measured.fcts(group)) for name, measured in runs.items() for group in GROUPS]
    return fct_figures.bars(bars, ylabel="FCT [s]", xlabel=xlabel, labels=LABELS)


def curve(table: pl.DataFrame, group: str, value: str, bin_ms: int, end_s: float) -> pl.DataFrame:
    """A group's mean curve in bins of ``bin_ms``."""
    return mean_curve(table, group, value, bin_ns=bin_ms * 1_000_000, recorded_ns=BIN_NS, end_s=end_s)


def shading(measured: Measurements) -> Shading:
    """Shading of the times in which the flows shared a link, and of the nights."""
    return Shading(phases.of_longest_run(measured.phases), SHARED, "sharing one link")


def bin_ms(setting: Setting) -> int:
    """Width of the bins of a setting's curves: 10 ms, or two of its periods if that would hide the states."""
    return 10 if setting.period_ms >= 25 else max(20, 2 * setting.period_ms)


def end_of(runs: Iterable[Measurements]) -> float:
    """End of the time axis in seconds: shortly after nine tenths of the runs of every setting have ended."""
    return 1.03 * max(fct.ended_by(measured.flows, part=0.9) or 1.0 for measured in runs)


def figure8(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Out-of-fold predictions of the random forest beside the actual prolongations."""
    if not forest.is_possible(scale):
        return {}
    found = forest.fitted(evidence, scale)
    return {"figure8": scatter(found.data.seconds(), found.predicted, found.cycles)}
