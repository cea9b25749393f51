"""Judges the paper's statements."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import get_args

from daybreak.metrics import confidence
from daybreak.metrics.confidence import interval
from daybreak.studies.scoreboard import Scoreboard, text
from daybreak.studies.space_switch import settings as grids
from daybreak.studies.space_switch.measured import CLASSES, Evidence, Measurements, Metric, VmClass
from daybreak.studies.space_switch.settings import SCHEMES, TRANSFERS, TURNS, Scale, one

TABLES: dict[str, tuple[VmClass, Metric]] = {
    "table1": ("elephant", "throughput"),
    "table2": ("elephant", "completion"),
    "table3": ("mouse", "throughput"),
    "table4": ("mouse", "completion"),
}
ALIKE = 0.1
"""Largest difference of means that counts as almost equal."""
MUCH = 0.05
"""Least relative difference by which elephants have to be worse under UT."""
MODEST = 10.0
"""Largest gain in percent that counts as modest."""
HALF = 50.0
"""Gain in percent of the abstract's on-demand scheme."""
SPREAD = 0.1
"""Least range over the runs, by the mean, that is a large spread: the most of table 1 without direct links."""
EARLIER = 0.75
"""Largest ratio of completion times at which transfers are done much earlier."""
TWICE_PRINTED = 48
"""Number of transfers for which the paper prints two values of the gain on demand."""


