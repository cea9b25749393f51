"""Turns pydantic's errors into sentences that name the field, the value and what was expected."""

from typing import Any

from pydantic import ValidationError

from daybreak.errors import ScenarioError, shown


def scenario_error(error: ValidationError, document: Any, source: str, whole: str = "the scenario") -> ScenarioError:
    """One error for all findings; its message is the first, followed by the number of others.

    `source` opens each sentence, and `whole` stands for `document` in a finding that names no field.
    """
    fields: dict[str, str] = {}
    for finding in error.errors():
        field = _field(finding, document)
        fields.setdefault(field, f"{source}: {sentence(field, finding, whole)}")
    field, first = next(iter(fields.items()))
    others = len(fields) - 1
    more = f" (and {others} more problem{'s' if others > 1 else ''})" if others else ""
    return ScenarioError(first + more, field, tuple(fields.values()))


def _field(finding: Any, document: Any) -> str:
    """The path as in the user's file, without the union tags of pydantic's path."""
    path, here = "", document
    location = finding["loc"]
    for index, key in enumerate(location):
        if isinstance(here, dict):
            last_and_missing = finding["type"] == "missing" and index == len(location) - 1
            if key not in here and not last_and_missing:
                continue
            path += f".{key}" if path else str(key)
            here = here.get(key)
        elif isinstance(key, int) and isinstance(here, list | tuple):
            path += f"[{key}]"
            here = here[key] if key < len(here) else None
    return path


def sentence(field: str, finding: Any, whole: str = "the scenario") -> str:
    """The sentence for one of pydantic's findings about the value of `field`."""
    kind, context, value = finding["type"], finding.get("ctx", {}), finding["input"]
    subject = field or whole
    if kind == "missing":
        return f"{subject} is missing"
    if kind == "unknown_key":
        return f"{subject} {context['text']}"
    text = f"{subject} = {shown(value)}"
    if kind == "quantity":
        expected = context["expected"]
        return f"{text}: {expected}" if expected.startswith("expected") else f"{subject} {expected}"
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        if kind == "union_tag_not_found":
            return f"{subject}.kind is missing: expected one of the kinds of {field.rpartition('.')[2].split('[')[0]}"
        return f'{subject}.kind = "{context["tag"]}": expected {context["expected_tags"]}'
    return f"{text}: {_expectation(kind, context, finding['msg'])}"


def _expectation(kind: str, context: dict[str, Any], message: str) -> str:
    match kind:
        case "greater_than_equal":
            return f"expected at least {context['ge']}"
        case "greater_than":
            return f"expected more than {context['gt']}"
        case "less_than_equal":
            return f"expected at most {context['le']}"
        case "less_than":
            return f"expected less than {context['lt']}"
        case "literal_error":
            return f"expected {context['expected']}"
        case "too_short" | "too_long":
            bound = f"least {context['min_length']}" if kind == "too_short" else f"most {context['max_length']}"
            return f"expected at {bound} {'entry' if bound.endswith(' 1') else 'entries'}"
        case "string_too_short":
            return "expected a text that is not empty"
        case "string_type":
            return "expected text"
        case "int_type" | "int_parsing" | "int_from_float":
            return "expected a whole number"
        case "bool_type" | "bool_parsing":
            return "expected true or false"
        case "model_type" | "dict_type" | "model_attributes_type":
            return "expected a table"
        case "tuple_type" | "list_type":
            return "expected a list"
    message = message.removeprefix("Value error, ")
    return message[0].lower() + message[1:]
