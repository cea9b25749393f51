"""References to entries of a registry: "cubic", or {name = "cubic", beta = 0.8} with parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import core_schema

from daybreak._native import Entry, Parameter, circuit_policies, flow_policies, queues, variants
from daybreak.errors import shown

from .quantities import FlowRate, QueueLimit, Size, Span, reject

ParameterValue = bool | int | float | str


@dataclass(frozen=True)
class Choice:
    """A name and its parameters, as the user wrote them."""

    name: str
    parameters: tuple[tuple[str, ParameterValue], ...] = ()

    noun: ClassVar[str]

    @classmethod
    def registry(cls) -> list[Entry]:
        """The entries to choose from."""
        raise NotImplementedError

    @classmethod
    def parse(cls, value: Any) -> Self:
        """Reads a name or a table; names are looked up when the plan is made."""
        if isinstance(value, cls):
            return value
        example = cls.registry()[0].name
        expected = f'expected a {cls.noun}: a name such as "{example}", or a table with a name and parameters'
        if isinstance(value, str):
            return cls(value)
        if not isinstance(value, dict) or not isinstance(value.get("name"), str):
            raise reject(expected)
        parameters = {key: given for key, given in value.items() if key != "name"}
        for key, given in parameters.items():
            if not isinstance(given, bool | int | float | str):
                raise reject(f"has {key} = {shown(given)}: expected a number, a quantity, true or false")
        return cls(value["name"], tuple(parameters.items()))

    def plain(self) -> str | dict[str, ParameterValue]:
        """The value as in a scenario file."""
        return {"name": self.name, **dict(self.parameters)} if self.parameters else self.name

    def __str__(self) -> str:
        return " ".join([self.name, *(f"{name}={value}" for name, value in self.parameters)])

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        # With a name of its own, it appears in the JSON Schema only once.
        return core_schema.no_info_plain_validator_function(
            cls.parse,
            ref=cls.__name__,
            serialization=core_schema.plain_serializer_function_ser_schema(lambda choice: choice.plain()),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        entries = cls.registry()
        tables = [
            {
                "type": "object",
                "properties": {"name": {"const": entry.name}}
                | {parameter.name: _parameter_schema(parameter, handler) for parameter in entry.parameters},
                "required": ["name", *(parameter.name for parameter in entry.parameters if parameter.default is None)],
                "additionalProperties": False,
            }
            for entry in entries
        ]
        plain = [entry.name for entry in entries if all(parameter.default for parameter in entry.parameters)]
        by_name = [{"enum": plain}] if plain else []
        return {"anyOf": [*by_name, *tables], "description": f"A {cls.noun}, by name or with parameters."}


class Variant(Choice):
    """A congestion control, of those in `daybreak list variants`."""

    noun = "variant"

    @classmethod
    def registry(cls) -> list[Entry]:
        return variants()


class Discipline(Choice):
    """A queue discipline, of those in `daybreak list queues`."""

    noun = "queue discipline"

    @classmethod
    def registry(cls) -> list[Entry]:
        return queues()


class CircuitPolicy(Choice):
    """A policy for controllers of a circuit, of those in `daybreak list schedules`."""

    noun = "policy for a circuit"

    @classmethod
    def registry(cls) -> list[Entry]:
        return circuit_policies()


class FlowPolicy(Choice):
    """A policy for controllers of flows, of those in `daybreak list schedules`."""

    noun = "policy for flows"

    @classmethod
    def registry(cls) -> list[Entry]:
        return flow_policies()


def default_text(parameter: Parameter) -> str:
    """The default of a parameter in the notation of a scenario; "must be given" if there is none."""
    if parameter.default is None:
        return "must be given"
    return _text(*parameter.default)


def range_text(parameter: Parameter) -> str:
    """The range of a parameter in the units of a scenario."""
    if parameter.range is None:
        return "true or false"
    unit = {"time": "ps", "rate": "bps"}.get(parameter.kind, parameter.kind)
    low, high = (_text(unit, end) for end in parameter.range)
    return f"packets or bytes, {low} to {high}" if parameter.kind == "length" else f"{low} to {high}"


def expected(parameter: Parameter) -> str:
    """The permitted values of a parameter, as the end of a sentence."""
    match parameter.kind:
        case "switch":
            return "true or false"
        case "packets":
            return f'{range_text(parameter)}, such as "10 packets"'
        case "length":
            return f'{range_text(parameter)}, such as "10 packets" or "15 kB"'
        case "bytes":
            return f"a size from {range_text(parameter)}"
        case "time":
            return f"a time from {range_text(parameter)}"
        case "rate":
            return f"a rate from {range_text(parameter)}"
        case "count":
            return f"a whole number from {range_text(parameter)}"
        case _:
            return f"a number from {range_text(parameter)}"


def _text(unit: str, value: bool | int | float) -> str:
    match unit:
        case "switch":
            return str(value).lower()
        case "packets":
            return f"{value} packets"
        case "bytes":
            return str(Size(value))
        case "ps":
            return str(Span(value))
        case "bps":
            return str(FlowRate(value))
        case "number":
            return f"{value:g}"
        case _:
            return str(value)


def _parameter_schema(parameter: Parameter, handler: GetJsonSchemaHandler) -> dict[str, Any]:
    low, high = parameter.range or (None, None)
    match parameter.kind:
        case "switch":
            plain: dict[str, Any] = {"type": "boolean"}
        case "number":
            plain = {"type": "number", "minimum": low, "maximum": high}
        case "count":
            plain = {"type": "integer", "minimum": low, "maximum": high}
        case "packets" | "length":
            plain = QueueLimit.__get_pydantic_json_schema__(None, handler)
        case "bytes":
            plain = Size.__get_pydantic_json_schema__(None, handler)
        case "rate":
            plain = FlowRate.__get_pydantic_json_schema__(None, handler)
        case "time":
            plain = Span.__get_pydantic_json_schema__(None, handler)
        case other:
            raise ValueError(f'parameter {parameter.name} is of an unknown kind, "{other}"')
    return plain | {"description": f"{parameter.summary[0].upper()}{parameter.summary[1:]}."}
