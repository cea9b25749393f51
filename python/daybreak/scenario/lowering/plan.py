"""Puts a plan together; its format is that of `crates/engine/src/plan.rs`."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from daybreak.errors import ScenarioError

from ..quantities import Span
from ..scenario import Scenario
from ..stack import Stack
from .fabric import Fabric
from .flows import PlannedFlow, planned_flows
from .names import look_up
from .paths import Router
from .timelines import Moves, circuits

PLAN_VERSION = 1


@dataclass(frozen=True)
class Plan:
    """A scenario in its resolved machine form, as engines take it."""

    document: dict[str, Any]

    @cached_property
    def json(self) -> str:
        """The text that an engine reads."""
        return json.dumps(self.document, separators=(",", ":"))

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the text: runs of equal plans on one engine have equal records."""
        return hashlib.sha256(self.json.encode()).hexdigest()


def lower(scenario: Scenario, seed: int) -> Plan:
    """The plan of `scenario` with this `seed` (0 to 2^64 - 1). Raises ScenarioError."""
    if not 0 <= seed < 2**64:
        raise ScenarioError(f"seed = {seed}: expected a number from 0 to 2^64 - 1", "seed")
    try:
        return Plan(_document(scenario, seed))
    except ScenarioError as error:
        raise type(error)(f'scenario "{scenario.name}": {error}', error.field) from None


def _document(scenario: Scenario, seed: int) -> dict[str, Any]:
    fabric = Fabric.of(scenario)
    router = Router(fabric, scenario.routing, seed)
    flows = planned_flows(scenario, seed)
    stacks = {"stack": scenario.stack} | scenario.stacks
    if "stack" in scenario.stacks:
        raise ScenarioError('stacks.stack: expected another name, "stack" is the scenario\'s own', "stacks.stack")
    moves = Moves(scenario, fabric, router, flows)
    flow_documents = [_flow(flow, fabric, router, moves, list(stacks)) for flow in flows]
    limited = any(flow.bytes for flow in flows)
    return {
        "version": PLAN_VERSION,
        "seed": seed,
        "end_ps": int(scenario.duration),
        "stop_when_flows_complete": limited and scenario.stop == "flows_complete",
        "nodes": [{"name": node.name, "kind": node.kind} for node in fabric.nodes],
        "links": fabric.link_documents(),
        "queues": fabric.queue_documents(),
        "branches": moves.branches,
        "timelines": moves.timelines() + circuits(scenario, fabric),
        "stacks": [_stack(name, stack) for name, stack in stacks.items()],
        "flows": flow_documents,
        "records": _records(scenario, fabric),
    }


def _flow(flow: PlannedFlow, fabric: Fabric, router: Router, moves: Moves, stacks: list[str]) -> dict[str, Any]:
    source = fabric.host(flow.source, f"{flow.field}.from")
    destination = fabric.host(flow.destination, f"{flow.field}.to")
    if source == destination:
        raise ScenarioError(f'{flow.field}.to = "{flow.destination}": expected another host than the sender')
    src_stack = look_up(flow.stack or "stack", stacks, f"{flow.field}.stack", "stack")
    dst_stack = look_up(flow.receiver_stack or stacks[src_stack], stacks, f"{flow.field}.receiver_stack", "stack")
    return {
        "name": flow.name,
        "group": flow.group,
        "src": source,
        "dst": destination,
        "variant": flow.variant,
        "src_stack": src_stack,
        "dst_stack": dst_stack,
        "bytes": flow.bytes,
        "start_ps": flow.start_ps,
        "data_path": moves.data_path(flow, source, destination),
        "ack_path": moves.ack_path(flow, source, destination),
    }


def _stack(name: str, stack: Stack) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        return list(value) if isinstance(value, tuple) else int(value) if type(value) is not bool else value

    spans = {"rto_min": "rto_min_ps", "delayed_ack_min": "delayed_ack_min_ps", "delayed_ack_max": "delayed_ack_max_ps"}
    renamed = spans | {"max_pacing_rate": "max_pacing_rate_bps"}
    document: dict[str, Any] = {"name": name}
    for field in Stack.model_fields:
        value = getattr(stack, field)
        document[renamed.get(field, field)] = None if value is None or value == "off" else plain(value)
    return document


def _records(scenario: Scenario, fabric: Fabric) -> dict[str, Any]:
    records = scenario.records

    def links(names: tuple[str, ...], field: str) -> list[int]:
        return [fabric.link(name, f"records.{field}[{i}]").index for i, name in enumerate(names)]

    if records.sampled_queues:
        queues = [fabric.queue(name, f"records.sampled_queues[{i}]") for i, name in enumerate(records.sampled_queues)]
    else:
        queues = fabric.switch_queues() if records.queues is not None else []
    return {
        "bin_ps": _ps(records.bins),
        "tap_links": links(records.taps, "taps"),
        "bin_links": links(records.links, "links"),
        "bin_delivered": records.delivered and records.bins is not None,
        "window_ps": 0 if records.window == "every ack" else _ps(records.window),
        "queue_ps": _ps(records.queues),
        "queues": queues,
        "drops": records.drops,
        "circuits": records.circuits,
        "latency": records.latency,
        "capture_links": links(records.capture, "capture"),
        "capture_snaplen": records.snaplen,
    }


def _ps(span: Span | None) -> int | None:
    return None if span is None else int(span)