def figure3(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """The best epoch."""
    means = {one.sse_s: interval(evidence[one].mean_of_all("throughput")).mean for one in grids.epochs(scale)}
    best = max(means, key=lambda sse: means[sse])
    listed = ", ".join(f"{sse} s: {mean:.1f}" for sse, mean in means.items())
    board.shape("fig3.best", best == 10, float(best), note=f"mean throughput in Mbit/s by epoch: {listed}")


def tables(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Tables 1 to 4, and their order and spread."""
    for table, (vm_class, metric) in TABLES.items():
        for transfers in TRANSFERS:
            for scheme in SCHEMES:
                measured = evidence[one(scale, transfers, scheme)]
                _cell(board, f"{table}.{scheme}.{transfers}", measured, vm_class, metric)
    for transfers in TRANSFERS:
        cells = {scheme: evidence[one(scale, transfers, scheme)] for scheme in SCHEMES}
        means = {scheme: cell.mean("elephant", "throughput") for scheme, cell in cells.items()}
        listed = ", ".join(f"{SCHEMES[scheme]} {mean:.1f}" for scheme, mean in means.items())
        falling = [means[scheme] for scheme in ("on_demand", "dt", "no_direct_link", "ut")]
        step = min(higher / lower for higher, lower in pairwise(falling))
        board.shape(
            "order", step > 1, step, suffix=f"{transfers}", transfers=transfers, note=f"Mbit/s: {listed}",
        )  # fmt: skip
        _effects(board, cells, transfers)
        ranges = {scheme: relative_range(cell) for scheme, cell in cells.items()}
        moving, steady = (ranges["ut"], ranges["dt"]), (ranges["no_direct_link"], ranges["on_demand"])
        listed = ", ".join(f"{SCHEMES[scheme]} {100 * part:.2g} %" for scheme, part in ranges.items())
        least = min(moving) / max(steady) if max(steady) else math.inf
        board.shape(
            "spread", least > 1, least, suffix=f"{transfers}", transfers=transfers,
            note=f"range over the runs, relative to the mean: {listed}",
        )  # fmt: skip


def _cell(board: Scoreboard, key: str, measured: Measurements, vm_class: VmClass, metric: Metric) -> None:
    values = measured.of(vm_class, metric)
    least, _, largest = measured.extremes(vm_class, metric)
    board.value(f"{key}.min", single(least))
    board.value(f"{key}.mean", values)
    board.value(f"{key}.max", single(largest))


def _effects(board: Scoreboard, cells: Mapping[str, Measurements], transfers: int) -> None:
    """What the schemes change of the means: those with turns that of elephants, whose gain on demand is printed, and
    all three that of mice."""
    changed = [("elephant", scheme) for scheme in TURNS] + [("mouse", scheme) for scheme in (*TURNS, "on_demand")]
    for number, (vm_class, metric) in enumerate(TABLES.values(), start=1):
        for scheme in (scheme for of, scheme in changed if of == vm_class):
            found = changes(cells[scheme], cells["no_direct_link"], metric, vm_class)
            board.value(f"effect{number}.{scheme}.{transfers}", found)


def single(value: float) -> list[float | None]:
    """A single value as a list; None if it is missing."""
    return [None if math.isnan(value) else value]


def ut(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Figures 4 and 5 in words."""
    for transfers in TRANSFERS:
        without, measured = (evidence[one(scale, transfers, scheme)] for scheme in ("no_direct_link", "ut"))
        rate, time = (confidence.of_all(ratios(measured, without, metric)) for metric in ("throughput", "completion"))
        worse = rate is not None and time is not None and rate.mean <= 1 - MUCH and time.mean >= 1 + MUCH
        apart = rate is not None and time is not None and not (rate.high >= 1 or time.low <= 1)
        board.shape(
            "ut.worse", worse and apart, rate, suffix=f"{transfers}", transfers=transfers,
            note=f"completion time {text(time)} of that without",
        )  # fmt: skip
        _mice(board, "ut.mice", measured, without)
        _slow_start(board, measured, without)


def _slow_start(board: Scoreboard, measured: Measurements, without: Measurements) -> None:
    """Both classes start slowly again and again, and elephants suffer more from it."""
    transfers = measured.setting.transfers
    added = {of: 100 * (ratio(measured, without, of, "completion") - 1) for of in get_args(VmClass)}
    more = added["elephant"] - added["mouse"]
    board.shape(
        "ut.severe", more > 0, more, suffix=f"{transfers}", transfers=transfers,
        note=f"elephants {added['elephant']:.1f} %, mice {added['mouse']:.1f} %",
    )  # fmt: skip
    under, before = ({of: cell.count(of, "rtos") for of in get_args(VmClass)} for cell in (measured, without))
    board.shape(
        "ut.slow_start", min(under.values()) > 1 > max(before.values()), min(under.values()), suffix=f"{transfers}",
        transfers=transfers,
        note=f"elephants {under['elephant']:.3g}, without {before['elephant']:.2g}; "
        f"mice {under['mouse']:.3g}, without {before['mouse']:.2g}",
    )  # fmt: skip


def dt(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Figures 6 and 7 in words."""
    for transfers in TRANSFERS:
        without, measured = (evidence[one(scale, transfers, scheme)] for scheme in ("no_direct_link", "dt"))
        gained = confidence.of_all(changes(measured, without, "throughput"))
        modest = gained is not None and 0 < gained.mean <= MODEST
        board.shape("dt.gain", modest, gained, suffix=f"{transfers}", transfers=transfers)
        spread = relative_range(measured)
        board.shape("dt.spread", spread >= SPREAD, 100 * spread, suffix=f"{transfers}", transfers=transfers)
        _mice(board, "dt.mice", measured, without, shorter=True)


def on_demand(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Figures 8 and 9 in words."""
    for transfers in TRANSFERS:
        without, measured = (evidence[one(scale, transfers, scheme)] for scheme in ("no_direct_link", "on_demand"))
        board.value(f"on_demand.gain.{transfers}", changes(measured, without, "throughput"))
        if transfers == TWICE_PRINTED:
            board.value("on_demand.figure8b", changes(measured, without, "throughput"))
        _mice(board, "on_demand.mice", measured, without)
        _steady(board, {scheme: evidence[one(scale, transfers, scheme)] for scheme in SCHEMES}, transfers)
    gains = [
        gain(*(evidence[one(scale, transfers, scheme)] for scheme in ("on_demand", "no_direct_link")))
        for transfers in TRANSFERS
    ]
    board.shape("abstract.half", min(gains) > HALF, min(gains), note=", ".join(f"{value:.1f} %" for value in gains))


def _steady(board: Scoreboard, cells: Mapping[str, Measurements], transfers: int) -> None:
    """On demand elephants are done much earlier than with the other schemes, and their TCP repairs less."""
    repaired = {scheme: (cell.count("elephant", "retransmits"), cell.count("elephant", "rtos"))
                for scheme, cell in cells.items()}  # fmt: skip
    again, late = repaired["on_demand"]
    others = [scheme for scheme in cells if scheme != "on_demand"]
    steadier = all(again < repaired[other][0] and late <= repaired[other][1] for other in others)
    longest = max(ratio(cells["on_demand"], cells[other], "elephant", "completion") for other in others)
    listed = ", ".join(f"{SCHEMES[scheme]} {sent:.3g} and {waited:.2g}" for scheme, (sent, waited) in repaired.items())
    board.shape(
        "on_demand.stable", steadier and longest <= EARLIER, longest, suffix=f"{transfers}", transfers=transfers,
        note=f"retransmissions and timeouts of an elephant: {listed}",
    )  # fmt: skip


def capacity(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """What on demand gains over a network that uses as many links."""
    for transfers in TRANSFERS:
        measured, spread = (evidence[one(scale, transfers, scheme)] for scheme in ("on_demand", grids.ECMP))
        gained = gain(measured, spread)
        listed = (
            f"{name} {cell.mean('elephant', 'throughput'):.1f}"
            for name, cell in (("on demand", measured), ("ECMP", spread))
        )
        board.shape(
            "capacity", gained >= 100 * MUCH, gained, suffix=f"{transfers}", transfers=transfers,
            note=f"Mbit/s: {', '.join(listed)}",
        )  # fmt: skip


def instant(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Judges whether reconfiguration alone degrades performance, as the abstract states."""
    rates, listed = [], []
    for cell, at_once in grids.instant(scale).items():
        if cell.scheme == "ut":
            measured, without = evidence[at_once], evidence[one(scale, cell.transfers, "no_direct_link")]
            rates.append(ratio(measured, without, "elephant", "throughput"))
            rtos = [each.count("elephant", "rtos") for each in (measured, without)]
            listed.append(
                f"{cell.transfers} transfers: throughput {rates[-1]:.4f} of that without, "
                f"timeouts of an elephant {rtos[0]:.2g}, without {rtos[1]:.2g}"
            )
    board.shape("abstract.detrimental", min(rates) <= 1 - MUCH, min(rates), note="; ".join(listed))


def _mice(board: Scoreboard, key: str, measured: Measurements, without: Measurements, *, shorter: bool = False) -> None:
    """Mice are almost unchanged, or a little faster."""
    transfers = measured.setting.transfers
    time = ratio(measured, without, "mouse", "completion")
    (low, _, high), (other_low, _, other_high) = (cell.extremes("mouse", "completion") for cell in (measured, without))
    overlap = low <= other_high and other_low <= high
    alike = overlap or abs(time - 1) <= ALIKE
    board.shape(
        key, alike and not (shorter and time >= 1), time, suffix=f"{transfers}", transfers=transfers,
        note=f"runs from {low:.1f} to {high:.1f} s, without from {other_low:.1f} to {other_high:.1f} s",
    )  # fmt: skip


def scaling(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Judges whether times at 100 Gb/s are a hundredth of those at 1 Gb/s."""
    for cell, fast in grids.fast(scale).items():
        for vm_class in get_args(VmClass):
            times = ratio(evidence[fast], evidence[cell], vm_class, "completion")
            board.value(
                "scaling", single(times), suffix=f"{cell.scheme}.{vm_class}", vm_class=CLASSES[vm_class][:-3],
                scheme=SCHEMES[cell.scheme],
                note=counts(vm_class, at_100_Gbps=evidence[fast], at_1_Gbps=evidence[cell]),
            )  # fmt: skip


def kernel(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Judges whether the simulator agrees with real Linux on these cells."""
    for cell, real in grids.kernel_cells(scale).items():
        for vm_class in get_args(VmClass):
            board.value(
                "kernel", single(ratio(evidence[cell], evidence[real], vm_class, "completion")),
                suffix=f"{cell.scheme}.{'gap.' if cell.night_us else ''}{vm_class}", vm_class=CLASSES[vm_class][:-3],
                scheme=f"{SCHEMES[cell.scheme]}{' with gaps' if cell.night_us else ''}",
                note=counts(vm_class, on_the_simulator=evidence[cell], on_Linux=evidence[real]),
            )  # fmt: skip


def nothing(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """No claims: the paper does not ask this."""


def counts(vm_class: VmClass, **measured: Measurements) -> str:
    """Mean timeouts and retransmissions per transfer, on each side, as text."""
    parts = (
        f"{name.replace('_', ' ')} {one.count(vm_class, 'rtos'):.3g} timeouts and "
        f"{one.count(vm_class, 'retransmits'):.3g} retransmissions of a transfer"
        for name, one in measured.items()
    )
    return ", ".join(parts)


def ratios(
    measured: Measurements, other: Measurements, metric: Metric, vm_class: VmClass = "elephant"
) -> list[float | None]:
    """A class's mean over that of another setting, run by run: those of a seed start at the same times. None where a
    transfer was not complete."""
    pairs = zip(measured.of(vm_class, metric), other.of(vm_class, metric), strict=False)
    return [None if a is None or b is None else a / b for a, b in pairs]


def changes(
    measured: Measurements, without: Measurements, metric: Metric, vm_class: VmClass = "elephant"
) -> list[float | None]:
    """What a scheme changes of a class's mean, in percent, run by run."""
    return [None if one is None else 100 * (one - 1) for one in ratios(measured, without, metric, vm_class)]


def ratio(measured: Measurements, other: Measurements, vm_class: VmClass, metric: Metric) -> float:
    """The mean over that of another setting."""
    return measured.mean(vm_class, metric) / other.mean(vm_class, metric)


def gain(measured: Measurements, without: Measurements) -> float:
    """Gain of elephants in mean throughput, in percent."""
    return 100 * (ratio(measured, without, "elephant", "throughput") - 1)


def relative_range(measured: Measurements) -> float:
    """The range of elephants' throughput over the runs, relative to its mean."""
    least, mean, largest = measured.extremes("elephant", "throughput")
    return (largest - least) / mean
