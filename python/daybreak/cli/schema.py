"""daybreak schema"""

from __future__ import annotations

import typer

from daybreak.scenario import schema as scenario_schema

from .terminal import Json, print_json


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example: daybreak schema > scenario.schema.json")(schema)


def schema(as_json: Json = True) -> None:
    """Print the JSON Schema of scenario files, for editors."""
    print_json(scenario_schema())
