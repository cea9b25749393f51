"""Changes of a scenario that are given on the command line."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from daybreak.errors import ScenarioError
from daybreak.scenario import Scenario, load

Changes = Annotated[
    list[str] | None, typer.Option("--set", help="Change of the scenario, e.g. flows.0.variant=bbr.")
]  # fmt: skip


def changed(path: Path, changes: list[str] | None) -> Scenario:
    """The scenario of a file with these changes. Raises ScenarioError."""
    scenario = load(path)
    return scenario.with_(dict(_change(text) for text in changes)) if changes else scenario


def _change(text: str) -> tuple[str, Any]:
    path, equals, value = text.partition("=")
    if not equals:
        raise ScenarioError(f'--set "{text}": expected KEY=VALUE such as flows.0.variant=bbr')
    try:
        return path, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return path, value
