"""daybreak compare"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from daybreak import engines
from daybreak.errors import OutputError, PlotError, UsageError

from .tables import cut, numbered, print_table
from .terminal import Json, print_json, progress_bar, say
from .usage import are_runs, engine_of, refuse

_LABELS = {
    "fct_s": "mean FCT", "fct_p99_s": "p99 FCT", "slowdown": "slowdown",
    "goodput_gbps": "goodput [Gbit/s]", "retransmits": "retransmissions per flow",
    "rtos": "timeouts per flow",
}  # fmt: skip
_LONGEST = 24


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example: daybreak compare scenarios/03-migration.toml scenarios/04-downtime.toml -o forest.png"
    )(compare)


def compare(
    places: Annotated[
        list[Path],
        typer.Argument(help="Scenario files or folders of runs; the first is the baseline.", metavar="A B..."),
    ],
    runs: Annotated[
        int | None,
        typer.Option(help="Number of seeds of a scenario file: 1, 2, 3 ...; by default 10.", min=1, max=100_000),
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="An engine of 'daybreak list engines', for scenario files; simulated.")
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            help="With engine kernel: the version of all, or one for each, such as 6.1,6.12; also of one scenario."
        ),
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Parallel runs; by default one per processor.", min=1)] = None,
    out_: Annotated[
        Path | None, typer.Option("-o", "--out", help="Figure of the differences: F.png, F.svg or F.pdf.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that Daybreak did not make.")] = False,
    as_json: Json = False,
) -> None:
    """Compare scenarios, or runs of them: differences from the first with 95 % confidence intervals.

    Runs with the same seed are compared, group by group. A folder is one that 'daybreak run -o' wrote.
    """
    from daybreak import plots
    from daybreak.sweeps import comparison

    are_runs(places, "compare", scenarios=True)
    places, runners = _sides(places, {"runs": runs, "engine": engine, "kernel": kernel})
    if out_:
        plots.check(out_, force=force)
    given = [_opened(place) for place in places]
    called = list(map(str, places))
    comparison.check(list(zip(called, given, strict=True)), runners)
    found: list[tuple[str, Any]] = []
    for place, one, runner in zip(places, given, runners, strict=True):
        with progress_bar(f"comparing {place.name}, {len(found) + 1} of {len(places)}", shown=not as_json) as progress:
            kept = comparison.runs_of(one, 10 if runs is None else runs, runner, workers, progress)
        found.append((str(kept[0].manifest["name"]), comparison.flows_of(kept)))
    names = _names([name for name, _ in found], places)
    if len(set(runners)) > 1:
        kernels = [one.partition(":")[2] for one in runners]
        names = kernels if len(set(places)) == 1 else [" ".join(both) for both in zip(kernels, names, strict=True)]
    names = numbered(names)
    of_places = comparison.differences([(place, flows) for place, (_, flows) in zip(called, found, strict=True)])
    tables = list(zip(names[1:], of_places, strict=True))
    if out_:
        plots.write(_figure(names[0], tables), out_, force=force)
    if as_json:
        rows = [{"name": name} | row for name, table in tables for row in table.to_dicts()]
        print_json({"baseline": names[0], "engines": runners, "rows": rows})
        return
    columns, cells = _table(names[0], tables)
    print_table(columns, cells, numeric=columns[2:])
    for one in dict.fromkeys(runners):
        if engines.kind(one) == "kernel" and not all(place.is_dir() for place in places):
            say(f"{one}: {engines.program(one)}")
    remarks = _remarks([row for _, table in tables for row in table.iter_rows(named=True)])
    for remark in [*remarks, *_few_flows([flows for _, flows in found])]:
        say(remark)
    groups = [set(flows["group"].unique()) for _, flows in found]
    missing = set[str]().union(*groups) - {group for _, table in tables for group in table["group"]}
    if missing:
        say(f"not in both, or not with a common seed: {', '.join(sorted(missing))}")
    if out_:
        say(f"the figure is in {out_}")


def _sides(places: list[Path], options: Mapping[str, Any]) -> tuple[list[Path], list[str]]:
    """What is compared, one scenario with several kernels as often as these, and the engine of each."""
    if len(places) == 1 and options["kernel"] is not None:
        places = places * len(options["kernel"].split(","))
    if len(places) < 2:
        raise UsageError("there is nothing to compare: expected at least two scenario files or folders of runs")
    return places, _runners(places, options)


def _runners(places: Sequence[Path], options: Mapping[str, Any]) -> list[str]:
    """The engine of each place."""
    if all(place.is_dir() for place in places):
        refuse(options, "expected a scenario file, and all are folders of runs")
    engine, kernel, count = options["engine"] or "simulated", options["kernel"], len(places)
    kernels = [None] if kernel is None else kernel.split(",")
    if len(kernels) not in (1, count):
        raise UsageError(f'--kernel "{kernel}": expected one kernel, or one for each of the {count} that are compared')
    runners = [engine_of(engine, one) for one in kernels]
    return runners if len(runners) == count else runners * count


def _opened(place: Path) -> Any:
    """The scenario of a file, or the runs of one scenario in a folder."""
    from daybreak.sweeps.comparison import opened

    one = opened(place)
    if isinstance(one, list) and len({repr(run.manifest["scenario"]) for run in one}) > 1:
        names = {str(run.manifest["name"]) for run in one}
        raise OutputError(f"{place} holds runs of {len(names)} scenarios: give the folder of each by itself")
    return one


def _names(names: Sequence[str], places: Sequence[Path]) -> list[str]:
    """The scenarios' names if they are distinct, or else the shortest endings of the files' and folders' paths that
    are."""
    if len(set(names)) == len(names):
        return list(names)
    parts = [place.with_suffix("").parts if place.suffix == ".toml" else place.parts for place in places]
    endings = [["/".join(one[-count:]) for one in parts] for count in range(1, max(map(len, parts)) + 1)]
    return next((way for way in endings if len(set(way)) == len(set(parts))), list(map(str, places)))


def _units(value: str, numbers: Sequence[float | None]) -> tuple[float, str]:
    """The divisor of a row's numbers, and their unit."""
    from daybreak.metrics.units import TIMES, unit_of

    if not value.endswith("_s"):
        return 1.0, _LABELS[value]
    scale, unit = unit_of(numbers, TIMES)
    return scale, f"{_LABELS[value]} [{unit}]"


