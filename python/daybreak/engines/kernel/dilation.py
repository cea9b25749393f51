"""Emulates hosts whose clocks run faster than the network's time by slowing down the network.

A real host's clock cannot run faster than the guest's time. So if all stacks have the same `timer_dilation` k, the
guest runs the network stretched k times (every time of the network multiplied by k, every rate divided by k, stacks
unchanged), and the times in its tables are divided by k again. The hosts see no difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from daybreak.errors import PlanError
from daybreak.plan import types
from daybreak.plan.applications import runs_programs
from daybreak.runs import EngineOutput

Columns = Mapping[str, np.ndarray[Any, Any]]

_HOSTS = ("stacks", "rules")
"""Fields in the hosts' time."""
_NONE = np.uint64(2**64 - 1)
"""Mark of a missing value in a column."""


def of(plan: types.Plan) -> int:
    """The factor by which the network has to be slower; PlanError if the stacks or a controller do not allow it."""
    dilations = sorted({stack.timer_dilation for stack in plan.stacks})
    dilation = dilations[-1] if dilations else 1
    if dilation == 1:
        return 1
    problem = None
    if len(dilations) > 1:
        problem = f"the kernel engine slows the network down for all hosts alike, and others have {dilations[0]}"
    elif plan.controllers:
        problem = f'the kernel engine cannot slow down the controller "{plan.controllers[0].name}"'
    elif runs_programs(plan):
        problem = "the kernel engine cannot slow the network down for programs"
    elif plan.records.capture_links:
        problem = "a capture on the kernel engine would have the hosts' times; leave records.capture out"
    if problem:
        raise PlanError(f"timer_dilation is {dilation}: {problem}")
    return dilation


def slowed(plan: types.Plan, dilation: int) -> types.Plan:
    """The plan with the network `dilation` times slower, and undilated clocks. PlanError for a rate that is not
    divisible."""
    content = msgspec.to_builtins(plan)
    stretched = {name: part if name in _HOSTS else _stretched(part, dilation, name) for name, part in content.items()}
    stretched["stacks"] = [stack | {"timer_dilation": 1} for stack in content["stacks"]]
    return msgspec.convert(stretched, types.Plan)


def in_network_time(recorded: EngineOutput, dilation: int) -> EngineOutput:
    """The guest's records, converted back to the time of the original network."""
    if dilation == 1:
        return recorded
    tables = {
        name: {column: _scaled(column, values, dilation) for column, values in columns.items()}
        for name, columns in recorded.tables.items()
    }
    totals = {name: value // dilation if name.endswith("_ns") else value for name, value in recorded.totals.items()}
    return EngineOutput(tables, totals, recorded.capture, recorded.keep, recorded.files, recorded.facts)


def _stretched(part: Any, dilation: int, name: str) -> Any:
    """A part of a plan; its fields' names say their units."""
    if isinstance(part, dict):
        if part.keys() == {"unit", "value"}:
            return part | {"value": _stretched(part["value"], dilation, f"_{part['unit']}")}
        return {key: _stretched(value, dilation, key) for key, value in part.items()}
    if isinstance(part, list):
        return [_stretched(value, dilation, name) for value in part]
    if part is None:
        return None
    if name.endswith("_ps"):
        return part * dilation
    if name.endswith("_bps"):
        if part % dilation:
            raise PlanError(f"timer_dilation is {dilation}: the rate {part} bit/s cannot be divided by it exactly")
        return part // dilation
    return part


def _scaled(column: str, values: np.ndarray[Any, Any], dilation: int) -> np.ndarray[Any, Any]:
    if column.endswith("_ns"):
        return np.where(values == _NONE, values, values // dilation)
    if column.endswith("_bps"):
        return np.where(values == _NONE, values, values * dilation)
    return values
