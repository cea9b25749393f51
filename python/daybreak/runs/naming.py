"""Adds names beside the indices of the record tables, and replaces the engines' marks for "no value" by null.

An engine's columns are plain numbers, one of which marks a missing value: a flow that did not end, a threshold that
does not limit. Tables for users have null instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, cast

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa

from daybreak._native import control_events, drop_reasons, variants
from daybreak._native import tables as described
from daybreak.plan import ideal, ways
from daybreak.plan.applications import has_connections
from daybreak.plan.types import Choice, Flow, Link, Plan, Queue, RouteSwitch

from . import phases

_NUMBERS = {name: [column for column, _, _ in columns] for name, _, columns in described()}
"""The columns that engines fill, by table: integers, some of which become words here."""
_TEXTS = ("group", "variant", "src", "dst", "name", "before", "phase", "scope", "reason", "event", "state", "end")
"""Columns that become words, besides names."""

Columns = Mapping[str, np.ndarray[Any, Any]]
"""Columns by name."""
EVENTS = control_events()
"""Controllers' decisions."""
NO_FLOW = 2**32 - 1
"""Mark of a decision that concerns no flow."""
SCOPES = ("delivered", "tap", "link", "arrived")
ENDS = ("client", "server")
NO_VARIANT = "none"
"""In place of a congestion control, of flows that have none: datagrams."""
TCP = 6
"""Its number of IANA."""
STATES = ("Open", "Disorder", "CWR", "Recovery", "Loss")

NEVER_NS = 2**64 - 1
"""An engine's mark of a time that did not come before the end of the run."""
UNKNOWN = NO_STATUS = 2**32 - 1
"""Its mark of an unknown count or congestion control, and of the exit code or signal that a program does not have."""
_NO_VALUE = {
    # Earlier versions did not count the last four for programs' connections.
    "flows": {"bytes": 0, "end_ns": NEVER_NS, "fct_ns": NEVER_NS}
    | dict.fromkeys(("rtos", "tlps", "fast_recoveries", "spurious"), UNKNOWN),
    "programs": {"start_ns": NEVER_NS, "end_ns": NEVER_NS, "exit_code": NO_STATUS, "signal": NO_STATUS},
    "window": {"ssthresh": 2**32 - 1, "srtt_ns": 0, "pacing_bps": 0},
}
"""The mark of each column: an unlimited flow has no size, ssthresh may be unlimited, there is no RTT before the first
sample, a sender that does not pace has no rate."""

REASONS, _PLACES = zip(*drop_reasons(), strict=True)
"""Reasons for losses, and the kind of place where each happens."""


def named(table: str, columns: Columns, plan: Plan) -> pl.DataFrame:
    """The table of an engine's columns with names added, and null where there is no value."""
    frame = frame_of(columns, {name: ~given for name, given in _has_value(table, columns).items()})
    return TABLES[table](frame, plan) if table in TABLES else frame


def misfit(table: str, frame: pl.DataFrame) -> str | None:
    """Names the first column of a table read from a file that is missing or of another type; None if there is none."""
    numbers = _NUMBERS.get(table, [])
    for column in numbers:
        if column not in frame.columns:
            return f"it has no column {column} (it may be of another version of Daybreak)"
    for column, kind in frame.schema.items():
        if column in _TEXTS or column.endswith("_name"):
            expected, fits = "text", kind == pl.String
        elif column == "data":
            expected, fits = "true or false", kind == pl.Boolean or kind.is_integer()
        elif column in numbers or column.endswith("_ns"):
            expected, fits = "whole numbers", kind.is_integer()
        else:
            continue
        if not fits:
            return f"column {column} has values of type {kind}: expected {expected}"
    return None


