"""daybreak export"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from .terminal import Json, print_json, progress_bar, say
from .usage import are_runs, counted


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example: daybreak export results/migration/seed-7 --format perfetto -o migration.json")(export)


def export(
    run: Annotated[Path, typer.Argument(help="Folder of a run.", metavar="RUN")],
    kind: Annotated[
        str,
        typer.Option("--format", help="perfetto: a trace for ui.perfetto.dev. qlog: one trace per flow, in qlog 0.3."),
    ] = "perfetto",
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="File to write; by default RUN's name with the format's suffix."),
    ] = None,
    flows: Annotated[
        str | None, typer.Option(help="Only flows whose name matches this pattern, and the queues along their paths.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that Daybreak did not make.")] = False,
    as_json: Json = False,
) -> None:
    """Write a run in the format of another viewer: Perfetto's trace events, or qlog.

    It contains what is recorded: circuits, flows, windows, queues and losses.
    """
    from daybreak.report import export as exports
    from daybreak.runs import read

    are_runs([run], "export")
    ending = exports.FORMATS.get(kind, "")
    place = out or Path(f"{os.path.basename(os.path.realpath(run))}{ending}")
    exports.check(place, force=force)
    with progress_bar("exporting", shown=not as_json) as progress:
        count = exports.write(read(run), place, kind, flows=flows, force=force, progress=progress)
    if as_json:
        print_json({"out": str(place), "format": kind, "flows": count})
    else:
        say(f"{counted(count, 'flow')}: {place}")
