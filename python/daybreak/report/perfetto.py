"""A run as a trace for Perfetto (https://ui.perfetto.dev): the JSON of the Trace Event Format.

Circuits and flows are slices, windows, RTTs, queues and throughput are counters, lost packets are instants. A viewer
holds the value of a counter until the next one, so that it is written where it changes, and at its end. Times are in
microseconds, as the format requires, with nanoseconds as decimals.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import polars as pl

from daybreak.metrics import phases
from daybreak.runs import Run

Event = dict[str, Any]
_CIRCUITS, _FLOWS, _QUEUES, _LOSSES = 1, 2, 3, 4
_PROCESSES = {_CIRCUITS: "circuits", _FLOWS: "flows", _QUEUES: "queues", _LOSSES: "losses"}
_COUNTERS = {"cwnd": "cwnd [segments]", "bytes_in_flight": "in flight [B]", "srtt_ns": "srtt [us]"}


def events(run: Run, flows: pl.DataFrame, queues: pl.DataFrame, count: Callable[[int], object]) -> Iterator[Event]:
    """All events of a run: those of these ``flows``, and the rows ``queues`` of its table. ``count`` is told of each
    flow, sample and loss that has been read."""
    for process, name in _PROCESSES.items():
        yield {"ph": "M", "pid": process, "name": "process_name", "args": {"name": name}}
    numbers = set(flows["flow"].to_list())
    yield from _circuits(run)
    yield from _of_flows(run, flows, count)
    yield from _changes(_windows(run, numbers, count))
    yield from _changes(_rates(run, numbers))
    yield from _changes(_waiting(queues, count))
    lost = run.drops.filter(pl.col("flow").is_in(numbers))
    for time, reason, place, flow, seq in lost.select(
        "time_ns", "reason", "place_name", "flow_name", "seq"
    ).iter_rows():
        count(1)
        yield {
            "ph": "i", "s": "p", "pid": _LOSSES, "tid": 0, "ts": time / 1000, "name": f"{reason} at {place}",
            "args": {"flow": flow, "seq": seq},
        }  # fmt: skip


def _circuits(run: Run) -> Iterator[Event]:
    ended = int(run.manifest["totals"]["ended_ns"])
    for number, (name, steps) in enumerate(_by(run.circuits, "timeline_name")):
        yield _thread(_CIRCUITS, number, name)
        for start, end, phase in phases.intervals(steps).select("start_ns", "end_ns", "phase").iter_rows():
            yield _slice(_CIRCUITS, number, phase, start, ended if end is None else end)


def _of_flows(run: Run, flows: pl.DataFrame, count: Callable[[int], object]) -> Iterator[Event]:
    ended = int(run.manifest["totals"]["ended_ns"])
    columns = ("flow", "flow_name", "start_ns", "end_ns", "src", "dst", "variant", "bytes", "retransmits", "rtos")
    for flow, name, start, end, *facts in flows.select(columns).iter_rows():
        count(1)
        yield _thread(_FLOWS, flow, name)
        arguments = dict(zip(columns[4:], facts, strict=True)) | {"complete": end is not None}
        yield _slice(_FLOWS, flow, name, start, ended if end is None else end) | {"args": arguments}


def _changes(counters: Iterable[Event]) -> Iterator[Event]:
    """The counters that differ from the one before of their name, and the last of each name."""
    shown: dict[str, float] = {}
    held: dict[str, Event] = {}
    for event in counters:
        name, value = event["name"], event["args"]["value"]
        if shown.get(name) == value:
            held[name] = event
        else:
            shown[name] = value
            held.pop(name, None)
            yield event
    yield from held.values()


def _waiting(queues: pl.DataFrame, count: Callable[[int], object]) -> Iterator[Event]:
    for time, queue, packets in queues.select("time_ns", "queue_name", "packets").iter_rows():
        count(1)
        yield _counter(_QUEUES, f"{queue} [packets]", time, packets)


def _windows(run: Run, numbers: Collection[int], count: Callable[[int], object]) -> Iterator[Event]:
    mine = run.window.filter(pl.col("flow").is_in(numbers))
    for time, name, *values in mine.select("time_ns", "flow_name", *_COUNTERS).iter_rows():
        count(1)
        for label, value in zip(_COUNTERS.values(), values, strict=True):
            if value is not None:
                shown = value / 1000 if label.startswith("srtt") else value
                yield _counter(_FLOWS, f"{name}: {label}", time, shown)


def _rates(run: Run, numbers: Collection[int]) -> Iterator[Event]:
    width = run.scenario.records.bin_width
    if width is None:
        return
    nanoseconds = int(width) / 1000
    bins = run.bins.filter(pl.col("scope").is_in(["arrived", "link"]))
    # An empty bin is left out: after the end of the one before nothing comes.
    ends: dict[str, float] = {}
    for scope, number, name, start, count in bins.select("scope", "id", "name", "start_ns", "bytes").iter_rows():
        if scope == "link" or number in numbers:
            label = f"{name}: {'link' if scope == 'link' else 'throughput'} [Gbit/s]"
            if start - ends.get(label, start) >= 1:
                yield _counter(_FLOWS, label, ends[label], 0.0)
            yield _counter(_FLOWS, label, start, count * 8 / nanoseconds)
            ends[label] = start + nanoseconds
    for label, end in ends.items():
        yield _counter(_FLOWS, label, end, 0.0)


def _by(table: pl.DataFrame, column: str) -> list[tuple[str, pl.DataFrame]]:
    return [(str(name), part) for (name,), part in table.group_by(column, maintain_order=True)]


def _thread(process: int, number: int, name: str) -> Event:
    return {"ph": "M", "pid": process, "tid": number, "name": "thread_name", "args": {"name": name}}


def _counter(process: int, name: str, time_ns: float, value: float) -> Event:
    return {"ph": "C", "pid": process, "ts": time_ns / 1000, "name": name, "args": {"value": value}}


def _slice(process: int, thread: int, name: str, start_ns: int, end_ns: int) -> Event:
    return {
        "ph": "X", "pid": process, "tid": thread, "name": name, "ts": start_ns / 1000,
        "dur": (end_ns - start_ns) / 1000,
    }  # fmt: skip