def with_nulls(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """A table read from a file, with the engines' marks replaced by null; one that has nulls already is unchanged."""
    has_value = _has_value(table, frame)
    found = frame.with_columns(
        frame[name].zip_with(given, pl.Series([None], dtype=frame[name].dtype)) for name, given in has_value.items()
    )
    if table == "flows" and "ideal_fct_ns" not in found.columns:
        # Earlier versions did not write it.
        unknown = pl.Series("ideal_fct_ns", [None], dtype=pl.UInt64).new_from_index(0, found.height)
        found = _with(found, [unknown], after="fct_ns")
    return found


def _has_value(table: str, columns: Any) -> dict[str, Any]:
    """For each column whether each row has a value; takes numpy columns or polars series."""
    has_value = {name: _differs(columns[name], mark) for name, mark in _NO_VALUE.get(table, {}).items()}
    if table == "drops":
        # A packet without payload has no first byte.
        data = columns["data"]
        has_value["seq"] = data.cast(pl.Boolean) if isinstance(data, pl.Series) else data.astype(bool)
    return has_value


def _differs(values: Any, mark: int) -> Any:
    # In a file numbers may be of a type to which the mark is too large.
    return (values.cast(pl.Int128) if isinstance(values, pl.Series) else values) != mark


def frame_of(columns: Mapping[str, Any], missing: Mapping[str, Any] = MappingProxyType({})) -> pl.DataFrame:
    """A frame over the columns' own memory, copied only where values are `missing`.

    Converting all columns at once costs a small run half as much as one by one.
    """
    arrays = [pa.array(values, mask=missing.get(name)) for name, values in columns.items()]
    return pl.DataFrame(pa.RecordBatch.from_arrays(arrays, names=list(columns)))


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
    rules = [*map(variant, plan.rules), NO_VARIANT]
    return [rules[flow.rule] if has_connections(flow.application) else NO_VARIANT for flow in plan.flows]


_FLOW_COLUMNS: dict[str, Callable[[Plan], list[str]]] = {
    "flow_name": _flow_names,
    "group": _flow_groups,
    "variant": _flow_variants,
}


def _gather(values: Sequence[str], index: pl.Series, name: str) -> pl.Series:
    # Indexing costs a small run much less than an expression, which polars hands to its threads.
    return pl.Series(name, values, dtype=pl.String)[index]


def _flows(frame: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    nodes = [node.name for node in plan.nodes]
    of_flow = {key: values(plan) for key, values in _FLOW_COLUMNS.items()}
    of_flow |= {"src": [nodes[flow.src] for flow in plan.flows], "dst": [nodes[flow.dst] for flow in plan.flows]}
    rows = frame["flow"].to_list()
    names = {key: pa.array([values[flow] for flow in rows], pa.string()) for key, values in of_flow.items()}
    ideals = ideal.fct_ns(plan)[rows] if rows else np.empty(0, dtype=np.uint64)
    best = frame_of({"ideal_fct_ns": ideals}, {"ideal_fct_ns": ideals == ideal.NONE})
    return _with(_with(frame, frame_of(names).get_columns(), after="flow"), best.get_columns(), after="fct_ns")


def _per_flow(frame: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    return _with(frame, _flow_columns(frame, plan, "flow_name", "group", "variant"), after="flow")


def _window(frame: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    # The simulator samples a sender when it is next called, so the rows of several come flow by flow.
    frame = frame.sort("time_ns", "flow", maintain_order=True)
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


def _packets(frame: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Adds the arrival time of the last bit at the link's end, without jitter; null on links whose rate or delay may
    change."""
    changing = ways.changing_links(plan)
    links = pl.DataFrame(
        {
            "link": pl.Series(range(len(plan.links)), dtype=frame.schema["link"]),
            "framing": [link.framing_bytes for link in plan.links],
            "rate_bps": [link.rate_bps for link in plan.links],
            "delay_ps": [None if index in changing else link.delay_ps for index, link in enumerate(plan.links)],
        }
    )
    on_links = frame.select("link", "bytes").join(links, on="link", how="left", maintain_order="left")
    travel_ns = on_links.select(
        (pl.col("bytes") + pl.col("framing")) * 8e9 / pl.col("rate_bps") + pl.col("delay_ps") / 1e3
    ).to_series()
    arrival = (frame["time_ns"].cast(pl.Float64) + travel_ns).round().cast(pl.Int64).alias("arrival_ns")
    named = _links(_per_flow(frame, plan), plan).with_columns(pl.col("data") == 1)
    return _with(named, [arrival], after="time_ns")


def _circuits(frame: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Adds the phase that each step ends and the one that it begins; see `phases`."""
    names = _gather([line.name for line in plan.timelines], frame["timeline"], "timeline_name")
    taken = _with(frame, [names], after="timeline")
    together = phases.sharing(plan)
    of_step = [
        (timeline, step, is_first, *change)
        for timeline in range(len(plan.timelines))
        if timeline not in together
        for is_first, changes in zip((True, False), phases.periods(plan, timeline), strict=True)
        for step, change in enumerate(changes)
    ]
    schema = {"timeline": pl.UInt32, "step": pl.UInt32, "first": pl.Boolean, "before": pl.String, "phase": pl.String}
    table = pl.DataFrame(of_step, schema=schema, orient="row")
    is_first = (pl.int_range(pl.len()).over("timeline", "step") == 0).alias("first")
    found = taken.with_columns(is_first).join(
        table, on=["timeline", "step", "first"], how="left", maintain_order="left"
    )
    if together:
        shared = frame["timeline"].is_in(list(together))
        changes = iter(phases.walked(plan, frame.filter(shared).select("timeline", "step").iter_rows()))
        both = [next(changes) if is_shared else (None, None) for is_shared in shared]
        walked = pl.DataFrame(both, schema={"before": pl.String, "phase": pl.String}, orient="row")
        found = found.with_columns(found[name].fill_null(walked[name]) for name in walked.columns)
    return found.drop("first")


def _control(frame: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Adds the phase of the circuit or flow that begins with each decision; null where none does."""
    names = _gather([controller.name for controller in plan.controllers], frame["controller"], "controller_name")
    event = _gather(EVENTS, frame["event"], "event")
    flow = frame["flow"].replace(NO_FLOW, None)
    phase = pl.Series(
        "phase",
        [
            phases.controlled_phase(plan.controllers[controller].controls, event, path)
            for controller, event, path in zip(frame["controller"], event, frame["path"], strict=True)
        ],
        dtype=pl.String,
    )
    with_flow = _with(frame.with_columns(event, flow), [_gather(_flow_names(plan), flow, "flow_name")], after="flow")
    return _with(with_flow, [names], after="controller").with_columns(phase)


def _connections(frame: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    named = _with(frame, _flow_columns(frame, plan, "flow_name", "group"), after="flow")
    # That of its hosts, where no socket of it was seen.
    return named.with_columns(_flow_columns(frame, plan, "variant"))


def _programs(frame: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    end = _gather(ENDS, frame["end"], "end")
    return _with(frame.with_columns(end), _flow_columns(frame, plan, "flow_name"), after="flow")


def with_found(plan: Plan, found: Mapping[str, Iterable[Any]] | None) -> Plan:
    """The plan with the flows in a run's table of connections: "NAME-0", "NAME-1" ... are the connections of flow NAME.

    The table is the engine's, or has the names of variants, as in a run's folder. Behind the plan's rules are all that
    are modelled, any of which a program may have chosen; that of a flow without congestion control is behind these.
    """
    if found is None:
        return plan
    taken = {flow.name for flow in plan.flows}
    flows, counts = list(plan.flows), dict[int, int]()
    rules = [*plan.rules, *(Choice(name=entry.name, parameters={}) for entry in variants())]
    numbers = {variant(rule): number for number, rule in reversed([*enumerate(rules)])}
    columns = (found[name] for name in ("of_flow", "is_reversed", "protocol", "variant"))
    for of_flow, is_reversed, protocol, chosen in zip(*columns, strict=True):
        of = plan.flows[of_flow]
        while (name := f"{of.name}-{counts.setdefault(of_flow, 0)}") in taken:
            counts[of_flow] += 1
        counts[of_flow] += 1
        number = numbers.get(chosen, UNKNOWN) if isinstance(chosen, str) else int(chosen)
        is_usual = number == UNKNOWN or rules[number].name == rules[of.rule].name
        rule = len(rules) if protocol != TCP else of.rule if is_usual else number
        flows.append(msgspec.structs.replace(_turned(of) if is_reversed else of, name=name, rule=rule))
    return msgspec.structs.replace(plan, flows=flows, rules=rules)


def _turned(flow: Flow) -> Flow:
    """The flow from its receiver to its sender."""
    return msgspec.structs.replace(
        flow, src=flow.dst, dst=flow.src, src_stack=flow.dst_stack, dst_stack=flow.src_stack,
        data_path=flow.ack_path, ack_path=flow.data_path,
    )  # fmt: skip


def _with(frame: pl.DataFrame, series: list[pl.Series], after: str) -> pl.DataFrame:
    position = frame.columns.index(after) + 1
    columns = frame.get_columns()
    return pl.DataFrame([*columns[:position], *series, *columns[position:]])


TABLES: dict[str, Callable[[pl.DataFrame, Plan], pl.DataFrame]] = {
    "flows": _flows,
    "bins": _bins,
    "window": _window,
    "queues": _queues,
    "drops": _drops,
    "losses": _drops,
    "circuits": _circuits,
    "control": _control,
    "links": _links,
    "queue_totals": _queues,
    "latency": _per_flow,
    "exchanges": _per_flow,
    "datagrams": _per_flow,
    "connections": _connections,
    "programs": _programs,
    "packets": _packets,
}
"""The function that adds names to each table."""


@cache
def schema() -> Mapping[str, tuple[str, ...]]:
    """The columns of each table of a run, including its names."""
    return {table: tuple(frame.columns) for table, frame in empty().items()}


def empty() -> dict[str, pl.DataFrame]:
    """Every table, without rows."""
    nothing = Plan(**dict.fromkeys(Plan.__struct_fields__, cast(Any, ())))
    return {
        table: named(table, {column[0]: np.empty(0, _TYPES[column[1]]) for column in columns}, nothing)
        for table, _, columns in described()
    }


_TYPES = {"u8": np.uint8, "u32": np.uint32, "u64": np.uint64}
