"""Possible causes of uneven sharing of a link, and other variants and parameters of TCP."""

from __future__ import annotations

from typing import cast, get_args

import polars as pl

from daybreak.figures import fct as fct_figures
from daybreak.figures.fct import Bar
from daybreak.metrics.confidence import interval
from daybreak.studies.published import PublishedValues
from daybreak.studies.scoreboard import Scoreboard
from daybreak.studies.space_switch import settings as grids
from daybreak.studies.space_switch.claims import MUCH, TABLES, ratio
from daybreak.studies.space_switch.measured import CLASSES, Evidence, Measurements, VmClass
from daybreak.studies.space_switch.plots import ELEPHANTS, Figures, Frames
from daybreak.studies.space_switch.settings import SCHEMES, UNEVEN, VARIANTS, Scale, Setting

_COMPARED = ("no_direct_link", "ut", "on_demand")
"""Schemes for which variants and parameters are compared."""


def cause_settings(scale: Scale) -> list[Setting]:
    """The settings of the comparison of causes."""
    return [cell for transfers, scheme in UNEVEN for cell in grids.causes(scale, transfers, scheme).values()]


def causes(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """How unevenly mice and elephants share with each cause, and according to the printed means."""
    bars = [
        Bar(name, _series(transfers, scheme, of), interval([uneven(evidence[cell], of)]),
            printed_unevenness(published, transfers, scheme, of))
        for (transfers, scheme), of in _cells()
        for name, cell in grids.causes(scale, transfers, scheme).items()
    ]  # fmt: skip
    return {"causes": fct_figures.bars(bars, ylabel="Unevenness (1: all take\nthe same time)", height=2.8)}


def _series(transfers: int, scheme: str, of: VmClass) -> str:
    # On demand only short queues were tried: places without its bar were not run.
    what = f"{CLASSES[of]}, {transfers}, {SCHEMES[scheme]}"
    return f"{what} (queues up to 100 packets)" if scheme == "on_demand" else what


def cause_table(evidence: Evidence, scale: Scale) -> Frames:
    """The numbers of `causes`."""
    rows = [
        {
            "transfers": transfers, "scheme": scheme, "vm_class": of, "changed": name.replace("\n", " "),
            "mean_mbps": evidence[cell].mean(of, "throughput"), "mean_s": evidence[cell].mean(of, "completion"),
            "unevenness": uneven(evidence[cell], of), "rtos": evidence[cell].count(of, "rtos"),
        }
        for (transfers, scheme), of in _cells()
        for name, cell in grids.causes(scale, transfers, scheme).items()
    ]  # fmt: skip
    return {"causes": pl.DataFrame(rows)}


def uneven(measured: Measurements, vm_class: VmClass) -> float:
    """Mean throughput times mean completion time over the size: 1 if all transfers of a class take the same time."""
    rate, time = (measured.mean(vm_class, metric) for metric in ("throughput", "completion"))
    return rate * 1e6 * time / _bits(vm_class)


def printed_unevenness(published: PublishedValues, transfers: int, scheme: str, vm_class: VmClass) -> float:
    """`uneven` for the printed means."""
    of = {about: table for table, about in TABLES.items()}
    rate, time = (
        float(published[f"{of[vm_class, metric]}.{scheme}.{transfers}.mean"].printed)
        for metric in ("throughput", "completion")
    )
    return rate * 1e6 * time / _bits(vm_class)


def _bits(vm_class: VmClass) -> int:
    return 8 * (3 * 2**30 if vm_class == "elephant" else 250 * 2**20)


def _cells() -> list[tuple[tuple[int, str], VmClass]]:
    return [(cell, cast("VmClass", of)) for cell, of in UNEVEN.items()]


def variant_settings(scale: Scale) -> list[Setting]:
    """The settings of the comparison of variants."""
    return [cell for scheme in _COMPARED for cell in grids.variants(scale, scheme).values()]


def variants(evidence: Evidence, scale: Scale, published: PublishedValues) -> Figures:
    """Elephants' mean throughput with each variant."""
    bars = [
        Bar(name, SCHEMES[scheme], evidence[cell].interval("elephant", "throughput"))
        for scheme in _COMPARED
        for name, cell in grids.variants(scale, scheme).items()
    ]
    return {"variants": fct_figures.bars(bars, ylabel=ELEPHANTS)}


def variant_table(evidence: Evidence, scale: Scale) -> Frames:
    """The numbers of `variants`, and those of mice."""
    rows = [
        {
            "hosts": name, "scheme": scheme, "vm_class": vm_class,
            "mean_mbps": evidence[cell].mean(vm_class, "throughput"),
            "mean_s": evidence[cell].mean(vm_class, "completion"), "rtos": evidence[cell].count(vm_class, "rtos"),
            "retransmits": evidence[cell].count(vm_class, "retransmits"),
        }
        for scheme in _COMPARED
        for name, cell in grids.variants(scale, scheme).items()
        for vm_class in get_args(VmClass)
    ]  # fmt: skip
    return {"variants": pl.DataFrame(rows)}


def judge_variants(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Judges whether the order of the schemes is that of CUBIC."""
    cells = {scheme: grids.variants(scale, scheme) for scheme in _COMPARED}
    for name in VARIANTS:
        without = evidence[cells["no_direct_link"][name]]
        below, above = (
            ratio(evidence[cells[scheme][name]], without, "elephant", "throughput") for scheme in ("ut", "on_demand")
        )
        suffix = name.lower().replace(" ", "-")
        board.shape("variants.ut", below <= 1 - MUCH, below, suffix=suffix, variant=name)
        board.shape("variants.on_demand", above >= 1 + MUCH, above, suffix=suffix, variant=name)
