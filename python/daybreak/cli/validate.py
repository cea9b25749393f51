"""daybreak validate"""

from __future__ import annotations

from typing import Annotated

import typer

from daybreak import engines
from daybreak.runs.ties import ties
from daybreak.runs.warnings import warnings_of

from .scenario import Changes, File, Kernel, scenario_of
from .terminal import Json, print_json, progress_bar, say
from .usage import counted, engine_of


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example: daybreak validate scenarios/03-migration.toml")(validate)


def validate(
    scenario: File,
    engine: Annotated[str, typer.Option(help="The engine to run it.")] = "simulated",
    kernel: Kernel = None,
    changes: Changes = None,
    as_json: Json = False,
) -> None:
    """Check a scenario without running it.

    It warns of valid but surprising scenarios: nights that coincide with timeouts again and again, congestion controls
    that react to marks where no queue marks, and flows whose packets reach a queue in phase, so that nanoseconds
    decide, since no link has jitter.
    """
    engine = engine_of(engine, kernel)
    model = scenario_of(scenario, changes)
    with progress_bar("validating", shown=not as_json):
        plan = engines.lowered(model, 1, engine)
        engines.check(plan, engine)
    counts = {
        kind: len(getattr(plan.content, kind)) for kind in ("nodes", "links", "flows", "timelines", "controllers")
    }
    in_step = ties(plan.content)
    warnings = [*warnings_of(plan.content), *([in_step] if in_step else [])]
    if as_json:
        print_json({"scenario": model.name, "valid": True, "plan_hash": plan.hash, "warnings": warnings} | counts)
    else:
        words = ", ".join(counted(count, kind.removesuffix("s")) for kind, count in counts.items())
        say(f"{scenario} is a valid scenario: {words}")
        for warning in warnings:
            say(f"warning: {warning}")
