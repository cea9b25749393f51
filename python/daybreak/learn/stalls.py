"""How long a flow is still after a night in which all that it had out was lost.

The last ACK comes a round trip after the night began. A tail loss probe follows two round trips and two ticks later; if
that meets the night, or a later one, a retransmission timeout does, of 200 ms and a round trip, and each one that meets
a night doubles the next. Timers are rounded up: to the tick, and from 63 ticks on to eight of them (64 from 504 on;
`crates/tcp/src/jiffies.rs`), so with 1000 Hz an RTO of 200 ms may be 8 ms late, with 250 Hz 4 ms. Where in
the cycle a timer fires is known no better than that, so what is given is the part of this span that is night.

The round trip is taken once with empty and once with full buffers, since a window may be small when a night begins.
"""

from __future__ import annotations

import numpy as np

from .columns import Array, Columns

_RTO_MS = 200.0
_LONG_MS = 3000.0
"""Taken for all that follows a fourth timeout in a row."""


def features(of: Columns) -> dict[str, Array]:
    """How likely each timer meets a night, and the mean stall, in logarithms of ms."""
    has_night = (of.night > 0).astype(float)
    found: dict[str, Array] = {}
    for name, queue in (("empty", np.zeros_like(of.fill)), ("full", of.fill)):
        rtt = of.rtt + queue
        probe = rtt + (np.round(2 * rtt / of.tick) + 2) * of.tick
        late = probe + of.tick
        probe_lost = np.where(late < of.night, 1.0, in_night(of, probe, late))
        last = (probe + late) / 2
        lost, after = [], np.zeros_like(last)
        for doubled in (1, 2, 4):
            span = _RTO_MS * doubled
            after = after + span
            coarse = _rounded_to(span / of.tick) * of.tick
            at = last + rtt + after
            lost.append(in_night(of, at, at + coarse + of.tick))
        second, third = (_rounded_to(_RTO_MS * doubled / of.tick) * of.tick for doubled in (2, 4))
        rto = _RTO_MS + _rounded_to(_RTO_MS / of.tick) * of.tick / 2
        rto = rto + lost[0] * (2 * _RTO_MS + second / 2 + lost[1] * (4 * _RTO_MS + third / 2 + lost[2] * _LONG_MS))
        stall = last * (1 - probe_lost) + probe_lost * rto
        found |= {
            f"probe_lost_{name}": probe_lost, f"rto_lost_{name}": lost[0], f"second_lost_{name}": lost[1],
            f"third_lost_{name}": lost[2], f"both_lost_{name}": lost[0] * lost[1],
            f"rto_{name}": np.log(rto) * has_night, f"stall_{name}": np.log(stall) * has_night,
            f"probe_night_{name}": np.clip(np.log(last / np.maximum(of.night, 0.01)), -4, 6) * has_night,
            f"probe_period_{name}": np.clip(np.log(last / of.period), -5, 4),
            f"night_rtt_{name}": np.log((of.night + 0.005) / rtt),
        }  # fmt: skip
    # Whether a window that was lost is sent again before the next night.
    again = of.rtt * np.log2(of.buffer / of.flows + 2) + 2 * of.fill / of.flows
    return found | {"recovery_day": np.log(again / of.day)}


def in_night(of: Columns, low: Array, high: Array) -> Array:
    """The part of a span that is night; its ends are ms after the beginning of a night."""
    return np.asarray((_night_until(of, high) - _night_until(of, low)) / (high - low))


def _night_until(of: Columns, time: Array) -> Array:
    return np.floor(time / of.period) * of.night + np.minimum(np.mod(time, of.period), of.night)


def _rounded_to(ticks: Array) -> Array:
    """The ticks that a timer of so many is rounded up to."""
    return np.where(ticks < 63, 1.0, np.where(ticks < 504, 8.0, 64.0))
