"""The study's figures, drawn from measurements."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure

from daybreak.figures.transient import EventPanel, around_event, heat
from daybreak.studies.lightpath.measured import Evidence, Measurements
from daybreak.studies.lightpath.settings import NAMES, STACKS, Scale, Setting, figure3, figure4, figure5, figure6, grid
from daybreak.studies.published import PublishedValues

CHANGE = "Change in the worst second [%]: above 0 even it is above\nthe rate before (more than 100 as 100)"
Figures = dict[str, Figure]
"""Figures by file name."""


def nothing(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Some claims have no figure."""
    return {}


def of_figure3(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Throughput in scenario A, in bins of 1000 and of 100 ms."""
    panels = [
        EventPanel(
            f"{name}, bins of {width} ms",
            {f"base RTT {rtt} ms": gbps(evidence[one], width) for rtt, one in figure3(scale, stack).items()},
            span,
        )
        for stack, name in STACKS.items()
        for width, span in ((1000, (-5.0, 15.0)), (100, (-2.0, 8.0)))
    ]
    return {"figure3": around_event(panels, ylabel="Throughput [Gb/s]")}


def of_figure4(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Throughput in scenarios B, with and without the move, and C1."""
    panels = []
    for stack, name in STACKS.items():
        b, c1 = evidence[figure4(scale, stack)], evidence[figure4(scale, stack, "C1")]
        unmoved = evidence[figure4(scale, stack).unmoved()]
        for width, span in ((1000, (-5.0, 25.0)), (100, (-1.0, 3.0))):
            title = f"{name}, bins of {width} ms"
            curves = {"with the move": gbps(b, width), "without": gbps(unmoved, width)}
            panels.append(EventPanel(f"B, {title}", curves, span, frozenset({"without"})))
            panels.append(EventPanel(f"C1, {title}", {"with the move": gbps(c1, width)}, span))
    return {"figure4": around_event(panels, ylabel="Throughput [Gb/s]")}


def of_figure5(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Throughput in scenario C2."""
    panels = []
    for stack, name in STACKS.items():
        for rtt, setting in figure5(scale, stack).items():
            curve = gbps(evidence[setting], 1000)
            span = (min(-5.0, -setting.move_s), setting.after_s)
            panels.append(
                EventPanel(f"{rate_name(setting.rate_mbps)}, base RTT {rtt} ms, {name}", {"throughput": curve}, span)
            )
    return {"figure5": around_event(panels, ylabel="Throughput [Gb/s]")}


def of_figure6(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Throughput and goodput in scenario D."""
    panels = []
    # Both on one axis, though the TCP of ns-2 is run for longer.
    end = min(figure6(scale, stack).after_s for stack in STACKS)
    for stack, name in STACKS.items():
        one = evidence[figure6(scale, stack)]
        for width, span in ((1000, (-20.0, end)), (100, (-1.0, 3.0))):
            curves = {"throughput": gbps(one, width), "goodput": gbps(one, width, "goodput_mbps")}
            panels.append(EventPanel(f"{name}, bins of {width} ms", curves, span, frozenset({"goodput"})))
    return {"figure6": around_event(panels, ylabel="Rate [Gb/s]")}


def of_figure7(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """r3's queue in scenario D."""
    panels = []
    for stack, name in STACKS.items():
        one = evidence[figure6(scale, stack)]
        samples = one.queues.filter(pl.col("queue") == "receiver").select("time_s", pl.col("packets").alias("value"))
        panels.append(EventPanel(name, {"r3's queue": samples}, (-20.0, one.setting.after_s)))
    return {"figure7": around_event(panels, ylabel="Packets", columns=1)}


def of_grid(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Change of the rate in the worst second of each cell, with both stacks."""
    rows = [(one, f"{one.scenario}, {STACKS[stack]}") for stack in STACKS for one in grid(scale, stack)]
    return {"grid": changes(evidence, rows)}


def of_variants(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Change of the rate in the worst second by variant, one figure per stack."""
    small = scale.of_variants()
    return {
        f"variants-{stack}": changes(
            evidence,
            [(one, f"{one.scenario}, {NAMES[one.variant]}") for one in grid(small, stack, NAMES)],
        )
        for stack in STACKS
    }


def changes(evidence: Evidence, rows: list[tuple[Setting, str]]) -> Figure:
    """Change of the rate in the worst second after the move, in percent of that before: each setting in its row."""
    cells = sorted({(one.rate_mbps, one.rtt_ms) for one, _ in rows})
    values = {(row, _cell(*cell)): float("nan") for _, row in rows for cell in cells}
    for one, row in rows:
        values[row, _cell(one.rate_mbps, one.rtt_ms)] = -100 * evidence[one].reduction
    return heat(values, label=CHANGE, low=-100, high=100, text="{:+.0f}")


def _cell(mbps: int, rtt_ms: int) -> str:
    return f"{rate_name(mbps)}\n{rtt_ms} ms"


def rate_name(mbps: int) -> str:
    """A rate in the unit that reads best."""
    return f"{mbps // 1000} Gb/s" if mbps >= 1000 else f"{mbps} Mb/s"


def gbps(measured: Measurements, width_ms: int, rate: str = "mbps") -> pl.DataFrame:
    """Throughput, or another rate, in bins of one width, each drawn at its end."""
    return measured.bins(width_ms).select(
        (pl.col("time_s") + width_ms / 1e3).alias("time_s"), (pl.col(rate) / 1e3).alias("value")
    )
