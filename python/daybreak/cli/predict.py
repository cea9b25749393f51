"""daybreak predict"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from .learn import ModelFile, check_model, need_learn
from .scenario import Changes, scenario_of
from .tables import print_table
from .terminal import Json, print_json, progress_bar, say


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example: daybreak predict scenarios/17-prolongation.toml --set timelines.0.period='15 ms' --check 5"
    )(predict)


def predict(
    scenario: Annotated[Path, typer.Argument(help="Scenario file of a migrated and a main flow.")],
    changes: Changes = None,
    check: Annotated[int, typer.Option(help="Simulate the setting as well, with at least this many seeds.", min=0)] = 0,
    most: Annotated[
        int | None,
        typer.Option("--runs", help="Largest number of runs if it is simulated; by default 256.", min=2),
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Parallel runs; by default one per processor.", min=1)] = None,
    model: ModelFile = None,
    as_json: Json = False,
) -> None:
    """Estimate how much longer the migrated flow takes than the main one: predicted if a model is sure, else simulated.

    A prediction is shown with its expected error, the 90 % interval of a run, and the most similar measured settings.
    If the setting is outside of the measured ones, or the error is more than 20 % of the prolongation, it is simulated
    until the 95 % margin of its mean is within 20 %, and the reasons are shown.
    """
    from daybreak.learn.setting import describe

    chosen = scenario_of(scenario, changes)
    check_model(model)
    need_learn()
    # Before the models, which take seconds to load.
    describe(chosen)
    from daybreak.learn.files import load
    from daybreak.learn.simulated import MOST, simulated
    from daybreak.metrics import units

    found = load(model).of_scenario(chosen)
    done = None
    with progress_bar("simulating, runs", shown=not as_json) as progress:
        if not found.holds:
            done = simulated(chosen, check, most or MOST, workers=workers, progress=progress)
        elif check:
            done = simulated(chosen, check, check, workers=workers, progress=progress)
    if as_json:
        document: dict[str, Any] = {"answer": "predicted" if found.holds else "simulated"}
        predicted = asdict(found) if found.holds else {"reasons": found.reasons}
        runs = {"simulated_s": done.values, "is_known": done.is_known} if done else {}
        print_json(document | predicted | runs)
        return
    if found.holds:
        say(
            f"prolongation {units.time(found.prolongation_s)}, with an error of about {units.time(found.error_s, 2)}; "
            f"90 % of runs between {units.time(found.low_s)} and {units.time(found.high_s)}"
        )
    if done:
        mean = units.time_with_margin(done.mean.mean, done.mean.margin) if done.mean else ""
        shown = f"prolongation {mean} (95 % confidence of the mean)" if mean else "a flow did not end"
        say(f"simulated, {len(done.values)} runs: {shown}")
        if done.mean and not done.is_known:
            least = units.time(done.tolerated_s, 2)
            say(
                f"the mean is not known: {least} are tolerated, 20 % of it or of 5 % of the ideal time; --runs allows "
                "more runs"
            )
    if not found.holds:
        say("not predicted, because")
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
