"""daybreak run"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from daybreak import engines
from daybreak.errors import EngineError, Interrupted, ProgramFailed, UsageError
from daybreak.report.summary import flow_rows, flow_table, group_rows, size_rows
from daybreak.runs import Run, folder, identity, read
from daybreak.runs.warnings import unended_clients, warnings_of

from .scenario import Changes, File, Kernel, scenario_of
from .summary import print_runs
from .terminal import Json, complain, print_json, progress_bar, say
from .usage import engine_of, seeds_of

_MOST_RUNS = 100_000


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example: daybreak run scenarios/03-migration.toml --seed 7 --runs 5 "
        "--set timelines.0.period='25 ms' -o results/migration"
    )(run)


def run(
    scenario: File,
    engine: Annotated[str, typer.Option(help="An engine of 'daybreak list engines'.")] = "simulated",
    kernel: Kernel = None,
    seed: Annotated[int, typer.Option(help="Seed of the first run.")] = 1,
    runs: Annotated[
        int, typer.Option(help="Number of runs, with consecutive seeds from --seed.", min=1, max=_MOST_RUNS)
    ] = 1,
    workers: Annotated[int | None, typer.Option(help="Parallel runs; by default one per processor.", min=1)] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Folder for the records; with several runs one subfolder per seed."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace other runs in the folder; files that belong to no run stay.")
    ] = False,
    changes: Changes = None,
    as_json: Json = False,
) -> None:
    """Run a scenario and summarise its flows. Runs that exist in the folder are not repeated."""
    engine = engine_of(engine, kernel)
    seeds = seeds_of(seed, runs)
    model = scenario_of(scenario, changes)
    plan = engines.lowered(model, seed, engine)
    engines.check(plan, engine)
    for warning in warnings_of(plan.content):
        complain(f"warning: {warning}")
    engines.lowered(model, seeds[-1], engine)
    if model.records.capture and out is None:
        raise UsageError("records.capture has no place for the packets: give a folder with -o")

    def facts(one: int) -> Mapping[str, Any]:
        lowered = engines.lowered(model, one, engine)
        return identity(lowered, engine, engines.program(engine, lowered))

    claimed = folder.claim(out, model, seeds, facts, force) if out else None
    found = dict(claimed.finished) if claimed else {}
    # Several seeds have the same ones.
    warnings: dict[str, None] = {}

    def row_of(one: Run, place: Path | None) -> dict[str, Any]:
        warnings.update(dict.fromkeys(unended_clients(one)))
        return _row(one, place)

    rows = {one: row_of(read(place), place) for one, place in found.items()}
    if found and claimed:
        complain(f"found {len(found)} of {runs} runs in {claimed.root}")

    def finish(done: Run) -> None:
        place = claimed.places[done.seed] if claimed else None
        row = row_of(done, place)
        # Last: Ctrl-C interrupts polars in any thread, and what is written must count as finished.
        if place:
            done.write(place, force)
        rows[done.seed] = row

    with progress_bar(f"{model.name}", shown=not as_json) as progress:
        try:
            engines.run_many(
                [(model, one) for one in seeds if one not in found], engine=engine, workers=workers, reduce=finish,
                progress=lambda done, _: progress(len(found) + done, runs),
                staging=claimed.staging() if claimed and model.records.capture else None,
            )  # fmt: skip
        except Interrupted as error:
            kept = f", kept in {out}" if out and rows else ""
            raise Interrupted(f"interrupted: {len(rows)} of {runs} runs are finished{kept}", error.finished) from None
        except ProgramFailed as error:
            place = claimed.keep_failed(model, facts(error.seed), error.files) if claimed else None
            where = f"is in {place}" if place else "is kept if -o names a new folder"
            raise EngineError(f"{error}; what the programs wrote {where}") from None
    for warning in warnings:
        complain(f"warning: {warning}")
    if claimed:
        claimed.remove_others()
    finished = [rows[one] for one in seeds]
    if as_json:
        flows = [one["flows"] for one in finished]
        document = {
            "scenario": model.name, "engine": engine, "program": engines.program(engine, plan),
            "runs": [one | {"flows": flow_rows(one["flows"])} for one in finished],
            "groups": group_rows(flows), "sizes": size_rows(flows),
        }  # fmt: skip
        print_json(document)
    else:
        print_runs(finished)
        if engines.kind(engine) == "kernel":
            say(f"engine: {engines.program(engine, plan)}")


def _row(run: Run, place: Path | None) -> dict[str, Any]:
    return {
        "seed": run.seed,
        "out": str(place) if place else None,
        "totals": run.manifest["totals"],
        "flows": flow_table(run),
    }
