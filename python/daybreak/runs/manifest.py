"""The validated content of a run's `manifest.json`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from daybreak.scenario.problems import scenario_error

_Count = Annotated[int, Field(ge=0, lt=2**63)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class Versions(_Part):
    """The versions of the programs that made the run."""

    daybreak: str
    """Daybreak's version."""
    plan: _Count
    """Version of plans."""
    program: str
    """Identifies the engine's program."""


class Totals(_Part):
    """Counts of the whole run."""

    __pydantic_extra__: dict[str, _Count]
    ended_ns: _Count
    """End of the run."""


class Manifest(_Part):
    """The manifest of a run. Unknown fields are ignored."""

    name: str
    """The scenario's name."""
    seed: int = Field(ge=0, lt=2**64)
    """The seed."""
    engine: str
    """The engine's name."""
    versions: Versions
    """Of the programs."""
    plan_hash: str
    """SHA-256 of the plan."""
    capture: bool = True
    """Whether there is a capture."""
    totals: Totals
    """Of the run."""
    tables: dict[str, _Count]
    """Rows by table."""
    files: list[str] = []
    """Files that programs wrote, by path in the folder."""
    scenario: dict[str, Any]
    """The scenario as it was written."""


def problem(document: Any) -> str | None:
    """One sentence about the first invalid field; None if all are valid."""
    if not isinstance(document, dict):
        return "expected a table"
    try:
        Manifest.model_validate(document)
    except ValidationError as error:
        return str(scenario_error(error, document, "")).removeprefix(": ")
    return None
