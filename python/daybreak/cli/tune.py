"""daybreak tune"""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from daybreak.errors import OutputError

from .learn import need_learn
from .scenario import Changes, scenario_of
from .terminal import Json, print_json, print_table, progress_bar, say

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from daybreak.learn.tune import Candidate, Objective


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
    objective: Annotated[
        str, typer.Option("--for", help="prolongation: as little as possible; utilisation: busy circuits.")
    ] = "prolongation",
    file: Annotated[
        Path | None, typer.Option("-o", "--out", help="Draw the trade-off: PNG, SVG or PDF, by its name.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is no figure of Daybreak's.")] = False,
    verify: Annotated[int, typer.Option(help="Candidates that are simulated before one is advised.", min=1)] = 4,
    seeds: Annotated[int, typer.Option(help="Runs of each of them.", min=2)] = 5,
    workers: Annotated[int | None, typer.Option(help="Runs side by side; one a processor if not given.", min=1)] = None,
    model: Annotated[Path | None, typer.Option(help="Model of 'daybreak learn networks'; ours if not given.")] = None,
    as_json: Json = False,
) -> None:
    """Advise a reconfiguration period for which the migrated flow is prolonged least, or the circuits are used most.

    The model ranks the candidates; the best ones and the scenario as it is are simulated with the same seeds, and the
    best of these is advised. The table is the trade-off between prolongation, duty cycle and utilisation: the part of
    what both circuits can carry, from the first start to the last end, that was delivered.
    """
    need_learn()
    from daybreak import plots
    from daybreak.learn.model import load
    from daybreak.learn.tune import OBJECTIVES
    from daybreak.learn.tune import tune as find

    if objective not in OBJECTIVES:
        raise OutputError(f'--for "{objective}": expected one of {", ".join(OBJECTIVES)}')
    if file:
        plots.check(file, force=force)
    chosen = scenario_of(scenario, changes)
    with progress_bar("simulating", shown=not as_json) as progress:
        found = find(
            chosen, load(model), buffers=buffer or (), variants=variant or (),
            objective=cast("Objective", objective), verified=verify, seeds=seeds, workers=workers, progress=progress,
        )  # fmt: skip
    if file:
        plots.write(_drawn(found), file, force=force)
    if as_json:
        print_json([asdict(one) for one in found])
        return
    columns = ("change", "duty cycle", "predicted (s)", "90 % of runs (s)", "simulated (s)", "utilisation (%)")
    rows = [
        (
            _name(one), f"{one.duty:.3f}", f"{one.predicted.prolongation_s:.4g}",
            f"{one.predicted.low_s:.3g} to {one.predicted.high_s:.3g}",
            one.simulated.text() if one.simulated else "-",
            f"{100 * one.utilisation.mean:.1f}" if one.utilisation else "-",
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
    if file:
        say(f"the trade-off is in {file}")


def _name(one: Candidate) -> str:
    return ", ".join(f"{name}={value}" for name, value in one.changes.items()) or "(as it is)"


def _drawn(found: list[Candidate]) -> Figure:
    """What was simulated. Raises OutputError if no candidate ended."""
    from daybreak.figures.tradeoff import Point, tradeoff

    points = [Point(_name(one), one.utilisation, one.simulated) for one in found if one.simulated and one.utilisation]
    if not points:
        raise OutputError("no figure: in every simulated candidate a flow did not end")
    return tradeoff(points, xlabel="Utilisation of both circuits", ylabel="Prolongation [s]")
