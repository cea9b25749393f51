"""daybreak agree"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from daybreak.errors import UsageError

from . import several
from .tables import print_table
from .terminal import Json, print_json, progress_bar, say
from .usage import engine_of

if TYPE_CHECKING:
    from daybreak.agreement.segments import Side
    from daybreak.agreement.suite import Source


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example: daybreak agree --quick --only 'buffer-*'")(agree)


def agree(
    suite: Annotated[
        Path | None, typer.Argument(help="A suite file; by default the suite that comes with Daybreak.")
    ] = None,
    random: Annotated[
        int | None, typer.Option(help="Number of random scenarios, drawn with --seed, instead of a suite file.", min=1)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of --random; by default 1.", min=0)] = None,
    wide: Annotated[
        bool, typer.Option("--wide", help="With --random: several settings of the stacks at once, any rate and RTT.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick/--full", help="The quick subset, or all scenarios.")] = False,
    runs: Annotated[int | None, typer.Option(help="Runs of each scenario; by default 3 or 8.", min=1)] = None,
    most: Annotated[
        int | None,
        typer.Option(
            help="Largest number of runs of a scenario until each of its rows is decided; by default 100.", min=1
        ),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Only scenarios whose name matches this pattern; repeatable.")
    ] = None,
    segments: Annotated[
        bool,
        typer.Option(
            "--segments", help="Compare every segment of senders: the model gets what the kernel's sender got."
        ),
    ] = False,
    receivers: Annotated[
        bool,
        typer.Option(
            "--receivers", help="Compare every segment of receivers: the model gets what the kernel's receiver got."
        ),
    ] = False,
    hz: Annotated[
        int | None,
        typer.Option(help="Ticks per second of the hosts; by default 1000.", min=1),
    ] = None,
    tso: Annotated[
        int | None,
        typer.Option(
            help="tso_max_bytes of the hosts, the largest burst; by default 0, none.",
            min=1,
            max=65_536,
        ),
    ] = None,
    kernel: Annotated[
        str | None, typer.Option(help="The kernel: its version, such as 6.12 or 6.12@250, or digest; by default 6.1.")
    ] = None,
    kernels: Annotated[
        str | None,
        typer.Option(help="Several kernels, such as 6.1,6.12: each against the model, and each pair."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with code 1 if a target is missed.")] = False,
    workers: Annotated[int | None, typer.Option(help="Parallel runs; by default one per processor.", min=1)] = None,
    out_: Annotated[Path, typer.Option("-o", "--out", help="Folder for the results.")] = Path("results/agreement"),
    as_json: Json = False,
) -> None:
    """Run a suite on the real kernel and on the simulator, and report how far they are apart.

    Writes agreement.json and index.html. Finished runs are stored, so the command resumes where it was stopped. With
    --segments, each scenario runs on the kernel with seeds 1 to RUNS (1 if not given), and segments.json shows how far
    the model sends the same segments. With --receivers, receivers.json does so for the other ends; with both options,
    both files are written. For requests and responses the ends are the requesting and the responding one.

    With --kernels, one table has each kernel against the model and the kernels against each other: with --segments or
    --receivers segment by segment (kernels.json), else by the suite's targets, with a folder a pair.
    """
    source = _source(suite, random, seed, wide=wide)
    engine = engine_of("kernel", kernel)
    if kernels is not None:
        if kernel is not None:
            raise UsageError(f"--kernels {kernels}: expected no --kernel")
        several.compare(
            kernels.split(","), source, quick=quick, only=only or [], runs=runs, most=most, hz=hz,
            tso=tso,
            sides=_sides(segments=segments, receivers=receivers), workers=workers, out_=out_, as_json=as_json,
        )  # fmt: skip
        return
    if segments or receivers:
        _refuse_for_a_replay(most)
        _segments(
            source,
            engine=engine,
            quick=quick,
            runs=runs or 1,
            only=only or [],
            hz=hz,
            tso=tso,
            sides=_sides(segments=segments, receivers=receivers),
            strict=strict,
            workers=workers,
            out_=out_,
            as_json=as_json,
        )
        return
    from daybreak import agreement
    from daybreak.agreement import page

    with progress_bar("comparing", shown=not as_json) as progress:
        found = agreement.agree(
            source, quick=quick, only=only or (), runs=runs, most=most, out=out_, workers=workers, progress=progress,
            engines=(engine, agreement.MODEL), hz=hz, tso_max_bytes=tso,
        )  # fmt: skip
    if as_json:
        print_json(found.result)
    else:
        rows = [
            (page.sentence(t), page.limit(t), page.value(t), str(t["rows"]), t["verdict"])
            for t in found.result["targets"]
        ]
        print_table(("target", "limit", "found", "rows", "verdict"), rows, numeric=("found", "rows"))
        columns = ("scenario", "metric", *page.labels(found.result), "difference", "cause")
        print_table(columns, [page.worst_line(row) for row in found.result["worst"]])
        say(f"agreement.json and index.html are in {out_}")
    if strict and not found.is_reached:
        raise typer.Exit(1)


def _source(suite: Path | None, random: int | None, seed: int | None, *, wide: bool) -> Source:
    if random is None:
        if wide:
            raise UsageError("--wide: expected --random, whose scenarios it draws")
        if seed is not None:
            raise UsageError(f"--seed {seed}: expected --random, whose scenarios it draws")
        return suite
    from daybreak.agreement import drawn

    if suite is not None:
        raise UsageError(f"--random {random}: expected no suite, and {suite} is one")
    return drawn.cases(random, 1 if seed is None else seed, wide=wide)


def _sides(*, segments: bool, receivers: bool) -> list[Side]:
    sides: list[Side] = ["sender"] if segments else []
    return [*sides, "receiver"] if receivers else sides


def _refuse_for_a_replay(most: int | None) -> None:
    if most is not None:
        raise UsageError(f"--most {most}: expected whole runs, not --segments or --receivers, which take --runs")


def _segments(
    suite: Source, *, engine: str, quick: bool, runs: int, only: list[str], hz: int | None, tso: int | None,
    sides: list[Side], strict: bool, workers: int | None, out_: Path, as_json: bool,
) -> None:  # fmt: skip
    from daybreak.agreement import segments
    from daybreak.agreement.compare import PASS

    seeds = range(1, runs + 1)
    with progress_bar("replaying", shown=not as_json) as progress:
        documents = segments.replay(
            suite, quick=quick, only=only, seeds=seeds, out=out_, workers=workers, progress=progress, engine=engine,
            sides=sides, hz=hz, tso_max_bytes=tso,
        )  # fmt: skip
    if as_json:
        print_json(documents if len(sides) > 1 else documents[sides[0]])
    else:
        for side, found in documents.items():
            if len(sides) > 1:
                say(f"{side}s:")
            print_table(segments.COLUMNS, segments.by_scenario(found), numeric=segments.COLUMNS[1:4])
            say(
                f"{found['programs'][engine]}, model of Linux {found['linux']}: {segments.sentence(found)}"
                if ":" in engine
                else segments.sentence(found)
            )
            say(f"{segments.result_name(side)} is in {out_}")
    if strict and any(found["verdict"] != PASS for found in documents.values()):
        raise typer.Exit(1)
