#!/usr/bin/env python3
"""Writes the Python types of a plan, python/daybreak/plan/types.py, from the format that the engine reads.

    make build && .venv/bin/python tools/plan-types.py

The native module describes the format as JSON Schema, made from the Rust types of `crates/plan` and `crates/fabric`. A
test fails when the file is not what this command would write.
"""

from __future__ import annotations

import importlib.util
import json
import keyword
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TYPES = ROOT / "python" / "daybreak" / "plan" / "types.py"
HEAD = '''\
"""The plan: a scenario in its resolved form, as engines read it. Made by tools/plan-types.py; do not edit.

Integers (picoseconds, bytes, bit/s) throughout, but for parameters without a unit; things refer to each other by their
index in the plan's lists.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """A part of a plan. It is plain data: every field is given, and none is ever changed."""
'''

Schema = dict[str, Any]


def native_schema() -> Schema:
    """The format as the native module describes it, without the package, whose types may be out of date."""
    (library,) = (ROOT / "python" / "daybreak").glob("_native*.so")
    spec = importlib.util.spec_from_file_location("_native", library)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    schema: Schema = json.loads(module.plan_schema())
    return schema


def generate(schema: Schema) -> str:
    """The text of the module."""
    definitions = dict(schema["$defs"]) | {schema["title"]: schema}
    literals, classes, unions = [], [], []
    for name, definition in definitions.items():
        variants = definition.get("oneOf", [])
        if not variants and "enum" in definition:
            literals.append(_literal(name, definition, definition["enum"]))
        elif not variants:
            classes.append(_class(name, definition, {}))
        elif all("const" in variant or "enum" in variant for variant in variants):
            values = [value for variant in variants for value in variant.get("enum", [variant.get("const")])]
            literals.append(_literal(name, definition, values))
        elif _are_alike(variants):
            classes.append(_class(name, _merged(definition, variants), {}))
        else:
            names = []
            for variant in variants:
                tag, value = _tag(variant)
                names.append("".join(word.capitalize() for word in value.split("_")))
                classes.append(_class(names[-1], variant, {tag: value}))
            unions.append(f"{name}: TypeAlias = {' | '.join(names)}\n{_doc(definition, 0)}")
    return _formatted("\n\n".join([HEAD, *literals, *classes, *unions]))


def _literal(name: str, definition: Schema, values: list[str]) -> str:
    listed = ", ".join(json.dumps(value) for value in values)
    return f"{name}: TypeAlias = Literal[{listed}]\n{_doc(definition, 0)}"


def _class(name: str, definition: Schema, tag: dict[str, str]) -> str:
    options = "".join(f', tag_field="{field}", tag="{value}"' for field, value in tag.items())
    if any("omitted" in of_field for of_field in definition["properties"].values()):
        options += ", omit_defaults=True"
    lines = [f"class {name}(Part, frozen=True, kw_only=True{options}):", _doc(definition, 4)]
    for field, of_field in definition["properties"].items():
        if field in tag:
            continue
        python_name = f"{field}_" if keyword.iskeyword(field) else field
        renamed = f' = msgspec.field(name="{field}")' if python_name != field else ""
        default = " = None" if "omitted" in of_field else ""
        lines += _field(f"    {python_name}: {_type(of_field)}{renamed}{default}", of_field)
    return "\n".join(line for line in lines if line)


def _field(declared: str, schema: Schema) -> list[str]:
    """A field with its description, on one line if that is long enough."""
    text = _text(schema)
    together = f"{declared}  # {text}"
    return [together] if text and len(together) <= 120 else [declared, _doc(schema, 4)]


def _type(schema: Schema) -> str:
    if "python" in schema:
        return str(schema["python"])
    if "enum" in schema:
        return f"Literal[{', '.join(json.dumps(value) for value in schema['enum'])}]"
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "const" in schema:
        return f"Literal[{json.dumps(schema['const'])}]"
    if "anyOf" in schema:
        return " | ".join(_type(option) for option in schema["anyOf"])
    match schema["type"]:
        case list(kinds):
            return " | ".join(_type(schema | {"type": kind}) for kind in kinds)
        case "array" if "maxItems" in schema:
            assert schema["minItems"] == schema["maxItems"]
            return f"tuple[{', '.join([_type(schema['items'])] * schema['maxItems'])}]"
        case "array":
            return f"list[{_type(schema['items'])}]"
        case "object":
            return f"dict[str, {_type(schema['additionalProperties'])}]"
        case plain:
            return {"integer": "int", "number": "float", "boolean": "bool", "string": "str", "null": "None"}[plain]


def _tag(variant: Schema) -> tuple[str, str]:
    """The tag field of a variant, and its value."""
    ((field, of_field),) = ((field, of) for field, of in variant["properties"].items() if "const" in of)
    return field, of_field["const"]


def _are_alike(variants: list[Schema]) -> bool:
    """Whether variants differ in nothing but the kind: a name for it and one number or name beside it."""
    return len(variants) > 1 and len({tuple(variant["properties"]) for variant in variants}) == 1


def _merged(definition: Schema, variants: list[Schema]) -> Schema:
    """One class for variants that are alike."""
    tag, _ = _tag(variants[0])
    kinds = "; ".join(f'"{_tag(variant)[1]}": {_first_sentence(variant)}' for variant in variants)
    fields: dict[str, Schema] = {}
    for field in variants[0]["properties"]:
        options = [variant["properties"][field] for variant in variants]
        if field == tag:
            fields[field] = {"enum": [option["const"] for option in options], "description": kinds}
            continue
        types = list(dict.fromkeys(_type(option) for option in options))
        fields[field] = {"python": " | ".join(types)}
    return {"description": definition.get("description", ""), "properties": fields}


def _first_sentence(schema: Schema) -> str:
    text = " ".join(schema.get("description", "").split())
    return text.rstrip(".")


def _text(schema: Schema) -> str:
    text = " ".join(schema.get("description", "").split())
    return re.sub(r"\[`(?:\w+::)*(\w+)`\]", r"`\1`", text)


def _doc(schema: Schema, indent: int) -> str:
    text = _text(schema)
    if not text:
        return ""
    prefix = " " * indent
    lines = textwrap.wrap(f'"""{text}"""', 118 - indent, break_long_words=False)
    if len(lines) > 1:
        lines = [*textwrap.wrap(f'"""{text}', 118 - indent, break_long_words=False), '"""']
    return "\n".join(prefix + line for line in lines)


def _formatted(text: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TYPES), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    TYPES.parent.mkdir(exist_ok=True)
    TYPES.write_text(generate(native_schema()), encoding="utf-8")