def _table(baseline: str, tables: Sequence[tuple[str, Any]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    from daybreak.metrics.units import digits, over

    first, *others = numbered([cut(name, _LONGEST) for name in (baseline, *(name for name, _ in tables))])
    columns = ["group", "what", "runs", first]
    for name in others:
        columns += [name, f"{name} - {first}"]
    by_row: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for name, table in tables:
        for row in table.iter_rows(named=True):
            by_row.setdefault((row["group"], row["value"]), {})[name] = row
    cells = []
    for (group, value), rows in by_row.items():
        scale, label = _units(value, [number for row in rows.values() for number in (row["first"], row["second"])])
        one = next(iter(rows.values()))
        line = [group, label, str(one["runs"]), digits(over(one["first"], scale))]
        for name, _ in tables:
            row = rows.get(name)
            line += [digits(over(row["second"], scale)), _difference(row, scale)] if row else ["-", "-"]
        cells.append(tuple(line))
    return tuple(columns), cells


def _remarks(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the signs in the table mean, as far as it has them."""
    remarks = {
        "* the 95 % interval of the difference excludes 0": any(row["is_different"] for row in rows),
        "± 0: no seed changes this difference, so the interval says nothing about other start times": any(
            row["difference"] and row["low"] is not None and row["low"] == row["high"] for row in rows
        ),
    }
    return [remark for remark, is_there in remarks.items() if is_there]


def _few_flows(tables: Sequence[Any]) -> list[str]:
    """A sentence about percentiles that are only the greatest value of a run's flows, if there are any."""
    from daybreak.metrics import measures

    limited = [flows.filter(flows["bytes"].is_not_null()) for flows in tables]
    counts = [count for flows in limited for count in flows.group_by("run", "group").len()["len"]]
    few = measures.few_flows(counts, [99])
    return [few] if few else []


def _difference(row: dict[str, Any], scale: float) -> str:
    """A difference with the half width of its interval, and a star if the interval excludes 0."""
    from daybreak.metrics.units import digits

    if row["unfinished"]:
        return f"- ({row['unfinished']} of {row['runs']} runs unfinished)"
    if row["difference"] is None:
        return "-"
    said = f"{'+' if row['difference'] > 0 else ''}{digits(row['difference'] / scale, 3)}"
    if row["low"] is None:
        return said
    half = digits((row["high"] - row["low"]) / 2 / scale, 2)
    return f"{said} ± {half}{' *' if row['is_different'] else '  '}"


def _figure(baseline: str, tables: Sequence[tuple[str, Any]]) -> Any:
    import polars as pl

    from daybreak.figures.forest import Difference, Panel, forest
    from daybreak.metrics.comparison import VALUES

    panels = []
    for value in VALUES:
        known = [(name, table.filter(pl.col("difference").is_not_null(), value=value)) for name, table in tables]
        rows = [(name, row) for name, table in known for row in table.iter_rows(named=True)]
        if not any(row["first"] or row["second"] for _, row in rows):
            continue
        scale, label = _units(value, [number for _, row in rows for number in (row["first"], row["second"])])
        parts = [
            Difference(
                name, row["group"], row["difference"] / scale,
                None if row["low"] is None else row["low"] / scale,
                None if row["high"] is None else row["high"] / scale,
            )
            for name, row in rows
        ]  # fmt: skip
        panels.append(Panel(label, parts))
    if not panels:
        raise PlotError("there is no difference to draw: none is known and above 0 in either")
    return forest(panels, title=f"Difference from {baseline}, with 95 % intervals")
