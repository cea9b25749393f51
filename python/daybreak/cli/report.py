"""daybreak report"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .terminal import Json, print_json, progress_bar, say
from .usage import are_runs


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example: daybreak report results/migration -o report.html")(report)


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Folders of runs, sweeps, results of 'daybreak reproduce', or folders that hold such folders.",
            metavar="RUN...",
        ),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="The page to write.")] = Path("report.html"),
    title: Annotated[str, typer.Option(help="Its title; by default the names of its contents.")] = "",
    explained: Annotated[
        bool, typer.Option("--explain/--no-explain", help="Repeat a run of each scenario to show where its time went.")
    ] = True,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that Daybreak did not make.")] = False,
    as_json: Json = False,
) -> None:
    """Write one page about runs and studies that any browser shows, without a network.

    It has each scenario with its seeds and versions, figures to zoom into, where the completion times went, and the
    claims of a study with their verdicts; for a sweep a figure over its axes and one row per point. Runs of one
    scenario are shown together. Other content of the folders is listed as left out.
    """
    from daybreak.report import contents, page, writing

    are_runs(runs, "report", sweeps=True)
    writing.check(out, force=force)
    found = contents.gather(runs)
    with progress_bar("writing the report", shown=not as_json) as progress:
        content = page.report(found, title=title, explained=explained, progress=progress)
    writing.write(content, out, force=force)
    if as_json:
        print_json({"out": str(out), "bytes": len(content.encode()), "left_out": found.left_out})
        return
    for sentence in found.left_out:
        say(f"left out: {sentence}")
    say(f"the report is in {out}")
