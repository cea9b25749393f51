"""The study's figures and tables, made from measurements."""

from __future__ import annotations

from typing import get_args

import polars as pl
from matplotlib.figure import Figure

from daybreak.figures import fct as fct_figures
from daybreak.figures.boxes import Box, BoxPanel, boxes
from daybreak.figures.fct import Bar
from daybreak.figures.sweeps import Line, Sweep, sweeps
from daybreak.metrics.confidence import interval
from daybreak.studies.published import PublishedValues
from daybreak.studies.space_switch import settings as grids
from daybreak.studies.space_switch.claims import TABLES
from daybreak.studies.space_switch.measured import CLASSES, METRICS, Evidence, Measurements, Metric, VmClass
from daybreak.studies.space_switch.settings import ECMP, SCHEMES, TRANSFERS, TURNS, Scale, one
from daybreak.studies.space_switch.testbed import DEADLINE_FACTOR, ELEPHANT_GIB, MIXED, alone_s

ELEPHANTS = "Elephants' mean\nthroughput [Mbit/s]"
LABELS: dict[Metric, str] = {"throughput": "throughput [Mbit/s]", "completion": "completion time [s]"}
MOVES = {
    "make_before_break": "stay on the spine meanwhile",
    "hold": "packets held meanwhile",
    "drop": "packets lost meanwhile",
}
"""Labels of the downtime policies."""

Figures = dict[str, Figure]
"""Figures by file name."""
Frames = dict[str, pl.DataFrame]
"""Tables by file name."""


