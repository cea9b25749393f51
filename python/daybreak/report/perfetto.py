"""A run as a trace for Perfetto (https://ui.perfetto.dev): the JSON of the Trace Event Format.

The run, its circuits and its flows are slices, windows, RTTs, throughput and queues are counters, lost packets are
instants. A viewer holds the value of a counter until the next one, so that it is written where it changes, and at its
end. Times are in microseconds, as the format requires, with nanoseconds as decimals.

Perfetto names a counter after the event and its argument, which is the unit here. It takes a thread that has its
process's number for the main thread, and finds a thread's name by the number alone: each thread has a number of its
own. It shows times from the first event on, which is the start of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import count as counting
from typing import Any

import polars as pl

from daybreak.metrics import phases
from daybreak.runs import Run

Event = dict[str, Any]
_RUN, _CIRCUITS, _FLOWS, _LINKS, _QUEUES, _LOSSES = range(1, 7)
_PROCESSES = {
    _RUN: "run", _CIRCUITS: "circuits", _FLOWS: "flows", _LINKS: "links", _QUEUES: "queues", _LOSSES: "losses",
}  # fmt: skip
_FIRST_THREAD = 10
_COUNTERS = {"cwnd": ("cwnd", "segments"), "bytes_in_flight": ("in flight", "bytes"), "srtt_ns": ("srtt", "us")}


def events(run: Run, flows: pl.DataFrame, queues: pl.DataFrame, count: Callable[[int], object]) -> Iterator[Event]:
    """All events of a run: those of these ``flows``, and the rows ``queues`` of its table. ``count`` is told of each
    flow, sample and loss that has been read."""
    for process, name in _PROCESSES.items():
        yield {"ph": "M", "pid": process, "name": "process_name", "args": {"name": name}}
    numbers = set(flows["flow"].to_list())
    threads = counting(_FIRST_THREAD)
    yield from _whole(run, next(threads))
    yield from _circuits(run, threads)
    yield from _controlled(run, flows, threads)
    yield from _of_flows(run, flows, threads, count)
    yield from _changes(_windows(run, numbers, count))
    yield from _changes(_rates(run, numbers))
    yield from _changes(_waiting(queues, count))
    lost = run.drops.filter(pl.col("flow").is_in(numbers))
    for time, reason, place, flow, seq in lost.select(
        "time_ns", "reason", "place_name", "flow_name", "seq"
    ).iter_rows():
        count(1)
        yield {
            "ph": "i", "s": "p", "pid": _LOSSES, "tid": _LOSSES, "ts": time / 1000, "name": f"{reason} at {place}",
            "args": {"flow": flow, "seq": seq},
        }  # fmt: skip


def _whole(run: Run, thread: int) -> Iterator[Event]:
    name = str(run.manifest["name"])
    yield _thread(_RUN, thread, name)
    yield _slice(_RUN, thread, name, 0, _ended(run)) | {"args": {"seed": run.seed, "engine": run.manifest["engine"]}}


def _circuits(run: Run, threads: Iterator[int]) -> Iterator[Event]:
    for name, steps in _by(run.circuits, "timeline_name"):
        yield from _phases(run, next(threads), name, phases.intervals(steps))


def _controlled(run: Run, flows: pl.DataFrame, threads: Iterator[int]) -> Iterator[Event]:
    """What controllers set: the phases of a circuit, or the paths of each flow that one asked for."""
    chosen = set(flows["flow_name"].to_list())
    for name, decisions in _by(run.control, "controller_name"):
        for flow in decisions["flow_name"].unique(maintain_order=True):
            if flow is None:
                found = phases.of_controller(decisions.filter(pl.col("flow_name").is_null()))
                yield from _phases(run, next(threads), name, found)
            elif flow in chosen:
                found = phases.of_controller(decisions, flow=flow)
                yield from _phases(run, next(threads), f"{name}: {flow}", found)


def _phases(run: Run, thread: int, name: str, intervals: pl.DataFrame) -> Iterator[Event]:
    yield _thread(_CIRCUITS, thread, name)
    ended = _ended(run)
    for start, end, phase in intervals.select("start_ns", "end_ns", "phase").iter_rows():
        yield _slice(_CIRCUITS, thread, phase, start, ended if end is None else min(end, ended))


def _of_flows(run: Run, flows: pl.DataFrame, threads: Iterator[int], count: Callable[[int], object]) -> Iterator[Event]:
    ended = _ended(run)
    columns = ("flow", "flow_name", "start_ns", "end_ns", "src", "dst", "variant", "bytes", "retransmits", "rtos")
    for _, name, start, end, *facts in flows.select(columns).iter_rows():
        count(1)
        thread = next(threads)
        yield _thread(_FLOWS, thread, name)
        arguments = dict(zip(columns[4:], facts, strict=True)) | {"complete": end is not None}
        yield _slice(_FLOWS, thread, name, start, ended if end is None else end) | {"args": arguments}


def _changes(counters: Iterable[Event]) -> Iterator[Event]:
    """The counters that differ from the one before of their name, and the last of each name."""
    shown: dict[tuple[int, str], float] = {}
    held: dict[tuple[int, str], Event] = {}
    for event in counters:
        counter, (value,) = (event["pid"], event["name"]), event["args"].values()
        if shown.get(counter) == value:
            held[counter] = event
        else:
            shown[counter] = value
            held.pop(counter, None)
            yield event
    yield from held.values()


def _waiting(queues: pl.DataFrame, count: Callable[[int], object]) -> Iterator[Event]:
    for time, queue, packets in queues.select("time_ns", "queue_name", "packets").iter_rows():
        count(1)
        yield _counter(_QUEUES, queue, "packets", time, packets)


def _windows(run: Run, numbers: Collection[int], count: Callable[[int], object]) -> Iterator[Event]:
    mine = run.window.filter(pl.col("flow").is_in(numbers))
    for time, name, *values in mine.select("time_ns", "flow_name", *_COUNTERS).iter_rows():
        count(1)
        for (label, unit), value in zip(_COUNTERS.values(), values, strict=True):
            if value is not None:
                yield _counter(_FLOWS, f"{name}: {label}", unit, time, value / 1000 if unit == "us" else value)


def _rates(run: Run, numbers: Collection[int]) -> Iterator[Event]:
    width = run.scenario.records.bin_width
    if width is None:
        return
    nanoseconds = int(width) / 1000
    bins = run.bins.filter(pl.col("scope").is_in(["arrived", "link"]))
    # An empty bin is left out: after the end of the one before nothing comes.
    ends: dict[tuple[int, str], float] = {}
    for scope, number, name, start, count in bins.select("scope", "id", "name", "start_ns", "bytes").iter_rows():
        if scope == "link" or number in numbers:
            process, label = (_LINKS, name) if scope == "link" else (_FLOWS, f"{name}: throughput")
            if start - ends.get((process, label), start) >= 1:
                yield _counter(process, label, "Gbit/s", ends[process, label], 0.0)
            yield _counter(process, label, "Gbit/s", start, count * 8 / nanoseconds)
            ends[process, label] = start + nanoseconds
    for (process, label), end in ends.items():
        yield _counter(process, label, "Gbit/s", end, 0.0)


def _ended(run: Run) -> int:
    return int(run.manifest["totals"]["ended_ns"])


def _by(table: pl.DataFrame, column: str) -> list[tuple[str, pl.DataFrame]]:
    return [(str(name), part) for (name,), part in table.group_by(column, maintain_order=True)]


def _thread(process: int, number: int, name: str) -> Event:
    return {"ph": "M", "pid": process, "tid": number, "name": "thread_name", "args": {"name": name}}


def _counter(process: int, name: str, unit: str, time_ns: float, value: float) -> Event:
    return {"ph": "C", "pid": process, "ts": time_ns / 1000, "name": name, "args": {unit: value}}


def _slice(process: int, thread: int, name: str, start_ns: int, end_ns: int) -> Event:
    return {
        "ph": "X", "pid": process, "tid": thread, "name": name, "ts": start_ns / 1000,
        "dur": (end_ns - start_ns) / 1000,
    }  # fmt: skip
