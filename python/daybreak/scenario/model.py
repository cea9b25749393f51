"""The base of every scenario model: frozen, strict about keys, saved without what is default."""

import difflib
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_serializer, model_validator
from pydantic_core import PydanticCustomError


class Model(BaseModel):
    """A part of a scenario. Keys that it does not know are errors that list the known ones."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True, use_attribute_docstrings=True
    )

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            known = {field.alias or name for name, field in cls.model_fields.items()}
            unknown = [key for key in data if key not in known and key not in cls.model_fields]
            if unknown:
                raise PydanticCustomError("unknown_key", "{text}", {"text": _unknown_key(unknown[0], known)})
        return data


class Tagged(Model):
    """A model that is told from others by its `kind`, which is therefore always saved."""

    @model_serializer(mode="wrap")
    def _keep_kind(self, serialise: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        return {"kind": self.kind} | serialise(self)  # type: ignore[attr-defined]


def _unknown_key(key: object, known: set[str]) -> str:
    close = difflib.get_close_matches(str(key), known, n=1)
    guess = f' (did you mean "{close[0]}"?)' if close else ""
    return f'has no key "{key}"{guess}; known are {", ".join(sorted(known))}'


def _one_or_many(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_one_or_many, json_schema_input_type=str | tuple[str, ...])]
"""One name or a list."""
