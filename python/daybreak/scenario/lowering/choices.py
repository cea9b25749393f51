"""Resolves entries of registries and their parameters, in the units of a plan."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_core import PydanticCustomError

from daybreak._native import Entry, Parameter
from daybreak.errors import ScenarioError, UnknownName
from daybreak.plan import types as plan

from ..choice import Choice, ParameterValue, Variant, expected
from ..quantities import FlowRate, QueueLimit, Size, Span
from .names import among, look_up


def resolve(choice: Choice, field: str) -> plan.Choice:
    """The choice with every parameter validated against the registry. Raises ScenarioError."""
    entry = entry_of(choice, field)
    given = dict(choice.parameters)
    values = {name: parameter_value(entry, name, value, f"{field}.{name}") for name, value in given.items()}
    for parameter in entry.parameters:
        if parameter.default is None and parameter.name not in given:
            raise ScenarioError(f"{field}.{parameter.name} is missing: expected {expected(parameter)}", field)
    return plan.Choice(name=entry.name, parameters=values)


def resolve_variant(choice: Variant, field: str, variants: Sequence[str] | None) -> plan.Choice:
    """The congestion control, one of `variants` if given: a kernel may have some that are not modelled, which have no
    parameters here. Raises ScenarioError.
    """
    if variants is None:
        return resolve(choice, field)
    look_up(choice.name, list(variants), field, choice.noun)
    if any(entry.name == choice.name for entry in choice.registry()):
        return resolve(choice, field)
    for name, _ in choice.parameters:
        raise UnknownName(f"{field}: {choice.name} has no such parameter; it has none", f"{field}.{name}")
    return plan.Choice(name=choice.name, parameters={})


def entry_of(choice: Choice, field: str) -> Entry:
    """The registry's entry of a choice. Raises UnknownName."""
    entries = choice.registry()
    return entries[look_up(choice.name, [entry.name for entry in entries], field, choice.noun)]


def parameter_value(entry: Entry, name: str, given: ParameterValue, field: str) -> plan.Value:
    """The value of a parameter. Raises ScenarioError if there is no such parameter, or the value does not fit."""
    parameter = next((one for one in entry.parameters if one.name == name), None)
    if parameter is None:
        known = [one.name for one in entry.parameters]
        end = among(name, known) if known else "; it has none"
        raise UnknownName(f"{field}: {entry.name} has no such parameter{end}", field)
    value = _read(parameter, given)
    if value is None or not _is_in_range(parameter, value):
        shown = f'"{given}"' if isinstance(given, str) else str(given).lower() if isinstance(given, bool) else given
        raise ScenarioError(f"{field} = {shown}: expected {expected(parameter)}", field)
    return value


def _read(parameter: Parameter, given: ParameterValue) -> plan.Value | None:
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    try:
        match parameter.kind:
            case "switch":
                return plan.Value(unit="switch", value=given) if isinstance(given, bool) else None
            case "number":
                return plan.Value(unit="number", value=float(given)) if is_number else None
            case "count":
                is_whole = is_number and isinstance(given, int)
                return plan.Value(unit="count", value=given) if is_whole and not isinstance(given, str) else None
            case "packets" | "length":
                limit = QueueLimit.parse(given)
                if parameter.kind == "packets" and not limit.in_packets:
                    return None
                return plan.Value(unit="packets" if limit.in_packets else "bytes", value=int(limit))
            case "bytes":
                return plan.Value(unit="bytes", value=int(Size.parse(given)))
            case "time":
                return plan.Value(unit="ps", value=int(Span.parse(given)))
            case "rate":
                return plan.Value(unit="bps", value=int(FlowRate.parse(given)))
            case other:
                raise ValueError(f'parameter {parameter.name} is of an unknown kind, "{other}"')
    except PydanticCustomError:
        return None


def _is_in_range(parameter: Parameter, value: plan.Value) -> bool:
    return parameter.range is None or parameter.range[0] <= value.value <= parameter.range[1]
