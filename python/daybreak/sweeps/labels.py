"""The values of an axis as a column of a sweep's tables, all of one type."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from . import numbers


def labels(values: Sequence[Any]) -> list[Any]:
    """Strings, integers and booleans unchanged, integers among floats as floats; otherwise each value's text, or JSON
    for all of them where two would have the same text.
    """
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and kinds <= {str, bool, int, float}:
        return list(values)
    if kinds == {int, float}:
        return [float(value) for value in values]
    texts = [value if isinstance(value, str) else json.dumps(value) for value in values]
    return texts if len(set(texts)) == len(texts) else [json.dumps(value) for value in values]


def twice(values: Sequence[Any]) -> tuple[Any, Any] | None:
    """Two of the values that are equal as text, as numbers or as quantities ("1 MB" and "1000 kB"); None if none
    are."""
    column = numbers.column("", values)
    seen: dict[object, Any] = {}
    for value, key in zip(values, column[1] if column else map(_key, values), strict=True):
        if key in seen:
            return seen[key], value
        seen[key] = value
    return None


def is_among(value: Any, values: Sequence[Any]) -> bool:
    """Whether one of the values equals `value`."""
    return any(_key(value) == _key(other) for other in values)


def _key(value: Any) -> object:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else json.dumps(value, sort_keys=True)