def figure3(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Mean throughput of 24 transfers under UT, by epoch; the text prints only which epoch is the best."""
    points = [(float(one.sse_s), interval(evidence[one].mean_of_all("throughput"))) for one in grids.epochs(scale)]
    best = published["fig3.best"].value
    panel = Sweep("Mean throughput [Mbit/s]", [Line("24 transfers under UT", points)], at=best)
    return {"figure3": sweeps([panel], xlabel="Space-switch epoch [s]; dotted: printed as the best")}


def of_scheme(scheme: str, number: int, evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Box plots of a scheme beside no direct link: throughput, then completion time."""
    found: Figures = {}
    for offset, (metric, label) in enumerate(LABELS.items()):
        panels = [
            BoxPanel(
                f"{transfers} VM transfers",
                {
                    name: {
                        SCHEMES[which]: _box(evidence[one(scale, transfers, which)], vm_class, metric, published)
                        for which in ("no_direct_link", scheme)
                    }
                    for vm_class, name in CLASSES.items()
                },
            )
            for transfers in TRANSFERS
        ]
        found[f"figure{number + offset}"] = boxes(panels, ylabel=label)
    return found


def _box(measured: Measurements, vm_class: VmClass, metric: Metric, published: PublishedValues) -> Box:
    table = next(name for name, about in TABLES.items() if about == (vm_class, metric))
    key = f"{table}.{measured.setting.scheme}.{measured.setting.transfers}"
    least, mean, largest = (float(published[f"{key}.{end}"].printed) for end in ("min", "mean", "max"))
    values = [value for value in measured.of(vm_class, metric) if value is not None]
    return Box(values, (least, mean, largest))


def tables(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Mean throughput of elephants in every cell, beside the printed one (table 1)."""
    bars = [
        Bar(
            f"{transfers} transfers", SCHEMES[scheme],
            evidence[one(scale, transfers, scheme)].interval("elephant", "throughput"),
            published[f"table1.{scheme}.{transfers}.mean"].value,
        )
        for transfers in TRANSFERS
        for scheme in SCHEMES
    ]  # fmt: skip
    return {"table1": fct_figures.bars(bars, ylabel=ELEPHANTS)}


def cells(evidence: Evidence, scale: Scale) -> Frames:
    """Minimum, mean and maximum of every cell, with TCP counters."""
    return {"cells": pl.concat(_cell(evidence[cell]) for cell in grids.printed(scale))}


def _cell(measured: Measurements) -> pl.DataFrame:
    rows = []
    for vm_class in get_args(VmClass):
        for metric, unit in METRICS.items():
            least, mean, largest = measured.extremes(vm_class, metric)
            rows.append(
                {
                    "setting": measured.setting.name, "transfers": measured.setting.transfers,
                    "scheme": measured.setting.scheme, "vm_class": vm_class, "metric": metric, "unit": unit,
                    "min": least, "mean": mean, "max": largest, "rtos": measured.count(vm_class, "rtos"),
                    "retransmits": measured.count(vm_class, "retransmits"),
                    "recoveries": measured.count(vm_class, "fast_recoveries"),
                    "undone": measured.count(vm_class, "spurious"),
                }
            )  # fmt: skip
    return pl.DataFrame(rows)


def instant(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Elephants' throughput under UT and DT with gaps, with instantaneous moves, and as printed."""
    gap = f"a gap of {scale.gap_ms / 1000:g} s at each move"
    bars = [
        Bar(
            f"{cell.transfers}, {SCHEMES[cell.scheme]}", name, evidence[which].interval("elephant", "throughput"),
            published[f"table1.{cell.scheme}.{cell.transfers}.mean"].value,
        )
        for cell, at_once in grids.instant(scale).items()
        for name, which in ((gap, cell), ("moves that take no time", at_once))
    ]  # fmt: skip
    return {"instant": fct_figures.bars(bars, ylabel=ELEPHANTS, xlabel="Transfers, scheme")}


def instant_cells(evidence: Evidence, scale: Scale) -> Frames:
    """The numbers of `instant`."""
    return {"instant": pl.concat(_cell(evidence[cell]) for cell in grids.instant(scale).values())}


def scaling(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Completion times at both rates, those at 100 Gb/s times 100."""
    bars = [
        Bar(place(cell, vm_class), name, evidence[which].interval(vm_class, "completion"))
        for cell, fast in grids.fast(scale).items()
        for vm_class in get_args(VmClass)
        for name, which in (("1 Gb/s", cell), ("100 Gb/s, times 100", fast))
    ]
    return {"scaling": fct_figures.bars(bars, ylabel="Completion time [s]", height=3.0)}


def scaling_cells(evidence: Evidence, scale: Scale) -> Frames:
    """The numbers of `scaling`."""
    return {"scaling": pl.concat(_cell(evidence[one]) for pair in grids.fast(scale).items() for one in pair)}


def spread(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Elephants on demand beside the same network without direct links, with a static path and with ECMP."""
    names = {
        "no_direct_link": "No direct link, one spine",
        ECMP: "No direct link, ECMP over both",
        "on_demand": "On demand",
    }
    bars = [
        Bar(
            f"{transfers} transfers,\n{CLASSES[vm_class]}", name,
            evidence[one(scale, transfers, scheme)].interval(vm_class, "completion"),
        )
        for transfers in TRANSFERS
        for vm_class in get_args(VmClass)
        for scheme, name in names.items()
    ]  # fmt: skip
    return {"ecmp": fct_figures.bars(bars, ylabel="Completion time [s]", height=3.0)}


def spread_cells(evidence: Evidence, scale: Scale) -> Frames:
    """The numbers of `spread`."""
    return {"ecmp": pl.concat(_cell(one) for one in evidence.values())}


def policies(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Completion time of elephants by the broker's policy, of each size."""
    frame = broker_frame(evidence, scale)
    # One value per run: the mean over the ToRs.
    means = frame.group_by("policy", "size_gib", "run", maintain_order=True).agg(pl.col("completion_s").mean())
    bars = [
        Bar.of(row["policy"].replace("_", " "), f"{row['size_gib']:g} GiB", row["completion_s"])
        for row in means.group_by("policy", "size_gib", maintain_order=True).agg("completion_s").to_dicts()
    ]
    return {"policies": fct_figures.bars(bars, ylabel="Completion time of elephants [s]")}


def policy_table(evidence: Evidence, scale: Scale) -> Frames:
    """Mean and longest completion time, and how many met their deadline."""
    frame = broker_frame(evidence, scale)
    return {
        "policies": frame.group_by("policy", maintain_order=True).agg(
            pl.col("completion_s").mean().alias("mean_s"),
            pl.col("completion_s").max().alias("longest_s"),
            (pl.col("completion_s") / pl.col("alone_s")).mean().alias("slowdown"),
            (100 * (pl.col("completion_s") <= DEADLINE_FACTOR * pl.col("alone_s")).mean()).alias("in_time_percent"),
        )
    }


def broker_frame(evidence: Evidence, scale: Scale) -> pl.DataFrame:
    """Elephants of the brokers' comparison: ``policy, run, size_gib, completion_s, alone_s``."""
    frames = []
    for policy, setting in grids.brokers(scale).items():
        factor = setting.time_factor
        per_gib = alone_s(setting, MIXED.index(1.0)) * factor / ELEPHANT_GIB
        frames.append(
            evidence[setting]
            .flows.filter(pl.col("group") == "elephant")
            .select(
                pl.lit(policy).alias("policy"),
                "run",
                (pl.col("bytes") * setting.divisor / 2**30).round(3).alias("size_gib"),
                (pl.col("fct_s") * factor).alias("completion_s"),
            )
            .with_columns((pl.col("size_gib") * per_gib).alias("alone_s"))
            .sort("run", "size_gib", maintain_order=True)
        )
    return pl.concat(frames)


def delays(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Elephants' throughput over the reconfiguration delay."""
    panels: list[Sweep] = []
    for downtime, words in MOVES.items():
        lines = [
            Line(
                SCHEMES[scheme],
                [
                    (night / 1000, evidence[cell].interval("elephant", "throughput"))
                    for night, cell in grids.delays(scale, scheme, downtime).items()
                ],
            )
            for scheme in ("ut", "dt", "on_demand")
        ]  # fmt: skip
        panels.append(Sweep("" if panels else ELEPHANTS, lines, log=True, title=words))
    return {"delays": sweeps(panels, xlabel="Reconfiguration delay [ms]", height=2.8)}


def delay_cells(evidence: Evidence, scale: Scale) -> Frames:
    """The numbers of `delays`."""
    rows = [
        {
            "scheme": scheme, "downtime": downtime, "delay_ms": night / 1000,
            "elephant_completion_s": evidence[cell].mean("elephant", "completion"),
            "mouse_completion_s": evidence[cell].mean("mouse", "completion"),
            "elephant_mbps": evidence[cell].mean("elephant", "throughput"),
            "rtos": evidence[cell].count("elephant", "rtos"),
        }
        for scheme in ("ut", "dt", "on_demand")
        for downtime in MOVES
        for night, cell in grids.delays(scale, scheme, downtime).items()
    ]  # fmt: skip
    return {"delays": pl.DataFrame(rows)}


def delay_settings(scale: Scale) -> list[grids.Setting]:
    """The settings of `delays`."""
    return [
        cell
        for scheme in ("ut", "dt", "on_demand")
        for downtime in MOVES
        for cell in grids.delays(scale, scheme, downtime).values()
    ]


def place(cell: grids.Setting, vm_class: VmClass) -> str:
    """Label of a cell and a class below a bar, narrow enough for twelve side by side."""
    scheme = SCHEMES[cell.scheme].replace(" link", "\nlink").replace("On ", "On\n")
    gap = ("gaps" if cell.night_us else "no gaps") if cell.scheme in TURNS else ""
    return "\n".join(word for word in (scheme, gap, vm_class) if word)


def kernel(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Completion times of the scaled-down cells on both engines."""
    bars = [
        Bar(place(cell, vm_class), name, evidence[which].interval(vm_class, "completion"))
        for cell, real in grids.kernel_cells(scale).items()
        for vm_class in get_args(VmClass)
        for name, which in (("simulator", cell), ("Linux 6.1.192", real))
    ]
    return {"kernel": fct_figures.bars(bars, ylabel="Completion time [s]", height=3.2)} if bars else {}
