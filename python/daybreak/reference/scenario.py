"""The page of scenario files, generated from their models: every key with its type, unit, default and an example.

Sections follow the keys of a file from the top; each model has one where it is first used.
"""

from __future__ import annotations

import json
import tomllib
import types
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from daybreak.scenario import Scenario, docstrings
from daybreak.scenario.choice import Choice, CircuitPolicy, Discipline, FlowPolicy, Variant, default_text, range_text
from daybreak.scenario.quantities import ETHERNET_FRAMING, Framing, Load, Loss, Quantity


@dataclass(frozen=True)
class Key:
    """One key of a table of a scenario file. ``default`` is empty if the key is required."""

    name: str
    type: str
    unit: str
    default: str
    example: str
    meaning: str


@dataclass(frozen=True)
class Section:
    """A model: its place in a file, its description, and its keys."""

    model: type[BaseModel]
    places: tuple[str, ...]
    meaning: str
    keys: tuple[Key, ...]


def page() -> str:
    """The page as Markdown."""
    return "\n".join([_HEAD, *map(_written, sections()), *map(_registry, REGISTRIES), text("nights.md")])


def sections() -> list[Section]:
    """All models, in the order of their first use in a scenario file."""
    places: dict[type[BaseModel], list[tuple[str, bool]]] = {Scenario: [("", False)]}
    waiting: list[type[BaseModel]] = [Scenario]
    for model in waiting:
        above = places[model][0][0]
        for name, field in model.model_fields.items():
            place = ".".join(part for part in (above, _key(name, field)) if part)
            for inner, is_list in _models(field.annotation):
                if inner not in places:
                    waiting.append(inner)
                places.setdefault(inner, []).append((place, is_list))
    return [_section(model, where) for model, where in places.items()]


def text(name: str) -> str:
    """A file of this package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


_HEAD = """# Scenario files

A scenario is a TOML file, or the same in Python: `Scenario.parse({...})`. Keys that are not here are errors. A time,
rate or size is text with its unit, such as "40 us", "10 Gbit/s", "3 MB"; prefixes are powers of 1000, with an i (KiB,
MiB, GiB) powers of 1024. `scenarios/` has ready files; `daybreak validate FILE` says what is wrong with one, and
`daybreak schema` prints the JSON Schema for editors.
"""


def _written(section: Section) -> str:
    lines = [f"## {section.model.__name__}", ""]
    if section.places:
        lines += [", ".join(f"`{place}`" for place in section.places) + ":", ""]
    lines += [section.meaning, ""]
    if section.keys:
        lines += ["| key | type | unit | default | example | meaning |", "|---|---|---|---|---|---|"]
    for key in section.keys:
        default = f"`{key.default}`" if key.default else "must be given"
        cells = [f"`{key.name}`", key.type, key.unit, default, f"`{key.example}`" if key.example else "", key.meaning]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*lines, ""])


def _registry(choice: type[Choice]) -> str:
    """The entries of a registry, with their parameters."""
    lines = [
        f"## {REGISTRIES[choice]}",
        "",
        f"A {choice.noun} is a name, or a table with the name and parameters:",
        "",
    ]
    lines += ["| name | parameter | default | range | meaning |", "|---|---|---|---|---|"]
    for entry in choice.registry():
        lines.append(f"| `{entry.name}` | | | | {entry.summary} |")
        lines += [
            f"| | `{one.name}` | {default_text(one)} | {range_text(one)} | {one.summary} |" for one in entry.parameters
        ]
    return "\n".join([*lines, ""])


REGISTRIES: dict[type[Choice], str] = {
    Variant: "Congestion controls",
    Discipline: "Queue disciplines",
    CircuitPolicy: "Policies for a circuit",
    FlowPolicy: "Policies for flows",
}
"""The registries from which a scenario chooses, with the titles of their sections."""


def _section(model: type[BaseModel], where: list[tuple[str, bool]]) -> Section:
    shown = (f"[[{place}]]" if is_list else f"[{place}]" for place, is_list in where if place)
    keys = tuple(_described(model, name, field) for name, field in model.model_fields.items())
    return Section(model, tuple(dict.fromkeys(shown)), _paragraphs(model.__doc__), keys)


def _described(model: type[BaseModel], name: str, field: FieldInfo) -> Key:
    key = _key(name, field)
    said = tomllib.loads(text("keys.toml"))
    unit = said["units"].get(model.__name__, {}).get(key) or _unit(field.annotation)
    chosen = said["examples"].get(model.__name__, {}).get(key)
    example = chosen if chosen is not None else _example(field)
    return Key(
        key, _type(field.annotation), unit, _default(field), "" if example is None else toml(example),
        " ".join(docstrings.of_fields(model).get(name, "").split()),
    )  # fmt: skip


def _key(name: str, field: FieldInfo) -> str:
    return field.alias or name


def _paragraphs(doc: str | None) -> str:
    parts = (doc or "").strip().split("\n\n")
    return "\n\n".join(" ".join(part.split()) for part in parts)


def toml(value: Any) -> str:
    """A value as in a scenario file, on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined:
        return ""
    if value is None:
        return "none"
    if isinstance(value, BaseModel) or value == {}:
        return "{}"
    return toml(_plain(value))


