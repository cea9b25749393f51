"""What can be drawn over time: for each quantity its table and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from daybreak.metrics import over_time
from daybreak.runs import Run
from daybreak.scenario import Scenario

from .cases import CURVE
from .view import View, Weeks, text

COUNT_SLOTS = 150
"""Largest number of steps in which events are counted: in shorter ones most counts are 0 or 1."""
MOST_QUEUES = 4

Units = Sequence[tuple[str, float]]
_RATES = (("Tbit/s", 1e12), ("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0))
_BYTES = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0))
_TIMES = (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0))


@dataclass(frozen=True)
class Source:
    """A run, the part of it that is drawn, and what its curves stand for: see `cases.BY`."""

    run: Run
    scenario: Scenario
    flows: pl.DataFrame
    by: str
    view: View


@dataclass(frozen=True)
class Quantity:
    """One panel. `values` makes a table ``name, slot, time_s, value`` from a run, `title` its heading with the step
    length."""

    axis: str
    units: Units
    record: str
    """The record that must be on, a key of `records`."""
    is_recorded: Callable[[Run], bool]
    values: Callable[[Source], pl.DataFrame]
    title: Callable[[Source], str]
    is_per_flow: bool = True
    is_count: bool = False
    """Whether it counts packets: without any it needs no panel."""
    scope: Callable[[Run], str | None] | None = None
    """The scope of table `bins`, for what links carry."""
    is_extra: bool = False
    """Whether it is drawn only on request."""

    @property
    def setting(self) -> str:
        """A setting of the scenario that records it."""
        value = "true" if self.record == "drops" else '"1 ms"'
        return f"records.{self.record} = {value}"

    @property
    def is_rate(self) -> bool:
        """Whether links carry it, so that their rate limits it."""
        return self.scope is not None

    def is_in_order(self, source: Source) -> bool:
        """Whether it is what applications receive, which stalls at a hole."""
        return self.scope is not None and self.scope(source.run) == "delivered"


def _binned(scope_of: Callable[[Run], str | None]) -> Callable[[Source], pl.DataFrame]:
    def values(source: Source) -> pl.DataFrame:
        width = bin_ns(source)
        return over_time.throughput(
            source.run.bins,
            source.flows,
            source.view.edges(every_ns=width),
            bin_ns=width,
            end_ns=int(source.run.manifest["totals"]["ended_ns"]),
            by=CURVE,
            scope=scope_of(source.run) or "arrived",
        )

    return values


def _sequence(source: Source) -> pl.DataFrame:
    """Bytes delivered in order until each edge of the slots, since the start of what is drawn, or of its week."""
    view, rates = source.view, _binned(_goodput_scope)(source)
    edges = view.edges(every_ns=bin_ns(source))
    names, weeks = rates[CURVE].unique(maintain_order=True), view.weeks if isinstance(view, Weeks) else 1
    in_slot = rates["value"].to_numpy().reshape(len(names), weeks, -1) * np.diff(edges).reshape(weeks, -1) / 8e9
    # A week ends at the edge at which the next one begins, so that it has one edge more than slots.
    until = np.pad(in_slot.cumsum(axis=2), ((0, 0), (0, 0), (1, 0)))
    slots = in_slot.shape[2]
    at = (np.arange(weeks)[:, None] * slots + np.arange(slots + 1)).ravel()
    return pl.DataFrame(
        {
            CURVE: np.repeat(names.to_numpy(), len(at)), "slot": np.tile(np.arange(len(at)), len(names)),
            "time_s": np.tile(edges[at] / 1e9, len(names)), "value": until.ravel(),
        },
        schema_overrides={CURVE: pl.String},
    )  # fmt: skip


def bin_ns(source: Source) -> int:
    """The length of the run's bins in ns."""
    return _ns(source.scenario.records.bin_width) or 1


def _throughput_scope(run: Run) -> str | None:
    """The scope of the throughput: payload that arrives, if it is recorded, or what the tapped links carry."""
    records = run.scenario.records
    if records.bin_width is None or "bins" not in run.manifest["tables"]:
        return None
    if records.delivered:
        # A run of an earlier version has only what was delivered.
        return "arrived" if not run.bins.height or (run.bins["scope"] == "arrived").any() else "delivered"
    return "tap" if records.taps else None


def _goodput_scope(run: Run) -> str | None:
    return "delivered" if _throughput_scope(run) in ("arrived", "delivered") else None


_BINNED = {
    "arrived": "Payload that arrives at the receiver",
    "delivered": "Payload delivered in order",
    "tap": "Bytes on the tapped links with framing",
}


