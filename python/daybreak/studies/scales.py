"""Other sizes of a study than its two scales have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from daybreak.errors import ScenarioError, UnknownName


def varied(scale: Any, changes: Mapping[str, str]) -> Any:
    """A study's scale with other values of some of its fields, given as text. Raises UnknownName, ScenarioError."""
    known = {one.name: getattr(scale, one.name) for one in fields(scale)}
    values: dict[str, Any] = {}
    for field, text in changes.items():
        if field not in known:
            raise UnknownName(f'field: "{field}" is not one of {", ".join(known)}')
        kind = type(known[field])
        try:
            values[field] = kind(text)
        except ValueError:
            raise ScenarioError(f'{field}: "{text}" is not of type {kind.__name__}') from None
    try:
        return replace(scale, **values)
    except ValueError as error:
        raise ScenarioError(str(error)) from None
