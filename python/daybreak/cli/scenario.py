"""The scenario that a command is about, with the changes of the command line."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from daybreak.errors import UsageError
from daybreak.scenario import Scenario, load
from daybreak.scenario.written import Written

File = Annotated[Path, typer.Argument(help="Scenario file (TOML).", metavar="SCENARIO.toml")]
Kernel = Annotated[
    str | None,
    typer.Option(
        help="With engine kernel: its version, such as 6.12, with its ticks (6.12@250), or digest in 'daybreak kernel "
        "list'; Linux 6.1, which is modelled, if not given."
    ),
]
Changes = Annotated[list[str] | None, typer.Option("--set", help="Change of the scenario, e.g. flows.0.variant=bbr.")]


def scenario_of(file: Path, changes: list[str] | None) -> Scenario:
    """Reads a scenario file and makes the changes. Raises ScenarioError, UsageError for a change that is none."""
    scenario = load(file)
    return scenario.with_(dict(_change(text) for text in changes)) if changes else scenario


def _change(text: str) -> tuple[str, Any]:
    path, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f'--set "{text}": expected KEY=VALUE such as flows.0.variant=bbr')
    try:
        return path, tomllib.loads(f"value = {value}", parse_float=Written)["value"]
    except RecursionError:
        raise UsageError(f"--set {path}: the value is nested too deeply") from None
    except ValueError:
        return path, value
