"""A run as qlog (draft-ietf-quic-qlog-main-schema, version 0.3, JSON): one trace per flow, from its sender's view.

qlog is made for QUIC; the events that TCP shares with it are `connectivity:connection_state_updated` where a flow
starts and ends, `recovery:metrics_updated` from the samples of the window, `recovery:congestion_state_updated` where
the state changes, and `recovery:packet_lost` for each packet that the network lost. Each trace has an event, since qvis
opens no file in which one has none. A packet's number is the first byte of its payload. Windows are in bytes of
payload. Why and where the network lost a packet is none of the triggers that qlog has, so that it is a field of its own
beside the event's data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from heapq import merge
from typing import Any

import polars as pl

from daybreak.runs import Run

Trace = dict[str, Any]


def traces(
    run: Run,
    flows: pl.DataFrame,
    payload_bytes: Mapping[int, int],
    count: Callable[[int], object],
) -> Iterator[Trace]:
    """One trace for each of the ``flows``; ``payload_bytes`` maps each to the payload of a full packet. ``count`` is
    told after each trace of how many rows it is made."""
    numbers = flows["flow"].to_list()
    samples = _by_flow(run.window.filter(pl.col("flow").is_in(numbers)))
    lost = _by_flow(run.drops.filter(pl.col("flow").is_in(numbers) & pl.col("data")))
    columns = ("flow", "flow_name", "src", "dst", "variant", "start_ns", "end_ns")
    for flow, name, src, dst, variant, start, end in flows.select(columns).iter_rows():
        mine = samples.get(flow, run.window.clear()), lost.get(flow, run.drops.clear())
        parts = [_opened(start), _samples(mine[0], payload_bytes[flow]), _losses(mine[1]), _closed(end)]
        yield {
            "title": name, "description": f"{src} to {dst}, {variant}",
            "vantage_point": {"name": src, "type": "server"},
            "common_fields": {
                "group_id": name, "time_format": "relative", "reference_time": 0, "protocol_type": ["TCP"],
            },
            "events": list(merge(*parts, key=lambda event: event["time"])),
        }  # fmt: skip
        count(1 + sum(table.height for table in mine))


def _opened(time: int) -> Iterator[dict[str, Any]]:
    yield _event(time, "connectivity:connection_state_updated", {"new": "attempted"})


def _closed(time: int | None) -> Iterator[dict[str, Any]]:
    if time is not None:
        yield _event(time, "connectivity:connection_state_updated", {"new": "closed"})


def _samples(window: pl.DataFrame, payload: int) -> Iterator[dict[str, Any]]:
    state: str | None = None
    columns = ("time_ns", "state", "cwnd", "ssthresh", "bytes_in_flight", "srtt_ns", "pacing_bps")
    for time, now, cwnd, ssthresh, flying, srtt, pacing in window.select(columns).iter_rows():
        if now != state:
            change = {"new": now} if state is None else {"old": state, "new": now}
            yield _event(time, "recovery:congestion_state_updated", change)
            state = now
        data = {
            "congestion_window": cwnd * payload, "bytes_in_flight": flying,
            "ssthresh": None if ssthresh is None else ssthresh * payload,
            "smoothed_rtt": None if srtt is None else srtt / 1e6, "pacing_rate": pacing,
        }  # fmt: skip
        yield _event(time, "recovery:metrics_updated", {key: value for key, value in data.items() if value is not None})


def _losses(drops: pl.DataFrame) -> Iterator[dict[str, Any]]:
    for time, reason, place, seq in drops.select("time_ns", "reason", "place_name", "seq").iter_rows():
        data = {"header": {"packet_type": "unknown", "packet_number": seq}}
        yield _event(time, "recovery:packet_lost", data) | {"network_loss": f"{reason} at {place}"}


def _event(time_ns: int, name: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"time": time_ns / 1e6, "name": name, "data": data}


def _by_flow(table: pl.DataFrame) -> dict[int, pl.DataFrame]:
    return {flow: part.sort("time_ns") for (flow,), part in table.group_by("flow", maintain_order=True)}
