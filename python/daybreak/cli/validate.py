"""daybreak validate"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from daybreak import engines
from daybreak.scenario import load

from .terminal import Json, out, print_json


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example: daybreak validate scenarios/03-migration.toml")(validate)


def validate(
    scenario: Annotated[Path, typer.Argument(help="Scenario file (TOML).", metavar="SCENARIO.toml")],
    engine: Annotated[str, typer.Option(help="The engine that is to run it.")] = "simulated",
    as_json: Json = False,
) -> None:
    """Check a scenario without running it."""
    model = load(scenario)
    plan = engines.lowered(model, 1, engine)
    engines.check(plan, engine)
    counts = {
        kind: len(getattr(plan.content, kind)) for kind in ("nodes", "links", "flows", "timelines", "controllers")
    }
    if as_json:
        print_json({"scenario": model.name, "valid": True, "plan_hash": plan.hash} | counts)
    else:
        words = ", ".join(f"{count} {kind}" for kind, count in counts.items())
        out.print(f"{scenario} is a valid scenario: {words}", highlight=False)
