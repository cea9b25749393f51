"""Puts names beside the indices of the record tables, and null where there is no value.

An engine's columns are plain numbers, which say with one of them that there is nothing to say: a flow that did not end,
a threshold that does not limit. No table that people see has such numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from .phases import phases

SCOPES = ("delivered", "tap", "link")
REASONS = ("queue_full", "night", "random_loss", "gate_closed", "hold_full")
STATES = ("Open", "Disorder", "CWR", "Recovery", "Loss")

# Which list of the plan the `place` of a drop is an index of, by reason.
_PLACES = ("queues", "branches", "links", "queues", "branches")

NEVER_NS = 2**64 - 1
"""An engine's mark of what has not happened by the end of the run."""
_NO_VALUE = {
    "flows": {"bytes": 0, "end_ns": NEVER_NS, "fct_ns": NEVER_NS},
    "window": {"ssthresh": 2**32 - 1, "srtt_ns": 0, "pacing_bps": 0},
}
"""What each column has where there is no value: an unlimited flow has no size, ssthresh may be unlimited, before the
first sample there is no RTT, a sender that does not pace has no rate."""

PlanDocument = dict[str, Any]


def named(table: str, frame: pl.DataFrame, plan: PlanDocument) -> pl.DataFrame:
    """The table with its names, and null where there is no value."""
    return TABLES[table](with_nulls(table, frame), plan) if table in TABLES else frame


def with_nulls(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The table with null where an engine has its mark; one that has nulls already stays as it is."""
    columns = [
        pl.when(pl.col(column) != pl.lit(mark, dtype=frame.schema[column])).then(pl.col(column)).alias(column)
        for column, mark in _NO_VALUE.get(table, {}).items()
    ]
    if table == "drops":
        # What carries no payload has no first byte of it.
        columns.append(pl.when(pl.col("data").cast(pl.Boolean)).then(pl.col("seq")).alias("seq"))
    return frame.with_columns(columns)


def _flow_columns(frame: pl.DataFrame, plan: PlanDocument, *keys: str) -> list[pl.Series]:
    flows = plan["flows"]
    return [
        _gather([flow[key] for flow in flows], frame["flow"], "flow_name" if key == "name" else key) for key in keys
    ]


def _gather(values: Sequence[str], index: pl.Series, name: str) -> pl.Series:
    return pl.Series(name, values, dtype=pl.String).gather(index).alias(name)


def _flows(frame: pl.DataFrame, plan: PlanDocument) -> pl.DataFrame:
    nodes = [node["name"] for node in plan["nodes"]]
    names = _flow_columns(frame, plan, "name", "group", "variant")
    ends = [
        pl.Series(end, [nodes[plan["flows"][flow][end]] for flow in frame["flow"]], dtype=pl.String)
        for end in ("src", "dst")
    ]
    return _with(frame, [*names, *ends], after="flow")


def _per_flow(frame: pl.DataFrame, plan: PlanDocument) -> pl.DataFrame:
    return _with(frame, _flow_columns(frame, plan, "name", "group", "variant"), after="flow")


def _window(frame: pl.DataFrame, plan: PlanDocument) -> pl.DataFrame:
    state = _gather(STATES, frame["state"], "state")
    return _per_flow(frame.with_columns(state), plan)


def _bins(frame: pl.DataFrame, plan: PlanDocument) -> pl.DataFrame:
    flows, links = ([entry["name"] for entry in plan[kind]] for kind in ("flows", "links"))
    number = frame["id"].cast(pl.Int64)
    of_link = frame["scope"] == SCOPES.index("link")
    index = number.zip_with(~of_link, number + len(flows))
    names = _gather([*flows, *links], index, "name")
    return _with(frame.with_columns(_gather(SCOPES, frame["scope"], "scope")), [names], after="id")


def _drops(frame: pl.DataFrame, plan: PlanDocument) -> pl.DataFrame:
    names: list[str] = []
    first: dict[str, int] = {}
    for kind in ("queues", "branches", "links"):
        first[kind] = len(names)
        names += [entry["name"] for entry in plan[kind]]
    offset = pl.Series([first[kind] for kind in _PLACES], dtype=pl.Int64).gather(frame["reason"])
    place = _gather(names, frame["place"].cast(pl.Int64) + offset, "place_name")
    reason = _gather(REASONS, frame["reason"], "reason")
    with_flow = _with(frame, _flow_columns(frame, plan, "name", "group"), after="flow")
    return _with(with_flow.with_columns(reason, frame["data"] == 1), [place], after="place")


def _listed(kind: str, column: str) -> Callable[[pl.DataFrame, PlanDocument], pl.DataFrame]:
    def name(frame: pl.DataFrame, plan: PlanDocument) -> pl.DataFrame:
        names = [entry["name"] for entry in plan[kind]]
        return _with(frame, [_gather(names, frame[column], f"{column}_name")], after=column)

    return name


def _circuits(frame: pl.DataFrame, plan: PlanDocument) -> pl.DataFrame:
    """With the phase that each step ends and the one that it begins; see `phases`."""
    of_step = [
        (timeline, step, before, phase)
        for timeline, program in enumerate(plan["timelines"])
        for step, (before, phase) in enumerate(phases(program["steps"]))
    ]
    schema = {"timeline": frame.schema["timeline"], "step": frame.schema["step"]}
    table = pl.DataFrame(of_step, schema=schema | {"before": pl.String, "phase": pl.String}, orient="row")
    with_names = _listed("timelines", "timeline")(frame, plan)
    return with_names.join(table, on=["timeline", "step"], how="left", maintain_order="left")


def _with(frame: pl.DataFrame, series: list[pl.Series], after: str) -> pl.DataFrame:
    position = frame.columns.index(after) + 1
    order = [*frame.columns[:position], *(column.name for column in series), *frame.columns[position:]]
    return frame.with_columns(series).select(order)


TABLES: dict[str, Callable[[pl.DataFrame, PlanDocument], pl.DataFrame]] = {
    "flows": _flows,
    "bins": _bins,
    "window": _window,
    "queues": _listed("queues", "queue"),
    "drops": _drops,
    "circuits": _circuits,
    "links": _listed("links", "link"),
    "latency": _per_flow,
}
"""How each table gets its names."""
