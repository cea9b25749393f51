"""Puts names beside the indices of the record tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from daybreak._native import drop_reasons
from daybreak.plan.types import Choice, Link, Plan, Queue, RouteSwitch

from .phases import phases

SCOPES = ("delivered", "tap", "link")
STATES = ("Open", "Disorder", "CWR", "Recovery", "Loss")

REASONS, _PLACES = zip(*drop_reasons(), strict=True)
"""Why packets are lost, and what the place of each is."""


def named(table: str, frame: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """The table with its names."""
    return TABLES[table](frame, plan) if table in TABLES else frame


def variant(rule: Choice) -> str:
    """A congestion control as tables name it: "cubic", or "cubic beta=0.8 hystart=false" with parameters."""

    def text(value: bool | float | int) -> str:
        return str(value).lower() if isinstance(value, bool) else f"{value:g}"

    return " ".join([rule.name, *(f"{name}={text(rule.parameters[name].value)}" for name in sorted(rule.parameters))])


def _flow_columns(frame: pl.DataFrame, plan: Plan, *keys: str) -> list[pl.Series]:
    return [_gather(_FLOW_COLUMNS[key](plan), frame["flow"], key) for key in keys]


def _flow_names(plan: Plan) -> list[str]:
    return [flow.name for flow in plan.flows]


def _flow_groups(plan: Plan) -> list[str]:
    return [plan.groups[flow.group] for flow in plan.flows]


def _flow_variants(plan: Plan) -> list[str]:
    rules = [variant(rule) for rule in plan.rules]
    return [rules[flow.rule] for flow in plan.flows]


_FLOW_COLUMNS: dict[str, Callable[[Plan], list[str]]] = {
    "flow_name": _flow_names,
    "group": _flow_groups,
    "variant": _flow_variants,
}


def _gather(values: Sequence[str], index: pl.Series, name: str) -> pl.Series:
    return pl.Series(name, values, dtype=pl.String).gather(index).alias(name)


def _flows(frame: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    nodes = [node.name for node in plan.nodes]
    names = _flow_columns(frame, plan, "flow_name", "group", "variant")
    ends = [
        pl.Series("src", [nodes[plan.flows[flow].src] for flow in frame["flow"]], dtype=pl.String),
        pl.Series("dst", [nodes[plan.flows[flow].dst] for flow in frame["flow"]], dtype=pl.String),
    ]
    return _with(frame, [*names, *ends], after="flow")


def _per_flow(frame: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    return _with(frame, _flow_columns(frame, plan, "flow_name", "group", "variant"), after="flow")


def _window(frame: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    state = _gather(STATES, frame["state"], "state")
    return _per_flow(frame.with_columns(state), plan)


def _bins(frame: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    flows, links = [flow.name for flow in plan.flows], [link.name for link in plan.links]
    number = frame["id"].cast(pl.Int64)
    of_link = frame["scope"] == SCOPES.index("link")
    index = number.zip_with(~of_link, number + len(flows))
    names = _gather([*flows, *links], index, "name")
    return _with(frame.with_columns(_gather(SCOPES, frame["scope"], "scope")), [names], after="id")


def _drops(frame: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    lists: dict[str, Sequence[Queue | Link | RouteSwitch]] = {
        "queue": plan.queues,
        "link": plan.links,
        "route_switch": plan.route_switches,
    }
    names: list[str] = []
    first: dict[str, int] = {}
    for kind, entries in lists.items():
        first[kind] = len(names)
        names += [entry.name for entry in entries]
    offset = pl.Series([first[kind] for kind in _PLACES], dtype=pl.Int64).gather(frame["reason"])
    place = _gather(names, frame["place"].cast(pl.Int64) + offset, "place_name")
    reason = _gather(REASONS, frame["reason"], "reason")
    with_flow = _with(frame, _flow_columns(frame, plan, "flow_name", "group"), after="flow")
    return _with(with_flow.with_columns(reason, frame["data"] == 1), [place], after="place")


def _queues(frame: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    return _with(frame, [_gather([queue.name for queue in plan.queues], frame["queue"], "queue_name")], after="queue")


def _links(frame: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    return _with(frame, [_gather([link.name for link in plan.links], frame["link"], "link_name")], after="link")


def _circuits(frame: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """With the phase that each step ends and the one that it begins; see `phases`."""
    of_step = [
        (timeline, step, before, phase)
        for timeline, program in enumerate(plan.timelines)
        for step, (before, phase) in enumerate(phases(program.steps))
    ]
    schema = {"timeline": frame.schema["timeline"], "step": frame.schema["step"]}
    table = pl.DataFrame(of_step, schema=schema | {"before": pl.String, "phase": pl.String}, orient="row")
    names = _gather([line.name for line in plan.timelines], frame["timeline"], "timeline_name")
    with_names = _with(frame, [names], after="timeline")
    return with_names.join(table, on=["timeline", "step"], how="left", maintain_order="left")


def _with(frame: pl.DataFrame, series: list[pl.Series], after: str) -> pl.DataFrame:
    position = frame.columns.index(after) + 1
    order = [*frame.columns[:position], *(column.name for column in series), *frame.columns[position:]]
    return frame.with_columns(series).select(order)


TABLES: dict[str, Callable[[pl.DataFrame, Plan], pl.DataFrame]] = {
    "flows": _flows,
    "bins": _bins,
    "window": _window,
    "queues": _queues,
    "drops": _drops,
    "circuits": _circuits,
    "links": _links,
    "queue_totals": _queues,
    "latency": _per_flow,
    "exchanges": _per_flow,
    "datagrams": _per_flow,
}
"""How each table gets its names."""
