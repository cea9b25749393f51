"""daybreak explain"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from daybreak.errors import OutputError, reason

from .tables import print_table
from .terminal import Json, print_json, progress_bar, say

_SHOWN = 40


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example: daybreak explain scenarios/04-downtime.toml -o downtime.png")(explain)


def explain(
    run: Annotated[Path, typer.Argument(help="Folder of a run, or a scenario file.", metavar="RUN")],
    seed: Annotated[int, typer.Option(help="Seed, for a scenario file.")] = 1,
    out_: Annotated[Path | None, typer.Option("-o", "--out", help="Figure to write: F.png, F.svg or F.pdf.")] = None,
    as_json: Json = False,
) -> None:
    """Split each flow's completion time into what it was spent on.

    The parts add up exactly: transfer at the fair share, and the time lost waiting for the circuit, in ramp-up below
    the fair share, in queues, and by night loss, fast recovery, timeouts and spurious recovery. The page
    docs/explain.md defines them. A run is repeated with the records that this needs.
    """
    from daybreak.explain import explain as split
    from daybreak.metrics.explanation import COLUMNS, PARTS, rows
    from daybreak.metrics.units import TIMES, digits, unit_of
    from daybreak.runs import read
    from daybreak.scenario import load

    if out_ is not None and (out_.exists() or out_.suffix not in (".png", ".svg", ".pdf")):
        expected = "it exists" if out_.exists() else "expected a name that ends with .png, .svg or .pdf"
        raise OutputError(f"{out_} cannot be written: {expected}")
    kept = read(run) if run.is_dir() else None
    with progress_bar("explaining", shown=not as_json) as progress:
        found = (
            split(kept.scenario, kept.seed, kept.manifest["engine"], kept, progress=progress)
            if kept
            else split(load(run), seed, progress=progress)
        )
    if out_ is not None:
        _draw(found, out_)
    if as_json:
        groups, flows = found.groups.to_dicts(), found.flows.to_dicts()
        print_json({"flows": flows, "groups": groups, "unfinished": found.unfinished})
        return
    present = [number for number, name in enumerate(COLUMNS) if found.flows[name].sum()]
    shown = rows(found.flows, found.groups, most_flows=_SHOWN)
    scale, unit = unit_of((fct for _, fct, _ in shown), TIMES)
    headings = (f"[{unit}]", "FCT", *(PARTS[number].replace("_", " ") for number in present))
    cells = [
        (name, *(digits(value / scale) for value in (fct, *(parts[number] for number in present))))
        for name, fct, parts in shown
    ]
    print_table(headings, cells, numeric=headings[1:])
    if found.flows.height > _SHOWN:
        say(f"... and {found.flows.height - _SHOWN} more flows")
    if found.unfinished:
        say(f"{found.unfinished} flows did not end, so that there is nothing to explain")


def _draw(found: Any, place: Path) -> None:
    from daybreak.figures.explanation import bars

    if not found.flows.height:
        raise OutputError(f"{place} cannot be drawn: no flow has ended")
    try:
        bars(found.flows, found.groups).savefig(place, dpi=160)
    except OSError as error:
        raise OutputError(f"{place} cannot be written: {reason(error)}") from None
