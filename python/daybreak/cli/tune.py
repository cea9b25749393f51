"""daybreak tune"""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from .learn import need_learn
from .scenario import Changes, scenario_of
from .terminal import Json, print_json, print_table, progress_bar, say


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example: daybreak tune scenarios/04-downtime.toml --set timelines.0.night='1 ms'")(tune)


def tune(
    scenario: Annotated[Path, typer.Argument(help="Scenario file of a migrated and a main flow.")],
    changes: Changes = None,
    buffer: Annotated[list[int] | None, typer.Option(help="Also choose among buffers, in packets; repeatable.")] = None,
    variant: Annotated[
        list[str] | None, typer.Option(help="Also choose among variants of the migrated flow; repeatable.")
    ] = None,
    verify: Annotated[int, typer.Option(help="Candidates that are simulated before one is advised.", min=1)] = 4,
    seeds: Annotated[int, typer.Option(help="Runs of each of them.", min=2)] = 5,
    workers: Annotated[int | None, typer.Option(help="Runs side by side; one a processor if not given.", min=1)] = None,
    model: Annotated[Path | None, typer.Option(help="Model of 'daybreak learn networks'; ours if not given.")] = None,
    as_json: Json = False,
) -> None:
    """Advise a reconfiguration period for which the migrated flow is prolonged least.

    The model ranks the candidates; the best ones and the scenario as it is are simulated with the same seeds, and the
    best of these is advised. The table is the trade-off between the prolongation and the duty cycle.
    """
    need_learn()
    from daybreak.learn.model import load
    from daybreak.learn.tune import tune as find

    chosen = scenario_of(scenario, changes)
    with progress_bar("simulating", shown=not as_json) as progress:
        found = find(
            chosen, load(model), buffers=buffer or (), variants=variant or (), verified=verify, seeds=seeds,
            workers=workers, progress=progress,
        )  # fmt: skip
    if as_json:
        print_json([asdict(one) for one in found])
        return
    columns = ("change", "duty cycle", "predicted (s)", "90 % of runs (s)", "simulated (s)")
    rows = [
        (
            ", ".join(f"{name}={value}" for name, value in one.changes.items()) or "(as it is)",
            f"{one.duty:.3f}", f"{one.predicted.prolongation_s:.4g}",
            f"{one.predicted.low_s:.3g} to {one.predicted.high_s:.3g}",
            one.simulated.text() if one.simulated else "-",
        )
        for one in found
    ]  # fmt: skip
    print_table(columns, rows, numeric=columns[1:])
    best = found[0]
    if best.simulated is None or math.isnan(best.simulated.mean):
        say("no advice: in every simulated candidate a flow did not end")
    elif not best.changes:
        say("advice: leave it as it is; no simulated candidate is better")
    else:
        say(f"advice: {rows[0][0]}, with {best.simulated.text()} s simulated")
    for warning in best.predicted.warnings:
        say(f"outside of the data: {warning}")
