"""daybreak reproduce"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer
from click import UsageError
from rich.text import Text

from daybreak.engines import single
from daybreak.errors import Interrupted

from .terminal import Json, print_json, print_table, progress_bar, say


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example: daybreak reproduce etalon --racks 8",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )(reproduce)


def reproduce(
    context: typer.Context,
    study: Annotated[str, typer.Argument(help="A study of 'daybreak list studies'.")],
    figure: Annotated[list[str] | None, typer.Option(help="Only this figure; may be given several times.")] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="Published sizes and numbers of runs, or reduced ones.")
    ] = False,
    engine: Annotated[str, typer.Option(help="An engine of 'daybreak list engines'.")] = "simulated",
    seeds: Annotated[
        int | None, typer.Option(help="Runs of each setting; as the mode says if not given.", min=1)
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Runs side by side; one a processor if not given.", min=1)] = None,
    out_: Annotated[Path | None, typer.Option("-o", "--out", help="Folder for the results.")] = None,
    as_json: Json = False,
) -> None:
    """Run a published study and put its numbers beside ours.

    Writes figures, tables and scoreboard.json. A published number that is missed is a result, not a failure. The sizes
    of a study are options too, by the names that its page has: --weeks 1000.
    """
    from daybreak import studies
    from daybreak.studies.reproduce import reproduce as run

    chosen = studies.study(study)
    sizes = _sizes(context.args, [one.name for one in fields(chosen.scales["full"])])
    single.find(engine)
    place = out_ or Path("results") / study
    with progress_bar(f"reproducing {study}", shown=not as_json) as progress:
        try:
            board = run(
                chosen, mode="full" if full else "quick", figures=tuple(figure or ()), engine=engine, seeds=seeds,
                sizes=sizes,
                out=place, progress=progress, workers=workers,
            )  # fmt: skip
        except (Interrupted, KeyboardInterrupt):
            raise Interrupted(
                f"interrupted: finished runs are kept in {place}, the same command goes on from there"
            ) from None
    document = board.document()
    if as_json:
        print_json(document)
        return
    columns = ("claim", "published", "ours", "unit", "verdict")
    print_table(columns, [_row(claim) for claim in document["claims"]], numeric=("published", "ours"))
    counts = ", ".join(f"{count} {verdict}" for verdict, count in board.counts().items() if count)
    say(f"{counts}; figures, tables and scoreboard.json are in {place}")


def _sizes(arguments: Sequence[str], known: Sequence[str]) -> dict[str, str]:
    """The options that are a study's own."""
    sizes: dict[str, str] = {}
    left = list(arguments)
    while left:
        name, has_value, value = left.pop(0).partition("=")
        field = name.removeprefix("--").replace("-", "_")
        if not name.startswith("--") or field not in known:
            raise UsageError(
                f"no such option: {name} (sizes of this study are {', '.join(f'--{one}' for one in known)})"
            )
        if not has_value:
            if not left:
                raise UsageError(f"option {name} needs a value")
            value = left.pop(0)
        sizes[field] = value
    return sizes


def _row(claim: dict[str, Any]) -> tuple[str | Text, ...]:
    style = {"miss": "red", "shape-miss": "red", "pass": "green", "shape-pass": "green"}.get(claim["verdict"], "dim")
    return (
        claim["what"], _number(claim["published"]), _number(claim["ours"]), claim["unit"],
        Text(claim["verdict"], style=style),
    )  # fmt: skip


def _number(value: Any) -> str:
    # Statements about an order or a trend have no number; scoreboard.json quotes them.
    return f"{value:.4g}" if isinstance(value, int | float) else "-"
