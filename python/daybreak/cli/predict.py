"""daybreak predict"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from .learn import need_learn
from .scenario import Changes, scenario_of
from .terminal import Json, print_json, print_table, say


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example: daybreak predict scenarios/04-downtime.toml --set timelines.0.period='15 ms' --check 5"
    )(predict)


def predict(
    scenario: Annotated[Path, typer.Argument(help="Scenario file of a migrated and a main flow.")],
    changes: Changes = None,
    check: Annotated[int, typer.Option(help="Simulate the setting with so many seeds as well.", min=0)] = 0,
    model: Annotated[Path | None, typer.Option(help="Model of 'daybreak learn networks'; ours if not given.")] = None,
    as_json: Json = False,
) -> None:
    """Predict how much longer the migrated flow takes than the main one, without running it.

    Shows the 90 % interval of a run, the most similar settings that were measured, and where the setting lies outside
    of what was measured.
    """
    need_learn()
    from daybreak.engines import run_many
    from daybreak.learn import features
    from daybreak.learn.model import load
    from daybreak.learn.tune import prolongation
    from daybreak.metrics.confidence import of_all

    chosen = scenario_of(scenario, changes)
    found = load(model).predict([features.describe(chosen)])[0]
    runs = run_many([(chosen, seed) for seed in range(1, check + 1)], reduce=prolongation) if check else []
    simulated = of_all(runs)
    if as_json:
        document: dict[str, Any] = asdict(found)
        print_json(document | ({"simulated_s": runs} if check else {}))
        return
    say(
        f"prolongation {found.prolongation_s:.4g} s; 90 % of runs between {found.low_s:.4g} s and {found.high_s:.4g} s",
    )
    for warning in found.warnings:
        say(f"outside of the data: {warning}")
    if check:
        shown = f"{simulated.text()} s" if simulated else "a flow did not end"
        say(f"simulated, {check} runs: {shown}")
    columns = (
        "migrated_variant", "main_variant", "migrated_mib", "migrated_flows", "rate_gbps", "rtt_us", "buffer_packets",
        "period_ms", "night_ms", "downtime", "prolongation_s",
    )  # fmt: skip
    say("most similar measured settings:")
    rows = [[f"{one[c]:.4g}" if isinstance(one[c], float) else str(one[c]) for c in columns] for one in found.similar]
    print_table(columns, rows, numeric=columns[2:9])
