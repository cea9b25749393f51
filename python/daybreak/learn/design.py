"""Which settings a model learns from and is judged by: joint, continuous draws of all inputs.

`RANGES` is what a model is for. It learns from settings that reach a little further, so that nothing in the ranges lies
at the edge of what was seen, and that fill the space evenly (Sobol's sequence: any first part of the design is a design
itself). It is judged by independent draws. Rates, times and sizes are spread evenly on a logarithmic scale.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .setting import GROUPS, VARIANTS

Array = np.ndarray[Any, Any]

RANGES = {
    "rate_gbps": (5.0, 25.0), "rtt_us": (20.0, 320.0), "buffer_packets": (60.0, 500.0), "mib": (64.0, 256.0),
    "period_ms": (2.0, 80.0), "night_share": (0.01, 0.2),
}  # fmt: skip
"""Lowest and highest: ``mib`` is the size of each flow, ``night_share`` the part of the period that is night."""
FLOWS = (1, 2, 3, 4)
"""Of each group."""
HZ = {100: 0.2, 250: 0.3, 300: 0.2, 1000: 0.3}
"""Ticks a second that Linux is built with, and how often each is drawn."""
DOWNTIMES = {"none": 0.3, "drop": 0.4, "hold": 0.3}
"""Policies (`downtimes.LEARNT`), and how often each is drawn. The others are these: see `setting.describe`."""
MARGIN = 1.1
"""The settings that are learnt from reach beyond `RANGES` by this factor."""
_PHASE_BEYOND = {"none": 0.25, "drop": 0.05, "hold": 0.05}
"""How far phases that are learnt from reach beyond a period. A night of `make_before_break` delays the moves."""
_COLUMNS = (*RANGES, "flows", "hz", "downtime", "phase", *(f"{group}_variant" for group in GROUPS))
_DESIGN_SEED = 21
EVENLY = 65_536
"""Settings of the design's first part."""
LEARNT = 131_072
"""Settings of the whole design, after `EVENLY` without those in which packets are dropped: these are learnt sooner."""
TWICE = 3_072
"""Settings that are run twice."""
CALIBRATION = (1795472446, 1795577175)
"""What the settings were drawn with on which the errors of the model's means were measured."""
CALIBRATION_COUNT, CALIBRATION_RUNS = 200, 48
"""Settings of each of these draws, and runs of each."""
_SECOND_SEED = 100_000


def chosen(count: int = LEARNT) -> list[tuple[dict[str, Any], tuple[int, ...]]]:
    """What the shipped model has learnt from: settings of the first ``count``, each with the seeds of its runs."""
    return [
        (setting, (1 + place, *([1 + _SECOND_SEED + place] if place < TWICE else [])))
        for place, setting in enumerate(learnt(count))
        if place < EVENLY or setting["downtime"] != "drop"
    ]


def learnt(count: int, first: int = 0) -> Iterator[dict[str, Any]]:
    """The settings of the design from number ``first`` on, as `setting.describe` has them."""
    # Predictions need none of it, and it takes a second to load.
    from scipy.stats import qmc  # noqa: PLC0415

    sequence = qmc.Sobol(len(_COLUMNS), scramble=True, rng=np.random.default_rng(_DESIGN_SEED))
    # Its length has to be a power of two.
    rows = sequence.random_base2((first + count - 1).bit_length())
    return (_setting(row, MARGIN) for row in rows[first : first + count])


def drawn(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Independent draws from the law that the model is for."""
    return (_setting(row, 1.0) for row in np.random.default_rng(seed).random((count, len(_COLUMNS))))


def _setting(row: Array, margin: float) -> dict[str, Any]:
    part = dict(zip(_COLUMNS, row, strict=True))
    values = {name: _between(part[name], low / margin, high * margin) for name, (low, high) in RANGES.items()}
    downtime, flows = _one_of(part["downtime"], DOWNTIMES), _one_of(part["flows"], dict.fromkeys(FLOWS, 1))
    period = values["period_ms"]
    beyond = _PHASE_BEYOND[downtime] if margin > 1 else 0
    group = {
        f"{group}_{name}": value
        for group in GROUPS
        for name, value in (
            ("variant", _one_of(part[f"{group}_variant"], dict.fromkeys(VARIANTS, 1))),
            ("mib", round(values["mib"] * 2**20) / 2**20 * flows),
            ("flows", flows),
        )
    }
    return group | {
        "rate_gbps": round(values["rate_gbps"], 6), "rtt_us": round(values["rtt_us"], 3),
        "buffer_packets": round(values["buffer_packets"]), "period_ms": round(period, 6),
        "night_ms": round(period * values["night_share"], 6) if downtime != "none" else 0.0,
        "downtime": downtime, "start_ms": round(float(period * part["phase"] * (1 + beyond)), 6),
        "hz": _one_of(part["hz"], HZ),
    }  # fmt: skip


def _between(part: float, low: float, high: float) -> float:
    return float(low * (high / low) ** part)


def _one_of(part: float, weights: dict[Any, float]) -> Any:
    names, ends = list(weights), np.cumsum(list(weights.values()))
    return names[min(int(np.searchsorted(ends, part * ends[-1], side="right")), len(names) - 1)]
