"""Where a model may be asked: not further from what it has learnt from than that is from itself.

Settings are points: each input on the scale on which it was drawn, in units of its range. A setting is outside if one
of its inputs is beyond all that were measured, or if it is further from the measured settings, all inputs
together, than 99 of a hundred of these are from the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from daybreak.plan.downtimes import LEARNT

from .columns import Setting
from .setting import GROUPS, VARIANTS

Array = np.ndarray[Any, Any]

NEAREST = 5
"""Settings whose mean distance counts."""
QUANTILE = 0.99
"""Of the measured settings' own distances: beyond it a setting is outside."""
_SAMPLE = 2000
"""So many of them tell these distances."""
_LOGARITHMIC = ("rate_gbps", "rtt_us", "buffer_packets", "mib", "period_ms", "night_share")
_OTHERS = ("flows", "phase", "hz")
NUMBERS = (*_LOGARITHMIC, *_OTHERS)
_UNITS = {
    "rate_gbps": "topology.rate in Gbit/s", "rtt_us": "topology.rtt in us", "buffer_packets": "topology.queue",
    "mib": "size of a flow in MiB", "period_ms": "period in ms", "night_share": "night as a part of the period",
    "flows": "flows of a group", "phase": "first period's start (and the night, with make_before_break) in periods",
    "hz": "stack.hz",
}  # fmt: skip
_OTHER_NAME = 0.2
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Domain:
    """The measured settings of a model as points."""

    numbers: Array
    """Rows as `NUMBERS`; the share of the night is not a number without one."""
    names: Array
    """Policy and variants of each row, as numbers (`_names_of`)."""
    limit: float
    """The greatest distance that is inside."""

    def reasons(self, setting: Setting) -> tuple[str, ...]:
        """Why a setting is outside, a sentence each; none if it is inside."""
        found = [
            f'{group}\'s variant "{setting[f"{group}_variant"]}" was not measured'
            for group in GROUPS
            if setting[f"{group}_variant"] not in VARIANTS
        ]
        for name in ("mib", "flows"):
            if setting[f"migrated_{name}"] != setting[f"main_{name}"]:
                found.append(f"the groups differ in {name}; only equal ones were measured")
        numbers = numbers_of([setting])[0]
        for name, value, column in zip(NUMBERS, numbers, self.numbers.T, strict=True):
            seen = np.unique(column) if name == "hz" else np.array([np.nanmin(column), np.nanmax(column)])
            if name == "phase":
                # A period that begins at once is the end of what phases can be, not of what was measured.
                seen[0] = 0.0
            if name == "hz" and not np.isclose(seen, value).any():
                found.append(f"{_UNITS[name]} = {value:g}; measured were {', '.join(f'{one:g}' for one in seen)}")
            elif value < seen[0] * (1 - _ROUNDING) or value > seen[-1] * (1 + _ROUNDING):
                found.append(f"{_UNITS[name]} = {value:.4g}; measured were {seen[0]:.4g} to {seen[-1]:.4g}")
        if not found and self.distance(setting) > self.limit:
            found.append("no setting that was measured is like it in all inputs together")
        return tuple(found)

    def distance(self, setting: Setting) -> float:
        """From the measured settings: the mean of those to the nearest ones."""
        return float(np.sort(self._distances(setting))[:NEAREST].mean())

    def nearest(self, setting: Setting, count: int) -> list[int]:
        """The rows of the most similar settings."""
        return [int(row) for row in np.argsort(self._distances(setting), kind="stable")[:count]]

    def _distances(self, setting: Setting) -> Array:
        asked = _scaled(numbers_of([setting]), *self._scale)
        return _apart(self._points, asked[0], self.names, _names_of([setting])[0])

    @cached_property
    def _scale(self) -> tuple[Array, Array]:
        return _scale(self.numbers)

    @cached_property
    def _points(self) -> Array:
        return _scaled(self.numbers, *self._scale)


def of(settings: Sequence[Setting] | pl.DataFrame, limit: float | None = None) -> Domain:
    """The domain of a model that has learnt from these settings; its limit is measured unless it is given."""
    numbers, names = numbers_of(settings), _names_of(settings)
    if limit is not None:
        return Domain(numbers.astype(np.float32), names, limit)
    low, span = _scale(numbers)
    points = _scaled(numbers, low, span)
    rows = np.random.default_rng(1).permutation(len(points))[:_SAMPLE]
    # The nearest of all is the setting itself.
    own = [np.sort(_apart(points, points[row], names, names[row]))[1 : NEAREST + 1].mean() for row in rows]
    return Domain(numbers.astype(np.float32), names, float(np.quantile(own, QUANTILE)))


def numbers_of(settings: Sequence[Setting] | pl.DataFrame) -> Array:
    """Rows as `NUMBERS`."""

    def of(name: str) -> Array:
        return np.array(_column(settings, name), dtype=float)

    flows, period = of("migrated_flows"), of("period_ms")
    night = np.where(np.array(_column(settings, "downtime")) == "none", math.nan, of("night_ms") / period)
    return np.column_stack([
        of("rate_gbps"), of("rtt_us"), of("buffer_packets"), of("migrated_mib") / flows, period, night, flows,
        of("start_ms") / period, of("hz"),
    ])  # fmt: skip


def _names_of(settings: Sequence[Setting] | pl.DataFrame) -> Array:
    known = {name: number for number, name in enumerate((*LEARNT, *VARIANTS))}
    keys = ("downtime", *(f"{group}_variant" for group in GROUPS))
    return np.array([[known.get(one, -1) for one in _column(settings, key)] for key in keys], np.int8).T


def _column(settings: Sequence[Setting] | pl.DataFrame, name: str) -> Sequence[Any]:
    return settings[name].to_list() if isinstance(settings, pl.DataFrame) else [one[name] for one in settings]


def _logarithms(numbers: Array) -> Array:
    found = np.array(numbers, dtype=float)
    wanted = [*range(len(_LOGARITHMIC)), NUMBERS.index("hz")]
    found[:, wanted] = np.log(np.maximum(found[:, wanted], 1e-12))
    return found


def _scale(numbers: Array) -> tuple[Array, Array]:
    found = _logarithms(numbers)
    low, high = np.nanmin(found, axis=0), np.nanmax(found, axis=0)
    return low, np.where(high > low, high - low, 1.0)


def _scaled(numbers: Array, low: Array, span: Array) -> Array:
    """Points in units of the ranges. Without a night all nights are one."""
    return np.nan_to_num((_logarithms(numbers) - low) / span, nan=0.5)


def _apart(points: Array, point: Array, names: Array, name: Array) -> Array:
    """Distances: of two settings with different policies, or variants, `_OTHER_NAME` of a range for each."""
    return np.asarray(np.sqrt(((points - point) ** 2).sum(axis=1) + _OTHER_NAME**2 * (names != name).sum(axis=1)))
