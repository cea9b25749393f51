"""daybreak explain"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from daybreak.errors import PlotError

from .tables import print_table
from .terminal import Json, print_json, progress_bar, say
from .usage import are_runs, refuse, seeds_of

_SHOWN = 40


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example: daybreak explain scenarios/04-downtime.toml -o downtime.png")(explain)


def explain(
    run: Annotated[Path, typer.Argument(help="Folder of a run, or a scenario file.", metavar="RUN")],
    seed: Annotated[int | None, typer.Option(help="Seed, for a scenario file; by default 1.")] = None,
    out_: Annotated[Path | None, typer.Option("-o", "--out", help="Figure to write: F.png, F.svg or F.pdf.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that Daybreak did not make.")] = False,
    as_json: Json = False,
) -> None:
    """Split each flow's completion time into its causes.

    The parts add up exactly: transfer at the fair share, and the time lost waiting for the circuit, in ramp-up below
    the fair share, in queues, and by night loss, fast recovery, timeouts and spurious recovery. The page
    docs/explain.md defines them. A run is repeated with the records that this needs. Flows that are no bulk transfers
    are left out, and of more than 5000 flows those explained are evenly spaced.
    """
    from daybreak import plots
    from daybreak.explain import explain as split
    from daybreak.figures.explanation import MOST_FLOWS
    from daybreak.metrics.explanation import COLUMNS, PARTS, rows
    from daybreak.metrics.units import TIMES, digits, unit_of
    from daybreak.runs import read
    from daybreak.scenario import load

    are_runs([run], "explain", scenarios=True)
    first = seeds_of(1 if seed is None else seed)[0]
    if out_ is not None:
        plots.check(out_, force=force)
    kept = read(run) if run.is_dir() else None
    if kept:
        refuse({"seed": seed}, f"expected a scenario file, and {run} is a run with seed {kept.seed}")
    with progress_bar("explaining", shown=not as_json) as progress:
        found = (
            split(kept.scenario, kept.seed, kept.manifest["engine"], kept, progress=progress)
            if kept
            else split(load(run), first, progress=progress)
        )
    if out_ is not None:
        plots.write(_figure(found), out_, force=force)
    if as_json:
        groups, flows = found.groups.to_dicts(), found.flows.to_dicts()
        print_json({"flows": flows, "groups": groups, "unfinished": found.unfinished, "notes": found.notes})
        return
    present = [number for number, name in enumerate(COLUMNS) if found.flows[name].sum()]
    shown = rows(found.flows, found.groups, most_flows=_SHOWN)
    scale, unit = unit_of((fct for _, fct, _ in shown), TIMES)
    headings = (f"[{unit}]", "FCT", *(PARTS[number].replace("_", " ") for number in present))
    cells = [
        (name, *(digits(value / scale) for value in (fct, *(parts[number] for number in present))))
        for name, fct, parts in shown
    ]
    if cells:
        print_table(headings, cells, numeric=headings[1:])
    if found.flows.height > _SHOWN:
        say(f"... and {found.flows.height - _SHOWN} more flows")
    for note in found.notes:
        say(note)
    if out_ is not None:
        if found.flows.height > MOST_FLOWS:
            say(f"the figure has the first {MOST_FLOWS} of {found.flows.height} flows")
        say(f"the figure is in {out_}")


def _figure(found: Any) -> Any:
    from daybreak.figures.explanation import bars

    if not found.flows.height:
        raise PlotError("there is nothing to draw: no flow has ended")
    return bars(found.flows, found.groups)
