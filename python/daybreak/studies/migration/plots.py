"""The study's figures, each from the measured settings, laid out as the paper lays them out."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
from matplotlib.figure import Figure

from daybreak.figures import fct as fct_figures
from daybreak.figures import throughput as throughput_figures
from daybreak.figures import window as window_figures
from daybreak.figures.curves import Panel
from daybreak.figures.fct import Bar
from daybreak.figures.shading import Shading
from daybreak.metrics.confidence import interval
from daybreak.studies.migration.claims.table2 import averages
from daybreak.studies.migration.measured import Evidence, Measured, curve, fcts
from daybreak.studies.migration.settings import (
    CYCLES,
    GROUP_PERIODS,
    MIXED_MAINS,
    MIXED_PERIODS,
    PAIR_PERIODS,
    SINGLE_PERIODS,
    VARIANTS,
    Scale,
    Setting,
    groups,
    kernel_rows,
    kernel_setting,
    pair,
    single,
)
from daybreak.studies.migration.testbed import RATE_GBPS
from daybreak.studies.scoreboard import Published

NAMES = {"cubic": "CUBIC", "bbr": "BBR", "reno": "Reno", "westwood": "Westwood"}
LABELS = {"migrated": "migrated flow", "main": "main flow", "baseline": "one flow alone"}

PublishedValues = dict[str, Published]


def figure3(evidence: Evidence, scale: Scale, published: PublishedValues) -> dict[str, Figure]:
    """One flow of each variant at three periods; and its FCT."""
    runs = {(v, p): evidence[single(scale, v, p)] for v in VARIANTS for p in SINGLE_PERIODS}
    end = max(last_end(measured) for measured in runs.values()) * 1.03
    names = {0: "no reconfiguration", 50: "50 ms", 10: "10 ms"}
    panels = [
        Panel(
            NAMES[variant],
            {
                names[period]: curve(runs[variant, period].throughput, "migrated", "gbps", bin_ms=50, end_s=end)
                for period in SINGLE_PERIODS
            },
            end_s=end,
            layered=True,
        )
        for variant in VARIANTS
    ]
    bars = [
        Bar(NAMES[v], names[p], interval(known(fcts(runs[v, p], "migrated"))), published["fig3.fct"].value)
        for v in VARIANTS
        for p in SINGLE_PERIODS
    ]
    return {
        "figure3": throughput_figures.over_time(panels, rate_gbps=RATE_GBPS),
        "figure3-fct": fct_figures.bars(bars, ylabel="FCT [s]"),
    }


def figure4(evidence: Evidence, scale: Scale, published: PublishedValues) -> dict[str, Figure]:
    """Two CUBIC flows at four periods; and their FCTs."""
    settings = {f"CUBIC ({period} ms)": pair(scale, "cubic", "cubic", period) for period in PAIR_PERIODS}
    names = {f"{setting.period_ms} ms": setting for setting in settings.values()}
    return {
        "figure4": multiples(evidence, settings),
        "figure4-fct": pair_fcts(evidence, names, xlabel="Reconfiguration period"),
    }


def figure5(evidence: Evidence, scale: Scale, published: PublishedValues) -> dict[str, Figure]:
    """Windows of the flows of figure 4 beside that of a flow alone."""
    alone = evidence[single(scale, "cubic", 0)]
    runs = {period: evidence[pair(scale, "cubic", "cubic", period)] for period in PAIR_PERIODS}
    end = max(last_end(measured) for measured in runs.values()) * 1.03
    panels = [
        Panel(
            f"CUBIC ({period} ms)",
            {
                name: curve(measured.windows, group, "kilobytes", bin_ms=bin_ms(runs[period].setting), end_s=end)
                for name, measured, group in (
                    ("migrated", runs[period], "migrated"),
                    ("main", runs[period], "main"),
                    ("baseline", alone, "migrated"),
                )
            },
            Shading(period / 1000),
            end,
        )
        for period in PAIR_PERIODS
    ]
    return {"figure5": window_figures.over_time(panels, columns=2, labels=LABELS)}


def figure6a(evidence: Evidence, scale: Scale, published: PublishedValues) -> dict[str, Figure]:
    """CUBIC migrated against three other variants, 50 ms."""
    return {"figure6a": mixed(evidence, scale, MIXED_PERIODS[0])}


def figure6b(evidence: Evidence, scale: Scale, published: PublishedValues) -> dict[str, Figure]:
    """The same at the shorter period."""
    return {"figure6b": mixed(evidence, scale, MIXED_PERIODS[1])}


def figure7(evidence: Evidence, scale: Scale, published: PublishedValues) -> dict[str, Figure]:
    """Two CUBIC flows at four cycles of day and night; and their FCTs."""
    settings = {
        f"CUBIC ({period - night} ms day + {night} ms night)": pair(scale, "cubic", "cubic", period, night)
        for period, night in CYCLES
    }
    names = {f"{s.period_ms - s.night_ms}+{s.night_ms} ms": s for s in settings.values()}
    return {
        "figure7": multiples(evidence, settings),
        "figure7-fct": pair_fcts(evidence, names, xlabel="Day + night"),
    }


def table2(evidence: Evidence, scale: Scale, published: PublishedValues) -> dict[str, Figure]:
    """Average throughputs beside the printed ones."""
    bars = [
        Bar(
            f"{period} ms",
            group,
            interval(known(averages(evidence[groups(scale, period)], group))),
            published[f"table2.{group}"].values[f"{period}ms"],
        )
        for period in GROUP_PERIODS
        for group in ("migrated", "main")
    ]
    names = {"migrated": "migrated flows", "main": "main flows"}
    figure = fct_figures.bars(
        bars, ylabel="Average throughput [Gb/s]", xlabel="Reconfiguration period", labels=names, height=2.8
    )
    return {"table2": figure}


def kernel(evidence: Evidence, scale: Scale, published: PublishedValues) -> dict[str, Figure]:
    """FCTs of the model beside those of the real kernel."""
    bars = []
    for row in kernel_rows():
        setting = kernel_setting(scale, row)
        night = f"+{row['night_ms']}" if row["night_ms"] else ""
        place = f"{NAMES[row['migrated']]} /\n{NAMES[row['main']]}\n{row['period_ms'] - row['night_ms']}{night} ms"
        bars += [
            Bar(place, group, interval(known(fcts(evidence[setting], group))), row[f"{group}_s"])
            for group in ("migrated", "main")
        ]
    return {"kernel": fct_figures.bars(bars, ylabel="FCT of 1 GiB [s]", labels=LABELS, diamond="Linux 6.1", height=3.0)}


Draw = Callable[[Evidence, Scale, PublishedValues], dict[str, Figure]]
FIGURES: dict[str, Draw] = {
    "3": figure3,
    "4": figure4,
    "5": figure5,
    "6a": figure6a,
    "6b": figure6b,
    "7": figure7,
    "table2": table2,
    "kernel": kernel,
}
"""What draws each figure: functions that return figures by file name."""


def mixed(evidence: Evidence, scale: Scale, period: int) -> Figure:
    """One row of figure 6."""
    settings = {f"CUBIC - {NAMES[main]} ({period} ms)": pair(scale, "cubic", main, period) for main in MIXED_MAINS}
    return multiples(evidence, settings, columns=3)


def multiples(evidence: Evidence, settings: dict[str, Setting], columns: int = 2) -> Figure:
    """Throughput of the migrated and the main flow, a panel a setting."""
    end = max(last_end(evidence[setting]) for setting in settings.values()) * 1.03
    panels = [
        Panel(
            title,
            {
                group: curve(evidence[setting].throughput, group, "gbps", bin_ms=bin_ms(setting), end_s=end)
                for group in ("migrated", "main")
            },
            Shading(setting.period_ms / 1000, setting.night_ms / 1000),
            end,
        )
        for title, setting in settings.items()
    ]
    return throughput_figures.over_time(panels, rate_gbps=RATE_GBPS, columns=columns, labels=LABELS)


def pair_fcts(evidence: Evidence, settings: dict[str, Setting], *, xlabel: str) -> Figure:
    """FCTs of the migrated and the main flow, two bars a setting."""
    bars = [
        Bar(name, group, interval(known(fcts(evidence[setting], group))))
        for name, setting in settings.items()
        for group in ("migrated", "main")
    ]
    return fct_figures.bars(bars, ylabel="FCT [s]", xlabel=xlabel, labels=LABELS)


def bin_ms(setting: Setting) -> int:
    """Width of the bins of a setting's curves: 10 ms, or where that would hide the states, two of its periods."""
    return 10 if setting.period_ms >= 25 else max(20, 2 * setting.period_ms)


def last_end(measured: Measured) -> float:
    """Time in seconds by which nine of ten runs have ended."""
    ends = measured.flows.group_by("run").agg(pl.col("end_s").max())["end_s"].quantile(0.9, "higher")
    return float(ends) if isinstance(ends, int | float) else 1.0


def known(values: list[float | None]) -> list[float]:
    """The values without those of flows that did not end."""
    return [value for value in values if value is not None]
