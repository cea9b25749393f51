"""What the paper says, and whether it is so here."""

from __future__ import annotations

import math
from typing import get_args

from daybreak.metrics.confidence import interval
from daybreak.studies.scoreboard import Scoreboard
from daybreak.studies.space_switch import settings as grids
from daybreak.studies.space_switch.measured import CLASSES, Evidence, Measured, Metric, VmClass
from daybreak.studies.space_switch.settings import SCHEMES, TRANSFERS, Scale, one

TABLES: dict[str, tuple[VmClass, Metric]] = {
    "table1": ("elephant", "throughput"),
    "table2": ("elephant", "completion"),
    "table3": ("mouse", "throughput"),
    "table4": ("mouse", "completion"),
}
MOST_OF_MICE = 1 / 3
"""Most that means of mice differ where the paper prints no significant difference."""
MUCH = 0.05
"""Least part by which elephants have to be worse under UT."""
MODEST = 15.0
"""Largest gain in percent that counts as modest."""


def figure3(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """The best epoch."""
    means = {one.sse_s: interval(evidence[one].mean_of_all("throughput")).mean for one in grids.epochs(scale)}
    best = max(means, key=lambda sse: means[sse])
    listed = ", ".join(f"{sse} s: {mean:.1f}" for sse, mean in means.items())
    board.shape("fig3.best", best == 10, float(best), note=f"mean throughput in Mbit/s by epoch: {listed}")


def tables(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Tables 1 to 4, and what they show of order and spread."""
    for table, (vm_class, metric) in TABLES.items():
        for transfers in TRANSFERS:
            for scheme in SCHEMES:
                measured = evidence[one(scale, transfers, scheme)]
                _cell(board, f"{table}.{scheme}.{transfers}", measured, vm_class, metric)
    for transfers in TRANSFERS:
        cells = {scheme: evidence[one(scale, transfers, scheme)] for scheme in SCHEMES}
        means = {scheme: cell.mean("elephant", "throughput") for scheme, cell in cells.items()}
        listed = ", ".join(f"{SCHEMES[scheme]} {mean:.1f}" for scheme, mean in means.items())
        board.shape(
            "order", means["on_demand"] > means["dt"] > means["no_direct_link"] > means["ut"],
            suffix=f"{transfers}", transfers=transfers, note=f"Mbit/s: {listed}",
        )  # fmt: skip
        ranges = {scheme: relative_range(cell) for scheme, cell in cells.items()}
        moving, steady = (ranges["ut"], ranges["dt"]), (ranges["no_direct_link"], ranges["on_demand"])
        listed = ", ".join(f"{SCHEMES[scheme]} {100 * part:.2g} %" for scheme, part in ranges.items())
        board.shape(
            "spread", min(moving) > max(steady), suffix=f"{transfers}", transfers=transfers,
            note=f"range over the runs, relative to the mean: {listed}",
        )  # fmt: skip


def _cell(board: Scoreboard, key: str, measured: Measured, vm_class: VmClass, metric: Metric) -> None:
    values = measured.of(vm_class, metric)
    least, _, largest = measured.extremes(vm_class, metric)
    board.value(f"{key}.min", single(least))
    board.value(f"{key}.mean", values)
    board.value(f"{key}.max", single(largest))


def single(value: float) -> list[float | None]:
    """A value of which there is one; None if it is missing."""
    return [None if math.isnan(value) else value]


def ut(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Figures 4 and 5 in words."""
    for transfers in TRANSFERS:
        without, measured = (evidence[one(scale, transfers, scheme)] for scheme in ("no_direct_link", "ut"))
        rate, time = (ratio(measured, without, "elephant", metric) for metric in ("throughput", "completion"))
        board.shape(
            "ut.worse", rate <= 1 - MUCH and time >= 1 + MUCH, rate, suffix=f"{transfers}", transfers=transfers,
            note=f"completion time {time:.3f} of that without",
        )  # fmt: skip
        _mice(board, "ut.mice", measured, without)


def dt(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Figures 6 and 7 in words."""
    for transfers in TRANSFERS:
        without, measured = (evidence[one(scale, transfers, scheme)] for scheme in ("no_direct_link", "dt"))
        gained = gain(measured, without)
        board.shape("dt.gain", 0 < gained <= MODEST, gained, suffix=f"{transfers}", transfers=transfers)
        time = ratio(measured, without, "mouse", "completion")
        board.shape("dt.mice", 1 - MOST_OF_MICE <= time <= 1.05, time, suffix=f"{transfers}", transfers=transfers)


def on_demand(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Figures 8 and 9 in words."""
    for transfers in TRANSFERS:
        without, measured = (evidence[one(scale, transfers, scheme)] for scheme in ("no_direct_link", "on_demand"))
        board.value(f"on_demand.gain.{transfers}", single(gain(measured, without)))
        _mice(board, "on_demand.mice", measured, without)


def _mice(board: Scoreboard, key: str, measured: Measured, without: Measured) -> None:
    """Mice are almost as before."""
    transfers = measured.setting.transfers
    time = ratio(measured, without, "mouse", "completion")
    (low, _, high), (other_low, _, other_high) = (cell.extremes("mouse", "completion") for cell in (measured, without))
    overlap = low <= other_high and other_low <= high
    board.shape(
        key, overlap or abs(time - 1) <= MOST_OF_MICE, time, suffix=f"{transfers}", transfers=transfers,
        note=f"runs from {low:.1f} to {high:.1f} s, without from {other_low:.1f} to {other_high:.1f} s",
    )  # fmt: skip


def scaling(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Whether times at 100 Gb/s are a hundredth of those at 1 Gb/s."""
    for cell, fast in grids.fast(scale).items():
        for vm_class in get_args(VmClass):
            times = ratio(evidence[fast], evidence[cell], vm_class, "completion")
            board.value(
                "scaling", single(times), suffix=f"{cell.scheme}.{vm_class}", vm_class=CLASSES[vm_class][:-3],
                scheme=SCHEMES[cell.scheme], note=counts(evidence[fast], evidence[cell], vm_class),
            )  # fmt: skip


def kernel(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Whether the simulator's cell is that of real Linux."""
    for cell, real in grids.kernel_cells(scale).items():
        for vm_class in get_args(VmClass):
            board.value(
                "kernel", single(ratio(evidence[cell], evidence[real], vm_class, "completion")),
                suffix=f"{cell.scheme}.{'gap.' if cell.night_us else ''}{vm_class}", vm_class=CLASSES[vm_class][:-3],
                scheme=f"{SCHEMES[cell.scheme]}{' with gaps' if cell.night_us else ''}",
                note=counts(evidence[cell], evidence[real], vm_class),
            )  # fmt: skip


def nothing(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """What the paper does not ask."""


def counts(one: Measured, other: Measured, vm_class: VmClass) -> str:
    """Timeouts and retransmissions of a transfer, in the mean."""
    parts = (
        f"{name} {one.count(vm_class, column):.3g} and {other.count(vm_class, column):.3g}"
        for name, column in (("timeouts of a transfer", "rtos"), ("retransmissions", "retransmits"))
    )
    return ", ".join(parts)


def ratio(measured: Measured, other: Measured, vm_class: VmClass, metric: Metric) -> float:
    """The mean over that of another setting."""
    return measured.mean(vm_class, metric) / other.mean(vm_class, metric)


def gain(measured: Measured, without: Measured) -> float:
    """Gain of elephants in mean throughput, in percent."""
    return 100 * (ratio(measured, without, "elephant", "throughput") - 1)


def relative_range(measured: Measured) -> float:
    """The range of elephants' throughput over the runs, relative to its mean."""
    least, mean, largest = measured.extremes("elephant", "throughput")
    return (largest - least) / mean
