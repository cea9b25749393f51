"""daybreak predict"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from .learn import ModelFile, check_model, need_learn
from .scenario import Changes, scenario_of
from .tables import print_table
from .terminal import Json, print_json, say


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example: daybreak predict scenarios/17-prolongation.toml --set timelines.0.period='15 ms' --check 5"
    )(predict)


def predict(
    scenario: Annotated[Path, typer.Argument(help="Scenario file of a migrated and a main flow.")],
    changes: Changes = None,
    check: Annotated[int, typer.Option(help="Simulate the setting as well, with at least this many seeds.", min=0)] = 0,
    model: ModelFile = None,
    as_json: Json = False,
) -> None:
    """Predict how much longer the migrated flow takes than the main one, without running it.

    Shows the error that is expected of the prediction, the 90 % interval of a run, and the most similar settings that
    were measured. Where the setting is outside of what was measured, or that error is more than 20 % of the
    prolongation, it is simulated instead until the mean is known as well, with 24 runs at most; the reasons are said.
    """
    chosen = scenario_of(scenario, changes)
    check_model(model)
    need_learn()
    from daybreak.engines import run_many
    from daybreak.learn.files import load
    from daybreak.learn.simulated import simulated
    from daybreak.learn.tune import prolongation
    from daybreak.metrics.confidence import of_all

    found = load(model).of_scenario(chosen)
    values: list[float | None] = []
    if not found.holds:
        values = simulated(chosen, check)
    elif check:
        values = run_many([(chosen, seed) for seed in range(1, check + 1)], reduce=prolongation)
    mean = of_all(values)
    if as_json:
        document: dict[str, Any] = {"answer": "predicted" if found.holds else "simulated"}
        predicted = asdict(found) if found.holds else {"reasons": found.reasons}
        print_json(document | predicted | ({"simulated_s": values} if values else {}))
        return
    if found.holds:
        say(
            f"prolongation {found.prolongation_s:.4g} s, with an error of about {found.error_s:.2g} s; "
            f"90 % of runs between {found.low_s:.4g} s and {found.high_s:.4g} s"
        )
    if values:
        shown = f"prolongation {mean.text()} s (95 % confidence of the mean)" if mean else "a flow did not end"
        say(f"simulated, {len(values)} runs: {shown}")
    if not found.holds:
        say("not predicted, since")
        for reason in found.reasons:
            say(f"  {reason}")
        return
    columns = (
        "migrated_variant", "main_variant", "migrated_mib", "migrated_flows", "rate_gbps", "rtt_us", "buffer_packets",
        "period_ms", "night_ms", "downtime", "start_ms", "hz", "prolongation_s", "runs",
    )  # fmt: skip
    say("most similar measured settings:")
    rows = [[f"{one[c]:.4g}" if isinstance(one[c], float) else str(one[c]) for c in columns] for one in found.similar]
    print_table(columns, rows, numeric=[name for name in columns[2:] if name != "downtime"])
