"""Splits the completion time of a flow into parts that add up to it exactly.

The life of a flow is cut at every sample of its window (one per ACK), at every loss and repair, at every change of its
path or fair share, and at the edges of bins. In a bin the flow receives a share p of what its fair share would carry,
at most 1. The share p of each piece of the bin is ``transfer``; the rest is lost time, and its cause is the first of
these that holds:

``circuit_wait``       the flow has no path: night, or its gates are closed
``spurious_recovery``  the sender is in an episode of recovery in which nothing that was lost is missing
``night_loss``         something that a night has taken is missing (it was lost in it, as a gate closed, or because the
                       buffer that holds packets was full), or the episode of recovery is one in which it was
``timeout``            something lost otherwise is missing, while the sender is in state Loss or waits for a timer: a
                       retransmission timeout, a tail loss probe (RFC 8985), or that of a SYN or SYN-ACK
``fast_recovery``      something lost otherwise is missing, in all other states: detection and Recovery (RFC 6675)
``ramp_up``            less is in flight than the share fills without a queue: share times base round-trip time. That is
                       the growth of the window, and also set-up, tail, and limits of the sender or receiver
``queueing``           enough is in flight, but it waits in queues behind the packets of others

An episode is an uninterrupted time in Recovery or Loss. A lost packet is missing from its loss until the end of the bin
in which the receiver has everything up to it in order; a lost packet of the handshake until the first sample of an RTT.
In the other states a timer has fired at a sample that comes no sooner than two smoothed RTTs after the one before, the
least time of a probe, and leaves the smoothed RTT as it was: an ACK as late as that would have changed it.

Bytes are counted at the receiver's last link, with retransmissions. The definitions are ours; the causes of lost time
follow the migration study's reading of its figures (section V).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import polars as pl

from daybreak.metrics.errors import check_columns, positive

PARTS = (
    "transfer", "circuit_wait", "ramp_up", "queueing", "night_loss", "fast_recovery", "timeout", "spurious_recovery",
)  # fmt: skip
"""Names of the parts, each a column ``<part>_ns``."""
COLUMNS = tuple(f"{part}_ns" for part in PARTS)
_NUMBER = {part: number for number, part in enumerate(PARTS)}
_NIGHT = ("night", "gate_closed", "hold_full")
_RECOVERY, _LOSS = "Recovery", "Loss"
_PROBE_RTTS = 2
"""A tail loss probe is sent no sooner than after this many smoothed RTTs (RFC 8985, section 7.2)."""

Array = np.ndarray[Any, Any]
Columns = Mapping[str, Array]
"""Columns of one flow."""


class _ByFlow:
    """Columns of a table, of each flow apart. A query of polars for each flow would take longer than all else."""

    def __init__(self, frame: pl.DataFrame, **columns: pl.Expr) -> None:
        by_flow = frame.select(_flow=pl.col("flow"), **columns).sort("_flow", maintain_order=True)
        self._flows = by_flow["_flow"].to_numpy()
        self._columns = {name: by_flow[name].to_numpy() for name in columns}

    @classmethod
    def of_bins(cls, bins: pl.DataFrame, scope: str) -> Self:
        """The bins of one scope."""
        frame = bins.filter(pl.col("scope") == scope).rename({"id": "flow"})
        return cls(frame, start_ns=_whole("start_ns"), bytes=_whole("bytes"))

    def __getitem__(self, flow: int) -> Columns:
        first, last = (np.searchsorted(self._flows, flow, side=side) for side in ("left", "right"))
        return {name: column[first:last] for name, column in self._columns.items()}


def _whole(name: str) -> pl.Expr:
    return pl.col(name).fill_null(0).cast(pl.Int64)


def table(
    flows: pl.DataFrame,
    window: pl.DataFrame,
    bins: pl.DataFrame,
    drops: pl.DataFrame,
    shares: pl.DataFrame,
    *,
    bin_ns: int,
    packet_bytes: Mapping[int, int],
) -> pl.DataFrame:
    """One row per flow that ended: ``flow, flow_name, group, variant, fct_ns`` and the parts ``transfer_ns`` ...

    ``window`` has one sample per ACK; ``bins`` (width ``bin_ns``) count with scope tap each data packet once and with
    scope delivered what the receiver has in order; ``drops`` has every loss; ``shares`` (``flow, start_ns, end_ns,
    share_bps, fills_bytes``) covers the flows' lives without a gap; ``packet_bytes`` is the size of a full packet of
    each flow.
    """
    positive("bin_ns", bin_ns)
    check_columns("window", window, ("flow", "time_ns", "in_flight", "srtt_ns", "state"))
    check_columns("shares", shares, ("flow", "start_ns", "end_ns", "share_bps", "fills_bytes"))
    state = pl.col("state")
    tables = {
        "window": _ByFlow(
            window, time_ns=_whole("time_ns"), in_flight=_whole("in_flight"), srtt_ns=_whole("srtt_ns"),
            in_recovery=state == _RECOVERY, in_loss=state == _LOSS,
        ),
        "drops": _ByFlow(
            drops, time_ns=_whole("time_ns"), seq=_whole("seq"), data=pl.col("data"),
            by_night=pl.col("reason").is_in(_NIGHT),
        ),
        "shares": _ByFlow(
            shares, start_ns=_whole("start_ns"), share_bps=pl.col("share_bps"), fills_bytes=pl.col("fills_bytes")
        ),
        "tapped": _ByFlow.of_bins(bins, "tap"),
        "delivered": _ByFlow.of_bins(bins, "delivered"),
    }  # fmt: skip
    rows = []
    for row in flows.drop_nulls("fct_ns").iter_rows(named=True):
        flow = row["flow"]
        mine = {name: table[flow] for name, table in tables.items()}
        parts = _parts(row["start_ns"], row["end_ns"], mine, bin_ns, packet_bytes[flow])
        known = {name: row[name] for name in ("flow", "flow_name", "group", "variant", "fct_ns")}
        rows.append(known | dict(zip(COLUMNS, parts, strict=True)))
    schema = {name: flows.schema[name] for name in ("flow", "flow_name", "group", "variant")}
    return pl.DataFrame(rows, schema=schema | dict.fromkeys(("fct_ns", *COLUMNS), pl.Int64))


def by_group(parts: pl.DataFrame) -> pl.DataFrame:
    """The sums over the flows of each group: ``group``, ``flows``, ``fct_ns`` and the parts."""
    return parts.group_by("group", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("flows"), *(pl.col(name).sum() for name in ("fct_ns", *COLUMNS))
    )


def rows(flows: pl.DataFrame, groups: pl.DataFrame, *, most_flows: int) -> list[tuple[str, float, list[float]]]:
    """The rows of tables and figures: for each group of several flows their mean, then the first ``most_flows`` flows.

    Each is a name, the completion time in seconds and the parts in seconds.
    """
    numbers = ("fct_ns", *COLUMNS)
    found = [
        (f"mean of {one['group']}", [one[name] / one["flows"] / 1e9 for name in numbers])
        for one in groups.filter(pl.col("flows") > 1).iter_rows(named=True)
    ]
    found += [
        (one["flow_name"], [one[name] / 1e9 for name in numbers])
        for one in flows.head(most_flows).iter_rows(named=True)
    ]
    return [(name, fct, parts) for name, (fct, *parts) in found]


def _parts(start: int, end: int, mine: Mapping[str, Columns], bin_ns: int, packet: int) -> list[int]:
    """Nanoseconds of each part of one flow."""
    shares, samples = mine["shares"], mine["window"]
    times, share_starts = samples["time_ns"], shares["start_ns"]
    first, last = start // bin_ns, -(-end // bin_ns)
    lost, repaired, by_night, of_handshake = _missing(mine["drops"], mine["delivered"], samples, bin_ns)
    edges = np.arange(first, last + 1) * bin_ns
    cuts = np.concatenate(([start, end], times, lost, repaired, share_starts, edges))
    cuts = np.unique(cuts[(cuts >= start) & (cuts <= end)]).astype(np.int64)
    begins, lengths = cuts[:-1], np.diff(cuts)
    if not begins.size:
        return [0] * len(PARTS)

    at_share = np.searchsorted(share_starts, begins, side="right") - 1
    share, fills = (shares[name][at_share] for name in ("share_bps", "fills_bytes"))
    at_sample = np.searchsorted(times, begins, side="right")
    in_flight = np.concatenate(([0], samples["in_flight"] * packet))[at_sample]

    cause = np.where(in_flight < fills, _NUMBER["ramp_up"], _NUMBER["queueing"])

    def is_missing(some: Array) -> Array:
        come, gone = (np.searchsorted(np.sort(at[some]), begins, side="right") for at in (lost, repaired))
        return np.asarray(come > gone)

    is_any_missing = is_missing(np.ones_like(by_night))
    cause = np.where(is_any_missing, _NUMBER["fast_recovery"], cause)
    awaits_timer = is_any_missing & np.append(_timers(samples), False)[at_sample]
    cause = np.where(awaits_timer | is_missing(of_handshake), _NUMBER["timeout"], cause)
    cause = np.where(is_missing(by_night), _NUMBER["night_loss"], cause)
    episodes = _episodes(end, samples, (lost, repaired, by_night))
    recovery = np.concatenate(([-1], episodes))[at_sample]
    cause = np.where(recovery >= 0, recovery, cause)
    cause = np.where(share == 0, _NUMBER["circuit_wait"], cause)

    bins = begins // bin_ns - first
    capacity = np.bincount(bins, weights=share.astype(float) * lengths / 8e9, minlength=last - first)
    received = np.zeros(last - first)
    slots = mine["tapped"]["start_ns"] // bin_ns - first
    inside = (slots >= 0) & (slots < received.size)
    np.add.at(received, slots[inside], mine["tapped"]["bytes"].astype(float)[inside])
    part = np.minimum(1.0, np.divide(received, capacity, out=np.zeros_like(received), where=capacity > 0))
    transfer = np.where(share == 0, 0, np.floor(part[bins] * lengths)).astype(np.int64)
    # Sums of integers, not of floats: a long flow has more nanoseconds than a float is exact for.
    lost = np.zeros(len(PARTS), dtype=np.int64)
    np.add.at(lost, cause, lengths - transfer)
    lost[_NUMBER["transfer"]] = transfer.sum()
    return [int(number) for number in lost]


def _missing(drops: Columns, delivered: Columns, samples: Columns, bin_ns: int) -> tuple[Array, Array, Array, Array]:
    """For each lost packet of data, SYN or SYN-ACK the time of the loss, the time when the receiver had everything up
    to it, or the sender was connected, whether it was lost to a night, and whether it is of the handshake."""
    measured = samples["time_ns"][samples["srtt_ns"] > 0]
    connected = int(measured[0]) if measured.size else 0
    # Nothing but the handshake precedes the first sample of an RTT.
    before = drops["time_ns"] < connected
    counts = drops["data"].astype(bool) | before
    lost, seq, of_handshake, by_night = (
        column[counts] for column in (drops["time_ns"], drops["seq"], before, drops["by_night"])
    )
    ends = delivered["start_ns"] + bin_ns
    # The first byte of the payload has the sequence number 1.
    at = np.searchsorted(np.cumsum(delivered["bytes"]), seq, side="left")
    repaired = np.where(of_handshake, connected, np.append(ends, np.iinfo(np.int64).max)[at])
    # The receiver may have had a copy of a packet that was lost again.
    ever = repaired > lost
    return lost[ever], repaired[ever], by_night[ever], of_handshake[ever]


def _timers(samples: Columns) -> Array:
    """Whether a timer fired at each sample that leaves the state open: the one of RACK, which is detection, starts
    Recovery."""
    srtt, times = samples["srtt_ns"], samples["time_ns"]
    found = np.zeros(len(srtt), dtype=bool)
    found[1:] = (srtt[1:] > 0) & (np.diff(srtt) == 0) & (np.diff(times) >= _PROBE_RTTS * srtt[1:])
    return np.asarray(found & ~samples["in_recovery"])


def _episodes(end: int, samples: Columns, missing: tuple[Array, Array, Array]) -> Array:
    """The cause of the episode between each sample and the next, -1 outside of episodes."""
    times, is_loss = samples["time_ns"], samples["in_loss"].copy()
    # The time before a sample in state Loss was spent waiting for the timeout.
    is_loss[:-1] |= is_loss[1:]
    is_lossy = is_loss | samples["in_recovery"]
    found = np.full(len(times), -1)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], is_lossy.astype(np.int8), [0]))))
    lost, repaired, by_night = missing
    for opened, closed in edges.reshape(-1, 2):
        over = times[closed] if closed < len(times) else end
        mine = (lost < over) & (repaired > times[opened])
        if not mine.any():
            found[opened:closed] = _NUMBER["spurious_recovery"]
        elif by_night[mine].any():
            found[opened:closed] = _NUMBER["night_loss"]
        else:
            found[opened:closed] = np.where(is_loss[opened:closed], _NUMBER["timeout"], _NUMBER["fast_recovery"])
    return found
