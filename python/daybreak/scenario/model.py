"""The base of every scenario model: frozen, strict about keys, saved without defaults."""

import difflib
import inspect
from collections.abc import Callable, Iterator
from typing import Annotated, Any, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetJsonSchemaHandler,
    ValidationError,
    model_serializer,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError

from daybreak.errors import ScenarioError

from . import docstrings
from .problems import scenario_error


class Model(BaseModel):
    """A part of a scenario. Unknown keys are errors that list the known ones.

    Objects created in Python are validated like tables of a scenario file, and raise ScenarioError.
    """

    # Validators are built on first use: that of a scenario includes those of its parts.
    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True, defer_build=True
    )

    def __init__(self, **fields: Any) -> None:
        check_texts(fields, type(self).__name__)
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise scenario_error(error, fields, type(self).__name__, "it") from None

    # For pydantic: nested tables bypass this, which would hide the place of an error in the file.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        super().__pydantic_init_subclass__(**options)
        if "__signature__" not in vars(cls):
            cls.__signature__ = _Signature()  # type: ignore[assignment]

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """The schema, with the docstring of each field."""
        made = handler(schema)
        properties, written = handler.resolve_ref_schema(made)["properties"], docstrings.of_fields(cls)
        for name, field in cls.model_fields.items():
            if name in written:
                properties[field.alias or name]["description"] = written[name]
        return made

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            known = {field.alias or name for name, field in cls.model_fields.items()}
            unknown = [key for key in data if key not in known and key not in cls.model_fields]
            if unknown:
                raise PydanticCustomError("unknown_key", "{text}", {"text": _unknown_key(unknown[0], known)})
        return data


class _Signature:
    """The signature of a model with its keys. Pydantic makes it together with the validators, on first use."""

    def __get__(self, instance: Model | None, model: type[Model]) -> inspect.Signature:
        if instance is not None:
            raise AttributeError("__signature__")
        model.model_rebuild()
        # It has taken the place of this one.
        return model.__signature__


class Tagged(Model):
    """A variant of a tagged union, identified by its `kind`, which is therefore always saved."""

    @model_serializer(mode="wrap")
    def _keep_kind(self, serialise: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        return {"kind": self.kind} | serialise(self)  # type: ignore[attr-defined]


def members(union: Any) -> tuple[Any, ...]:
    """The models of a tagged union, in its order: a union is the registry of its kinds."""
    models, *_ = get_args(union)
    return get_args(models)


def check_texts(document: dict[str, Any], source: str) -> None:
    """Raises ScenarioError for a text that cannot be written to a file."""
    for text in _texts(document):
        if not _is_unicode(text):
            raise ScenarioError(f"{source}: {text!r} is not valid Unicode text")


def _texts(document: Any) -> Iterator[str]:
    """Every string in a document at any depth, keys included."""
    waiting = [document]
    while waiting:
        match waiting.pop():
            case str(text):
                yield text
            case dict(table):
                waiting += [*table.keys(), *table.values()]
            case list(items) | tuple(items):
                waiting += items


def _is_unicode(text: str) -> bool:
    """Whether it has no lone surrogate, which stands for an invalid UTF-8 byte of the command line."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unknown_key(key: object, known: set[str]) -> str:
    close = difflib.get_close_matches(str(key), known, n=1)
    guess = f' (did you mean "{close[0]}"?)' if close else ""
    return f'has no key "{key}"{guess}; known are {", ".join(sorted(known))}'


def _one_or_many(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_one_or_many, json_schema_input_type=str | tuple[str, ...])]
"""One name or a list."""
