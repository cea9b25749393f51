"""daybreak reproduce"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from daybreak.errors import Interrupted, UsageError

from .scenario import Kernel
from .tables import print_table
from .terminal import Json, print_json, progress_bar, say
from .usage import engine_of, refuse, words

if TYPE_CHECKING:
    from daybreak.studies.protocol import AnyStudy
    from daybreak.studies.scoreboard import Claim


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example: daybreak reproduce etalon --racks 8",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )(reproduce)


def reproduce(
    context: typer.Context,
    study: Annotated[str, typer.Argument(help="A study of 'daybreak list studies'.")],
    figure: Annotated[list[str] | None, typer.Option(help="Only this figure; repeatable.")] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="Published sizes and numbers of runs, or reduced ones.")
    ] = False,
    engine: Annotated[str, typer.Option(help="An engine of 'daybreak list engines'.")] = "simulated",
    kernel: Kernel = None,
    seeds: Annotated[
        int | None, typer.Option(help="Runs of each setting; by default those of the mode.", min=1)
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Parallel runs; by default one per processor.", min=1)] = None,
    out_: Annotated[Path | None, typer.Option("-o", "--out", help="Folder for the results.")] = None,
    claims: Annotated[bool, typer.Option("--claims", help="Print every row of the scoreboard.")] = False,
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Vary each inference instead: which verdicts change?")
    ] = False,
    inference: Annotated[list[str] | None, typer.Option(help="With --sensitivity: only this one; repeatable.")] = None,
    as_json: Json = False,
) -> None:
    """Run a published study and put its numbers beside ours.

    Writes figures, tables and scoreboard.json. A published number that is missed is a result, not a failure. The sizes
    of a study are options as well, with the names on its page: --weeks 1000.

    With --sensitivity each inference, a number or choice that the publication does not give, takes the values that the
    study states for it, one at a time; sensitivity.csv has the verdicts that change.
    """
    from daybreak import studies
    from daybreak.studies import scales
    from daybreak.studies.reproduce import reproduce as run

    with words():
        chosen = studies.study(study)
    sizes = _sizes(context.args, [one.name for one in fields(chosen.scales["full"])])
    engine = engine_of(engine, kernel)
    mode = "full" if full else "quick"
    with words():
        scales.figures_of(chosen, figure or (), engine)
        scales.scale_of(chosen, mode, seeds, sizes)
    if sensitivity:
        if engine != "simulated":
            raise UsageError(f'--engine: --sensitivity takes no other engine than "simulated", not "{engine}"')
        _vary(chosen, inference or (), mode, figure or (), seeds, sizes, out_, workers, as_json)
        return
    refuse({"inference": inference and inference[0]}, "expected --sensitivity, whose inferences these are")
    place = out_ or Path("results") / study
    with progress_bar(f"reproducing {study}", shown=not as_json) as progress, _resumable(place):
        board = run(
            chosen, mode=mode, figures=tuple(figure or ()), engine=engine, seeds=seeds,
            sizes=sizes, out=place, progress=progress, workers=workers,
        )  # fmt: skip
    document = board.document()
    if as_json:
        print_json(document)
        return
    if claims:
        columns = ("claim", "published", "ours", "unit", "verdict")
        print_table(columns, [_row(claim) for claim in document["claims"]], numeric=("published", "ours"))
    for line in summary(board.claims, place):
        say(line)


@contextmanager
def _resumable(place: Path) -> Iterator[None]:
    """Prints how to resume an interrupted study."""
    try:
        yield
    except (Interrupted, KeyboardInterrupt):
        raise Interrupted(
            f"interrupted: finished runs are kept in {place}, the same command goes on from there"
        ) from None


def summary(claims: Sequence[Claim], place: Path) -> list[str]:
    """Summarises a reproduction in at most ten lines."""
    from daybreak.studies import tally

    drawn = sorted(path.stem for path in (place / "figures").glob("*.png"))
    lines = [f"{tally.headline(claims)}"]
    if rest := tally.others(claims):
        lines.append(f"besides: {rest}")
    if differences := tally.largest_differences(claims, 3):
        lines.append("largest differences from printed numbers:")
        lines += [
            f"  {one.what}: published {one.published:.4g}, ours {one.ours:.4g} {one.unit}".rstrip()
            for one in differences
        ]
    lines.append(f"{len(drawn)} figures in {place / 'figures'}: {', '.join(drawn[:8])}{' ...' if drawn[8:] else ''}")
    lines.append(f"every row with its verdict: {place / 'results.md'}, {place / 'scoreboard.json'}, or --claims")
    return lines


def _vary(
    study: AnyStudy, names: Sequence[str], mode: str, figures: Sequence[str], seeds: int | None,
    sizes: Mapping[str, str], out: Path | None, workers: int | None, as_json: bool,
) -> None:  # fmt: skip
    from daybreak.studies import variation
    from daybreak.studies.sensitivity import chosen, vary
    from daybreak.sweeps import Local

    with words():
        chosen(study, names)
    place = out or Path("results") / f"{study.name}-sensitivity"
    with progress_bar(f"varying {study.name}", shown=not as_json) as progress, _resumable(place):
        found = vary(
            study, names=names, mode=mode, figures=tuple(figures), seeds=seeds, sizes=sizes, out=place,
            executor=Local(workers), progress=progress,
        )  # fmt: skip
    changes = found.changes()
    if as_json:
        print_json([asdict(one) for one in changes])
        return
    columns = ("inference", "value", "claim", "as it is", "with this value")
    rows = [
        (one.inference, one.value, one.claim or "none changes", _verdict(one.verdict, one.ours),
         _verdict(one.other, one.ours_other))
        for one in changes
    ]  # fmt: skip
    print_table(columns, rows)
    say(f"{place / variation.FILE} has these rows, {place / 'figures'} a figure of them")


def _verdict(verdict: str, ours: str) -> str:
    return f"{verdict} ({ours})" if ours else verdict


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
