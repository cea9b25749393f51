"""What a model is given of settings: numbers that mean the same in every network.

Beside the inputs themselves there are ratios of the times that meet in such a network (`_ratios`), what two fair fluids
would do (`fluid.py`), and how long a flow is still after a night in which all was lost (`stalls.py`): with these a
model has to learn how TCP differs from a fluid, not what a schedule is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import fluid, stalls
from .columns import Array, Columns, Setting, columns
from .setting import GROUPS, VARIANTS

_LEAST_MS = 0.005
"""Added to a night, so that none has a logarithm as well."""


def matrix(settings: Sequence[Setting]) -> Array:
    """One row a setting, columns as `NAMES`; the numbers of both groups are those of the migrated one."""
    return np.column_stack(list(_columns(settings).values()))


def _columns(settings: Sequence[Setting]) -> dict[str, Array]:
    known = columns(settings)
    found = _inputs(known) | _ratios(known) | fluid.features(known) | stalls.features(known)
    for group in GROUPS:
        for variant in VARIANTS:
            found[f"{group}_{variant}"] = np.array([float(one[f"{group}_variant"] == variant) for one in settings])
    return found


def _inputs(of: Columns) -> dict[str, Array]:
    return {
        "rate": np.log(of.rate_gbps), "rtt": np.log(of.rtt), "buffer": np.log(of.buffer), "mib": np.log(of.mib),
        "flows": of.flows, "period": np.log(of.period), "night": np.log(of.night + _LEAST_MS), "phase": of.phase,
        "tick": np.log(of.tick), "is_drop": of.is_drop, "is_hold": of.is_hold,
    }  # fmt: skip


def _ratios(of: Columns) -> dict[str, Array]:
    full, bdp = of.fill + of.rtt, of.rtt / of.packet
    per_200 = 200 / of.period
    return {
        "ideal": np.log(of.ideal), "cycles": np.log(of.ideal / of.period), "duty": of.day / of.period,
        # The buffer in bandwidth-delay products, and what each flow can have of both together.
        "buffer_bdp": np.log(of.buffer / bdp), "window": np.log((of.buffer + bdp) / (2 * of.flows)),
        "buffer_flow": np.log(of.buffer / of.flows), "bdp_flow": np.log(bdp / of.flows + 0.1),
        "day_full": np.log(of.day / full), "night_full": np.log((of.night + _LEAST_MS) / full),
        "night_rtts": np.log((of.night + _LEAST_MS) / of.rtt), "day_rtts": np.log(of.day / of.rtt),
        "period_ticks": np.log(of.period / of.tick), "night_ticks": np.log((of.night + _LEAST_MS) / of.tick),
        # What is held in a night comes at once: in buffers, bounded by the windows that are out.
        "held": np.clip(of.night / of.fill, 0, 3), "held_window": np.minimum(full, of.night) / of.fill,
        # How far the least timeout is from a multiple of the period.
        "timeout_apart": np.abs(per_200 - np.round(per_200)), "timeout_phase": np.mod(per_200, 1),
        "timeout_ideal": np.log(200 / of.ideal),
        "first_ideal": np.clip(np.log(of.first / of.ideal), -6, 1), "first_rtts": np.log(of.first / of.rtt),
        "first_part": of.first / of.ideal,
    }  # fmt: skip


def _names() -> tuple[str, ...]:
    setting = {f"{group}_variant": VARIANTS[0] for group in GROUPS} | {
        "rate_gbps": 10, "rtt_us": 40, "buffer_packets": 250, "migrated_mib": 64, "migrated_flows": 1, "period_ms": 10,
        "night_ms": 1, "start_ms": 0, "hz": 1000, "downtime": "drop",
    }  # fmt: skip
    return tuple(_columns([setting]))


NAMES = _names()
"""All columns of a matrix: the variants are one column each (1 or 0)."""