def _plain(value: Any) -> Any:
    match value:
        case Framing() if value == ETHERNET_FRAMING:
            return "ethernet"
        case Framing():
            return int(value)
        case Loss() | Load():
            return float(value)
        case Quantity():
            return str(value)
        case Choice():
            return value.plain()
        case _:
            return value


def _parts(annotation: Any) -> list[Any]:
    """The alternatives of a type, without None."""
    if get_origin(annotation) is Annotated:
        return _parts(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return [part for one in get_args(annotation) for part in _parts(one)]
    return [] if annotation is type(None) else [annotation]


def _models(annotation: Any) -> Iterator[tuple[type[BaseModel], bool]]:
    """The models in a type, and whether each is in a list."""
    for part in _parts(annotation):
        if isinstance(part, type) and issubclass(part, BaseModel):
            yield part, False
        elif get_origin(part) is tuple:
            for inner in get_args(part):
                yield from ((model, True) for model, _ in _models(inner))
        elif get_origin(part) is dict:
            yield from _models(get_args(part)[1])


def _type(annotation: Any) -> str:
    words = [_word(part) for part in _parts(annotation)]
    return " or ".join(dict.fromkeys(words))


def _word(part: Any) -> str:
    if get_origin(part) is Literal:
        return " or ".join(f"`{toml(value)}`" for value in get_args(part))
    if get_origin(part) is tuple:
        first, *others = get_args(part)
        if others == [...]:
            return f"list of {_type(first)}"
        words = [_type(one) for one in (first, *others)]
        each = f"{words[0]} each" if len(set(words)) == 1 else ", ".join(words)
        return f"list of {len(words)}: {each}"
    if get_origin(part) is dict:
        return f"table by name, each a {_type(get_args(part)[1])}"
    if issubclass(part, BaseModel):
        return f"[{part.__name__}](#{part.__name__.lower()})"
    if issubclass(part, Quantity):
        return str(part.noun).partition(" ")[2]
    if issubclass(part, Choice):
        title = REGISTRIES[part]
        return f"[{part.noun}](#{title.lower().replace(' ', '-')}), or a table with its name and parameters"
    return _PLAIN[part]


_PLAIN: dict[type, str] = {
    bool: "true or false", int: "integer", float: "number", str: "text",
    Loss: "probability below 1", Load: "share above 0", Framing: '`"ethernet"` or integer',
}  # fmt: skip


def _unit(annotation: Any) -> str:
    units = []
    for part in _parts(annotation):
        if get_origin(part) is tuple:
            units.append(_unit(get_args(part)[0]))
        elif isinstance(part, type) and issubclass(part, Framing):
            units.append("bytes")
        elif isinstance(part, type) and issubclass(part, Loss | Load):
            units.append("of 1, or %")
        elif isinstance(part, type) and issubclass(part, Quantity):
            units.append(_quantity_unit(part))
    return ", ".join(dict.fromkeys(unit for unit in units if unit))


def _quantity_unit(quantity: type[Quantity]) -> str:
    """The units in which it is printed, smallest first, without the binary ones."""
    printed = [unit for unit in reversed(quantity.printed) if "i" not in unit.removesuffix("bit/s")]
    return ", ".join(printed) if "bytes" not in quantity.base_unit or len(printed) > 1 else f"{printed[0]} or bytes"


def _example(field: FieldInfo) -> Any:
    """An example value, if the type implies one; None for tables of their own."""
    default = field.get_default(call_default_factory=True)
    for part in _parts(field.annotation):
        if get_origin(part) is Literal:
            others = [value for value in get_args(part) if value != default]
            return others[0] if others else get_args(part)[0]
        if part is bool:
            return default is not True
        if part in (int, float) and isinstance(default, int | float):
            return default
        if isinstance(part, type) and issubclass(part, Quantity):
            return tomllib.loads(f"value = {part.example.partition(' or ')[0].partition(', ')[0]}")["value"]
        if isinstance(part, type) and issubclass(part, Loss):
            return 0.001
        if isinstance(part, type) and issubclass(part, Framing):
            return "ethernet"
        if isinstance(part, type) and issubclass(part, Choice):
            return part.registry()[0].name
        if get_origin(part) is tuple and isinstance(default, tuple) and default and isinstance(default[0], int):
            return list(default)
    return None
