"""daybreak plot"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from .terminal import Json, print_json, progress_bar, say
from .usage import are_runs

_DRAWN = 0.9
"""The part of the time until the figure is written, about."""


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example: daybreak plot results/migration --what throughput,cwnd --from '20 ms' -o migration.svg"
    )(plot)


def _quantity(given: str) -> list[str]:
    from daybreak.plots import DISTRIBUTIONS, QUANTITIES

    *before, last = given.split(",")
    return [",".join([*before, name]) for name in [*QUANTITIES, *DISTRIBUTIONS] if name.startswith(last)]


def plot(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Folders of runs, folders that hold folders of runs, or a sweep's folder.", metavar="RUN..."
        ),
    ],
    file: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="PNG, SVG or PDF, by its suffix; by default RUN's name with .png."),
    ] = None,
    what: Annotated[
        str | None,
        typer.Option(
            help="Some of throughput (payload as it arrives), goodput (payload delivered in order), cwnd, in_flight, "
            "rtt, queues, drops, retransmissions, sequence (payload delivered so far), with commas; all that are "
            "recorded but goodput and sequence if not given. Or one of slowdown (by size), fct, "
            "occupancy (of queues), utilisation (of links), over whole runs.",
            autocompletion=_quantity,
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="A curve for each 'flow', 'group', 'variant' or 'run'. If not given, flows if they are few; of "
            "several scenarios variants where these differ, or else runs."
        ),
    ] = None,
    facet: Annotated[
        str | None,
        typer.Option(
            help="'run' puts several scenarios beside each other instead of over each other. Of a sweep: an axis."
        ),
    ] = None,
    x: Annotated[
        str | None, typer.Option("--x", help="Of a sweep: an axis; or fct or slowdown, for their distributions.")
    ] = None,
    y: Annotated[
        str | None,
        typer.Option(
            "--y",
            help="Of a sweep: a measure such as fct.mean, fct.p99, slowdown.p99, goodput.mean, rtos, jain. An axis, "
            "with a measure as --colour, gives a heat map.",
        ),
    ] = None,
    colour: Annotated[
        str | None, typer.Option("--colour", "--color", help="Of a sweep: an axis, or group or variant of the flows.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Of a sweep: AXIS=VALUE, draw only this value. Several times.")
    ] = None,
    flows: Annotated[str | None, typer.Option(help="Only flows whose name matches this pattern.")] = None,
    from_: Annotated[str | None, typer.Option("--from", help="Start, such as '5 ms'.")] = None,
    to: Annotated[str | None, typer.Option(help="End, such as '20 ms'.")] = None,
    fold: Annotated[
        str | None,
        typer.Option(
            metavar="WEEK",
            help="Overlay all weeks of this length, such as '1.4 ms', from the first reconfiguration on; "
            "'week' is the timeline's own.",
        ),
    ] = None,
    timeline: Annotated[str | None, typer.Option(help="The timeline whose days and nights are shaded.")] = None,
    phase: Annotated[
        str | None,
        typer.Option(
            help="The phase that is shaded besides the nights, such as 'path 1' or 'day 0'; days in which the drawn "
            "flows have a circuit if not given."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that Daybreak did not make.")] = False,
    as_json: Json = False,
) -> None:
    """Draw what runs show over time: throughput, windows, RTTs, queues, drops and retransmissions.

    Days and nights are shaded. Several runs of one scenario are drawn as their mean with its 95 % interval, cut at the
    rate of the links; runs of several scenarios are overlaid. Goodput stalls at a hole and exceeds that rate when the
    hole is filled, which the figure notes. For a sweep a measure is drawn over its axes.
    """
    from daybreak import plots
    from daybreak.figures.style import unknown_letters

    are_runs(runs, "plot", sweeps=True)
    # A link has the name of what it leads to; one that leads nowhere is no run, which is said when it is read.
    place = file or Path(f"{os.path.basename(os.path.realpath(runs[0]))}.png")
    plots.check(place, force=force)
    over_time = {
        "what": what, "by": by, "flows": flows, "from": from_, "to": to, "fold": fold, "timeline": timeline,
        "phase": phase,
    }  # fmt: skip
    of_sweep = {"x": x, "y": y, "colour": colour, "only": only}
    with progress_bar("drawing", shown=not as_json) as progress:
        figure, notes = (
            _of_sweep(runs, over_time, of_sweep, facet)
            if any(map(_is_sweep, runs))
            else _of_runs(runs, over_time, of_sweep, facet)
        )
        progress(_DRAWN, 1)
        plots.write(figure, place, force=force)
    if letters := unknown_letters(figure):
        notes.append(f"no installed font has {letters}; they are drawn as boxes")
    if as_json:
        print_json({"out": str(place), "notes": notes})
        return
    for note in notes:
        say(note)
    say(f"the figure is in {place}")


def _is_sweep(place: Path) -> bool:
    from daybreak.sweeps import is_sweep

    return is_sweep(place)


def _of_runs(
    folders: list[Path], options: dict[str, Any], others: dict[str, Any], facet: str | None
) -> tuple[Any, list[str]]:
    from daybreak import plots
    from daybreak.errors import UsageError
    from daybreak.runs import read_all

    for name, value in others.items():
        if value is not None:
            raise UsageError(f"--{name} applies to sweeps only, and {folders[0]} is not one")
    if facet not in (None, "run"):
        raise UsageError(f'--facet "{facet}": expected run')
    options["from_"] = options.pop("from")
    found = [(run, str(folder)) for folder in folders for run in read_all(folder)]
    drawn = plots.draw([run for run, _ in found], labels=[label for _, label in found], facet=facet == "run", **options)
    return drawn.figure, list(drawn.notes)


def _of_sweep(
    folders: list[Path], others: dict[str, Any], options: dict[str, Any], facet: str | None
) -> tuple[Any, list[str]]:
    from daybreak.errors import UsageError
    from daybreak.plots import sweeps
    from daybreak.sweeps import read_results

    if len(folders) > 1:
        sweep = next(filter(_is_sweep, folders))
        raise UsageError(f"{sweep} is a sweep: expected a sweep alone, or only runs")
    for name, value in others.items():
        if value is not None:
            raise UsageError(f"--{name} applies to runs only, and {folders[0]} is a sweep")
    chosen = {}
    for text in options.pop("only") or ():
        name, sign, value = text.partition("=")
        if not sign:
            raise UsageError(f'--only "{text}": expected AXIS=VALUE')
        if name.strip() in chosen:
            raise UsageError(f'--only "{text}": {name.strip()} is given twice, and a figure is of one value')
        chosen[name.strip()] = value.strip()
    drawn = sweeps.draw(read_results(folders[0]), facet=facet, only=chosen, **options)
    return drawn.figure, list(drawn.notes)
