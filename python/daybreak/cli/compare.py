"""daybreak compare"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from daybreak.errors import OutputError, ScenarioError

from .tables import print_table
from .terminal import Json, print_json, progress_bar, say

_UNITS = {"fct_s": "mean FCT (s)", "retransmits": "retransmits a flow", "rtos": "timeouts a flow"}


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example: daybreak compare scenarios/03-migration.toml scenarios/04-downtime.toml --runs 10")(
        compare
    )


def compare(
    first: Annotated[Path, typer.Argument(help="A scenario file, or a folder of runs.", metavar="A")],
    second: Annotated[Path, typer.Argument(help="Another one.", metavar="B")],
    runs: Annotated[int, typer.Option(help="Seeds of a scenario file: 1, 2, 3 ...", min=1)] = 10,
    workers: Annotated[int | None, typer.Option(help="Runs side by side; one a processor if not given.", min=1)] = None,
    as_json: Json = False,
) -> None:
    """Put two scenarios, or runs of them, side by side: differences with 95 % confidence intervals.

    Runs with the same seed are compared with each other, group by group. A folder is one that 'daybreak run -o' wrote.
    """
    from daybreak.metrics.comparison import paired

    with progress_bar("comparing", shown=not as_json) as progress:
        tables = [_flows(place, runs, workers, progress) for place in (first, second)]
    try:
        found = paired(*tables)
    except ValueError as error:
        raise OutputError(f"{first} and {second} cannot be compared: {error}") from None
    if as_json:
        print_json({"first": str(first), "second": str(second), "rows": found.to_dicts()})
        return
    columns = ("group", "what", "runs", "A", "B", "B - A", "95 % interval", "different")
    print_table(columns, [_row(one) for one in found.iter_rows(named=True)], numeric=columns[2:7])
    missing = {group for table in tables for group in table["group"].unique()} - set(found["group"])
    if missing:
        say(f"not in both, or not with a common seed: {', '.join(sorted(missing))}")


def _flows(place: Path, runs: int, workers: int | None, progress: Any) -> Any:
    from daybreak.engines import run_many
    from daybreak.metrics import confidence
    from daybreak.runs import read
    from daybreak.scenario import load

    if place.is_dir():
        folders = [place] if (place / "manifest.json").is_file() else sorted(place.glob("seed-*"))
        if not folders:
            raise ScenarioError(f"{place} is not a run and has no runs")
        kept = [read(folder) for folder in folders]
    else:
        scenario = load(place)
        kept = run_many([(scenario, seed) for seed in range(1, runs + 1)], workers=workers, progress=progress)
    return confidence.stack((run.seed, run.flows) for run in kept)


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    known = one["low"] is not None
    return (
        one["group"], _UNITS[one["value"]], str(one["runs"]), f"{one['first']:.6g}", f"{one['second']:.6g}",
        f"{one['difference']:+.4g}", f"{one['low']:+.4g} to {one['high']:+.4g}" if known else "-",
        {True: "yes", False: "no", None: "-"}[one["is_different"]],
    )  # fmt: skip
