"""daybreak tune"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from daybreak.errors import OutputError

from .learn import ModelFile, check_model, need_learn
from .scenario import Changes, scenario_of
from .tables import print_table
from .terminal import Json, print_json, progress_bar, say

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from daybreak.learn.tune import Advice, Candidate, Objective


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example: daybreak tune scenarios/17-prolongation.toml --set timelines.0.night='1 ms'")(tune)


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
    model: ModelFile = None,
    as_json: Json = False,
) -> None:
    """Advise a reconfiguration period for which the migrated flow is prolonged least, or the circuits are used most.

    Periods are offered up to the time that the transfer takes. The model ranks the candidates; the best ones, the
    scenario as it is, and what the model cannot predict are simulated with the same seeds, and the best of these is
    advised. The table is the trade-off between prolongation, duty cycle, the mean wait for the other path (half a
    period), and utilisation: the part of what both circuits can carry, from the first start to the last end, that was
    delivered.
    """
    chosen = scenario_of(scenario, changes)
    check_model(model)
    need_learn()
    from daybreak import plots
    from daybreak.learn.files import load
    from daybreak.learn.tune import OBJECTIVES
    from daybreak.learn.tune import tune as find

    if objective not in OBJECTIVES:
        raise OutputError(f'--for "{objective}": expected one of {", ".join(OBJECTIVES)}')
    if file:
        plots.check(file, force=force)
    with progress_bar("simulating", shown=not as_json) as progress:
        found = find(
            chosen, load(model), buffers=buffer or (), variants=variant or (),
            objective=cast("Objective", objective), verified=verify, seeds=seeds, workers=workers, progress=progress,
        )  # fmt: skip
    if file:
        plots.write(_drawn(found), file, force=force)
    if as_json:
        print_json([asdict(one) for one in found.candidates])
        return
    columns = (
        "change", "duty cycle", "wait [ms]", "predicted [s]", "90 % of runs [s]", "simulated [s]", "utilisation [%]",
    )  # fmt: skip
    rows = [
        (
            _name(one), f"{one.duty:.3f}", f"{one.wait_ms:g}",
            *(
                (f"{one.predicted.prolongation_s:.4g}", f"{one.predicted.low_s:.3g} to {one.predicted.high_s:.3g}")
                if one.predicted.holds
                else ("-", "-")
            ),
            one.simulated.text() if one.simulated else "-",
            f"{100 * one.utilisation.mean:.1f}" if one.utilisation else "-",
        )
        for one in found.candidates
    ]  # fmt: skip
    print_table(columns, rows, numeric=columns[1:])
    for line in _said(found):
        say(line)
    if file:
        say(f"the trade-off is in {file}")


def _said(found: Advice) -> list[str]:
    """The lines of the advice and its caveats."""
    best, as_it_is = found.best, next(one for one in found.candidates if not one.changes)
    if best is None:
        lines = ["no advice: in every simulated candidate a flow did not end"]
    elif not best.changes:
        lines = ["advice: leave it as it is; no simulated candidate is better"]
    else:
        assert best.simulated
        lines = [f"advice: {_name(best)}, with {best.simulated.text()} s simulated"]
        if best.wait_ms > as_it_is.wait_ms:
            lines.append(
                f"its price: a flow that comes at any time and needs the other path waits {best.wait_ms:g} ms for it "
                f"on average, {as_it_is.wait_ms:g} ms as it is; short flows may spend most of their time so"
            )
    if found.is_only_the_longest:
        lines.append(
            f"that is only the longest period that was offered, {found.longest_ms:g} ms, of those shorter than the "
            "transfer: moves cost these flows more than they bring"
        )
    lines += [f"ends before its first move: {_name(one)}" for one in found.candidates if one.is_unmoved]
    if not as_it_is.predicted.holds:
        lines += ["not predicted, since", *(f"  {reason}" for reason in as_it_is.predicted.reasons)]
    return lines


def _name(one: Candidate) -> str:
    return ", ".join(f"{name}={value}" for name, value in one.changes.items()) or "(as it is)"


def _drawn(found: Advice) -> Figure:
    """The figure of the simulated candidates. Raises OutputError if no candidate ended."""
    from daybreak.figures.tradeoff import Point, tradeoff

    points = [
        Point(_name(one), one.utilisation, one.simulated)
        for one in found.candidates
        if one.simulated and one.utilisation
    ]
    if not points:
        raise OutputError("no figure: in every simulated candidate a flow did not end")
    return tradeoff(points, xlabel="Utilisation of both circuits", ylabel="Prolongation [s]")
