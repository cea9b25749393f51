"""daybreak run"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from daybreak import engines
from daybreak.errors import Interrupted, ScenarioError
from daybreak.runs import Run
from daybreak.runs.storage import check_writable
from daybreak.scenario import load

from .summary import flow_rows, print_flows
from .terminal import Json, print_json, progress_bar


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example: daybreak run scenarios/03-migration.toml --seed 7 --runs 5 "
        "--set timelines.0.period='25 ms' -o results/migration"
    )(run)


def run(
    scenario: Annotated[Path, typer.Argument(help="Scenario file (TOML).", metavar="SCENARIO.toml")],
    engine: Annotated[str, typer.Option(help="An engine of 'daybreak list engines'.")] = "simulated",
    seed: Annotated[int, typer.Option(help="Seed of the first run.")] = 1,
    runs: Annotated[int, typer.Option(help="Number of runs, with the seeds from --seed on.", min=1)] = 1,
    workers: Annotated[int | None, typer.Option(help="Runs side by side; one a processor if not given.", min=1)] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Folder for the records; with several runs one a seed in it.")
    ] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="Change of the scenario, e.g. flows.0.variant=bbr.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a scenario and show what became of its flows."""
    model = load(scenario).with_(dict(_change(text) for text in changes)) if changes else load(scenario)
    seeds = range(seed, seed + runs)
    for one in seeds[:1]:
        engines.lowered(model, one, engine)
    places = {one: (out if runs == 1 else out / f"seed-{one}") for one in seeds} if out else {}
    for place in places.values():
        check_writable(place)

    def finish(done: Run) -> dict[str, Any]:
        place = places.get(done.seed)
        row = {
            "seed": done.seed,
            "out": str(place) if place else None,
            "totals": done.manifest["totals"],
            "flows": flow_rows(done),
        }
        # Last: Ctrl-C interrupts polars in any thread, and what is written must count as finished.
        if place:
            done.write(place)
        return row

    with progress_bar(f"{model.name}", shown=not as_json) as progress:
        try:
            finished = engines.run_many(
                [(model, one) for one in seeds], engine=engine, workers=workers, progress=progress, reduce=finish
            )
        except Interrupted as error:
            kept = f", kept in {out}" if out and error.finished else ""
            raise Interrupted(
                f"interrupted: {len(error.finished)} of {runs} runs are finished{kept}", error.finished
            ) from None
    if as_json:
        print_json({"scenario": model.name, "engine": engine, "runs": finished})
    else:
        print_flows(finished)


def _change(text: str) -> tuple[str, Any]:
    path, equals, value = text.partition("=")
    if not equals:
        raise ScenarioError(f'--set "{text}": expected KEY=VALUE such as flows.0.variant=bbr')
    try:
        return path, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return path, value
