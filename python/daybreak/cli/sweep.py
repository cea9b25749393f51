"""daybreak sweep"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from daybreak import engines
from daybreak.errors import Interrupted, UsageError

from .scenario import Kernel
from .tables import print_table
from .terminal import Json, print_json, progress_bar, say
from .usage import counted, engine_of, refuse

if TYPE_CHECKING:
    from daybreak.sweeps import Outcome, Points
    from daybreak.sweeps.run import Failure

_SHOWN = 20
_ROWS = 40


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example: daybreak sweep grids/periods.toml --workers 2 --ci 2% -o results/periods")(sweep)


def sweep(
    grid: Annotated[Path, typer.Argument(help="Grid file (TOML).", metavar="GRID.toml")],
    out_: Annotated[
        Path | None, typer.Option("-o", "--out", help="Folder for the results; by default results/GRID.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Parallel runs; by default one per processor.", min=1)] = None,
    kernel: Kernel = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler whose workers execute the runs.")
    ] = None,
    ci: Annotated[
        str | None,
        typer.Option(help="Add seeds until the 95 % interval of each group's mean FCT is this narrow, e.g. 2%."),
    ] = None,
    most_runs: Annotated[
        int | None, typer.Option(help="With --ci: largest number of runs of a point; by default 100.", min=1)
    ] = None,
    max_runs: Annotated[int, typer.Option(help="Largest number of runs of the whole sweep.", min=1)] = 1_000_000,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the dataset of another grid in the folder; its runs stay.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a scenario at all points of a grid, and write one dataset.

    Prints one row per point with the means over its seeds and their 95 % intervals. 'daybreak plot DIR' draws them.
    Finished runs are stored: the same command, also with a larger grid, runs only what is missing. Read the dataset
    with polars.read_parquet("DIR/flows").
    """
    from daybreak.sweeps import Dask, Local, read
    from daybreak.sweeps import sweep as run

    if scheduler and workers:
        raise UsageError("--workers: a cluster has its own; expected either --workers or --scheduler")
    if ci is None:
        refuse({"most-runs": most_runs}, "expected --ci, which adds runs")
    width = _part(ci) if ci else None
    points = read(grid)
    if kernel is not None:
        points = points.on(engine_of(points.grid.engine, kernel))
    place = out_ or Path("results") / grid.stem
    with progress_bar(f"sweep {grid.stem}", shown=not as_json) as progress:
        try:
            outcome = run(
                points, place, executor=Dask(scheduler) if scheduler else Local(workers), width=width,
                most_runs=100 if most_runs is None else most_runs, max_runs=max_runs, force=force, progress=progress,
            )  # fmt: skip
        except (Interrupted, KeyboardInterrupt):
            raise Interrupted(
                f"interrupted: finished runs are kept in {place}, the same command goes on from there"
            ) from None
    if as_json:
        print_json(outcome.document())
    else:
        _say(outcome, points, ci or "")
    if outcome.failures:
        raise typer.Exit(1)


def _say(outcome: Outcome, points: Points, ci: str) -> None:
    """Prints what a sweep has run, its points, and its failures."""
    place = outcome.directory
    rate = f", {outcome.new / outcome.seconds:.3g} runs/s" if outcome.new and outcome.seconds else ""
    tables = ", ".join(str(place / name) for name in points.grid.keep)
    runs = f"{counted(len(outcome.made), 'run')} of {counted(outcome.points, 'point')}"
    say(f"{runs}, {outcome.new} of them new{rate}; dataset: {tables}")
    if not points.grid.axes:
        say("the grid has no axes: its one point is the scenario itself")
    if engines.kind(points.grid.engine) == "kernel":
        say(f"engine: {engines.program(points.grid.engine)}")
    if outcome.made and "flows" in points.grid.keep:
        _summarise(place)
    if outcome.wide:
        say(_wide([_values(points.columns(point)) for point in outcome.wide], ci))
    if outcome.failures:
        say(f"{counted(len(outcome.failures), 'failure')}:")
        rows = _failures(outcome.failures)
        print_table(("point", "seed", "error"), rows[:_SHOWN])
        if len(rows) > _SHOWN:
            say(f"... and {len(rows) - _SHOWN} more in {place / 'sweep.json'}")


def _failures(failures: Sequence[Failure]) -> list[tuple[str, str, str]]:
    """The rows of the table of failures: points and seeds with the same error are one, and counted."""
    same: dict[str, list[Failure]] = {}
    for one in failures:
        same.setdefault(one.error, []).append(one)
    rows = []
    for error, some in same.items():
        points = dict.fromkeys(_values(one.values) for one in some)
        seeds = dict.fromkeys(str(one.seed or "all") for one in some)
        first, *others = points
        rows.append((first if not others else f"{len(points)} points", ", ".join(list(seeds)[:_SHOWN]), error))
    return rows


def _summarise(place: Path) -> None:
    """Prints one row per point: means over its runs with intervals."""
    from daybreak.report import sweep as tables
    from daybreak.sweeps import read_results

    results = read_results(place)
    headings, cells, labels = tables.columns(results, _ROWS)
    print_table(headings, cells, numeric=headings[labels:])
    if few := tables.few_flows(results):
        say(few)
    more = tables.rows(results) - _ROWS
    if more > 0:
        say(f"... and {more} more rows: daybreak report {place} shows all, daybreak plot {place} draws them")


def _wide(points: list[str], ci: str) -> str:
    """A sentence about the points whose intervals are too wide; the only point of a grid without axes has no name."""
    which = ": " + "; ".join(points[:_SHOWN]) if any(points) else ""
    more = f"; and {len(points) - _SHOWN} more" if len(points) > _SHOWN else ""
    what = "the interval of 1 point is" if len(points) == 1 else f"the intervals of {len(points)} points are"
    return f"{what} wider than {ci}{which}{more}"


def _values(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _part(text: str) -> float:
    number, percent, rest = text.partition("%")
    try:
        part = float(number) / (100 if percent else 1)
    except ValueError:
        part = 0.0
    if rest or not 0 < part < 1:
        raise UsageError(f'--ci "{text}": expected a part of the mean between 0 % and 100 %, such as 2%')
    return part
