"""Settings as columns of numbers, all times in ms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .setting import FRAME_BITS

Array = np.ndarray[Any, Any]
Setting = Mapping[str, Any]

MEAN_START_MS = 2.5
"""When flows start, on average."""


@dataclass(frozen=True)
class Columns:
    """One value a setting."""

    rate_gbps: Array
    rtt: Array
    buffer: Array
    """Packets."""
    mib: Array
    """Of a group."""
    flows: Array
    """Of a group."""
    period: Array
    night: Array
    first: Array
    """The first move, after the flows' start."""
    phase: Array
    """Start of the first period as a part of a period."""
    tick: Array
    """Of the hosts' clock."""
    is_drop: Array
    is_hold: Array

    @property
    def packet(self) -> Array:
        """The time of a packet at the rate."""
        return FRAME_BITS / self.rate_gbps / 1e6

    @property
    def fill(self) -> Array:
        """The time that a full buffer takes at the rate."""
        return self.buffer * self.packet

    @property
    def ideal(self) -> Array:
        """The time that a group's bytes take at the rate."""
        return self.mib * 2**20 * 8 / self.rate_gbps / 1e6

    @property
    def day(self) -> Array:
        """The part of a period in which there is a path."""
        return self.period - self.night


def columns(settings: Sequence[Setting]) -> Columns:
    """Settings (`setting.describe`) as columns."""

    def of(name: str) -> Array:
        return np.array([setting[name] for setting in settings], dtype=float)

    period, start = of("period_ms"), of("start_ms")
    policies = [setting["downtime"] for setting in settings]
    return Columns(
        rate_gbps=of("rate_gbps"), rtt=of("rtt_us") / 1e3, buffer=of("buffer_packets"), mib=of("migrated_mib"),
        flows=of("migrated_flows"), period=period, night=of("night_ms"),
        first=np.maximum(start + period - MEAN_START_MS, 0.2), phase=start / period, tick=1e3 / of("hz"),
        is_drop=np.array([policy == "drop" for policy in policies], dtype=float),
        is_hold=np.array([policy == "hold" for policy in policies], dtype=float),
    )  # fmt: skip
