"""daybreak agree"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .terminal import Json, out, print_json, print_table, progress_bar


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example: daybreak agree --quick --only 'buffer-*'")(agree)


def agree(
    suite: Annotated[
        Path | None, typer.Argument(help="A suite file; the suite that comes with Daybreak if not given.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick/--full", help="The quick subset, or all scenarios.")] = False,
    runs: Annotated[int | None, typer.Option(help="Runs of each scenario; 3 or 8 if not given.", min=1)] = None,
    only: Annotated[str | None, typer.Option(help="Only scenarios whose name fits this pattern.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="End with 1 if a target is missed.")] = False,
    workers: Annotated[int | None, typer.Option(help="Runs side by side; one a processor if not given.", min=1)] = None,
    out_: Annotated[Path, typer.Option("-o", "--out", help="Folder for the results.")] = Path("results/agreement"),
    as_json: Json = False,
) -> None:
    """Run a suite on the real kernel and on the simulator, and say how far they are apart.

    Writes agreement.json and index.html. Finished runs are kept, so the command goes on where it was stopped.
    """
    from daybreak import agreement
    from daybreak.agreement import page

    with progress_bar("comparing", shown=not as_json) as progress:
        found = agreement.agree(suite, quick=quick, only=only, runs=runs, out=out_, workers=workers, progress=progress)
    if as_json:
        print_json(found.result)
    else:
        rows = [
            (page.sentence(t), page.limit(t), page.value(t), str(t["rows"]), t["verdict"])
            for t in found.result["targets"]
        ]
        print_table(("target", "limit", "found", "rows", "verdict"), rows, numeric=("found", "rows"))
        columns = ("scenario", "metric", "kernel", "model", "difference", "cause")
        print_table(columns, [page.worst_line(row) for row in found.result["worst"]])
        out.print(f"agreement.json and index.html are in {out_}", highlight=False)
    if strict and not found.is_reached:
        raise typer.Exit(1)