def _binned_title(scope_of: Callable[[Run], str | None]) -> Callable[[Source], str]:
    def title(source: Source) -> str:
        step = source.view.step_ns(every_ns=bin_ns(source))
        of_flows = _of_group(source, "sum") if source.by in ("variant", "run") else ""
        return f"{_BINNED[scope_of(source.run) or 'arrived']}, mean of each {text(step)}{of_flows}"

    return title


def _samples(column: str, *, mean: bool = False) -> Callable[[Source], pl.DataFrame]:
    def values(source: Source) -> pl.DataFrame:
        window = source.run.window
        # There is no RTT before the first sample.
        known = window.filter(pl.col(column) > 0) if column == "srtt_ns" else window
        edges = source.view.edges(every_ns=_window_ns(source))
        return over_time.sampled(known, source.flows, edges, column, by=CURVE, mean=mean)

    return values


def _window_ns(source: Source) -> int:
    interval = source.scenario.records.window
    return 0 if isinstance(interval, str) else _ns(interval)


def _of_group(source: Source, merged: str) -> str:
    return "" if source.by == "flow" else f", {merged} of each {source.by}'s flows"


def _counts(source: Source) -> pl.DataFrame:
    return over_time.retransmissions(source.run.window, source.flows, _count_edges(source), by=CURVE)


def _losses(source: Source) -> pl.DataFrame:
    edges = source.view.edges(slots=COUNT_SLOTS)
    return over_time.losses(source.run.drops, source.flows, edges, by=CURVE)


def _count_edges(source: Source) -> over_time.Edges:
    return source.view.edges(every_ns=_window_ns(source), slots=COUNT_SLOTS)


def _queues(source: Source) -> pl.DataFrame:
    interval = _queue_ns(source)
    edges = source.view.edges(every_ns=interval)
    found = over_time.queues(source.run.queues, edges, interval_ns=interval)
    return found.rename({"queue_name": CURVE})


def _queue_ns(source: Source) -> int:
    return _ns(source.scenario.records.queues) or 1


def _ns(span: int | None) -> int:
    """A time of the scenario (ps) in ns: at least 1, or 0 if there is none."""
    return max(1, int(span) // 1000) if span else 0


def _scenario_has(record: str) -> Callable[[Run], bool]:
    return lambda run: bool(getattr(run.scenario.records, record)) and record in run.manifest["tables"]


QUANTITIES: Mapping[str, Quantity] = {
    "throughput": Quantity(
        "Throughput", _RATES, "bins", lambda run: _throughput_scope(run) is not None, _binned(_throughput_scope),
        _binned_title(_throughput_scope), scope=_throughput_scope,
    ),
    "goodput": Quantity(
        "Goodput", _RATES, "bins", lambda run: _goodput_scope(run) is not None, _binned(_goodput_scope),
        _binned_title(_goodput_scope), scope=_goodput_scope, is_extra=True,
    ),
    "sequence": Quantity(
        "Sequence", _BYTES, "bins", lambda run: _goodput_scope(run) is not None, _sequence,
        lambda source: "Payload delivered in order since the start of "
        + ("the week" if isinstance(source.view, Weeks) else "what is drawn") + _of_group(source, "sum"),
        is_extra=True,
    ),
    "cwnd": Quantity(
        "cwnd", (("segments", 1.0),), "window", _scenario_has("window"), _samples("cwnd"),
        lambda source: "Congestion window" + _of_group(source, "sum"),
    ),
    "in_flight": Quantity(
        "In flight", _BYTES, "window", _scenario_has("window"), _samples("bytes_in_flight"),
        lambda source: "Sent, and neither acknowledged nor taken for lost" + _of_group(source, "sum"),
    ),
    "rtt": Quantity(
        "srtt", _TIMES, "window", _scenario_has("window"), _samples("srtt_ns", mean=True),
        lambda source: "Round-trip time as the sender smooths it" + _of_group(source, "mean"),
    ),
    "queues": Quantity(
        "Queue", (("packets", 1.0),), "queues", _scenario_has("queues"), _queues,
        lambda source: f"Most packets waiting, in each {text(source.view.step_ns(every_ns=_queue_ns(source)))}",
        is_per_flow=False, is_count=True,
    ),
    "drops": Quantity(
        "Drops", (("packets", 1.0),), "drops", _scenario_has("drops"), _losses,
        lambda source: f"Packets lost, in each {text(source.view.step_ns(slots=COUNT_SLOTS))}",
        is_count=True,
    ),
    "retransmissions": Quantity(
        "Resent", (("segments", 1.0),), "window", _scenario_has("window"), _counts,
        lambda source: "Data segments sent again, in each "
        + text(source.view.step_ns(every_ns=_window_ns(source), slots=COUNT_SLOTS)),
        is_count=True,
    ),
}  # fmt: skip
"""All quantities by name, in their order from the top of a figure."""
