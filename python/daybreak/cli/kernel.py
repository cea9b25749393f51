"""daybreak kernel build | doctor | dialogues"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .tables import print_table
from .terminal import Json, print_json, progress_bar, say

Source = Annotated[
    str | None,
    typer.Option(help="Kernel source: a tarball or a directory; the distribution's newest tested one if not given."),
]


def add_to(app: typer.Typer) -> None:
    """Adds the command and its sub-commands."""
    app.callback(no_args_is_help=True)(kernel)
    app.command(epilog="Example: daybreak kernel build --congestion mine.c")(build)
    app.command(epilog="Example: daybreak kernel doctor")(doctor)
    app.command(epilog="Example: daybreak kernel dialogues crates/tcp/tests/dialogues/rto.dialogue")(dialogues)


def kernel() -> None:
    """The real-kernel engine: build its image, see what is missing, run dialogues with it."""


def build(
    source: Source = None,
    congestion: Annotated[
        list[Path] | None,
        typer.Option(help="C file with a Linux congestion control, which flows may then name as their variant."),
    ] = None,
    hz: Annotated[int, typer.Option(help="Ticks a second of its clock: 100, 250 or 1000, as a stack's hz.")] = 1000,
    as_json: Json = False,
) -> None:
    """Build the kernel image, once for this machine and for each hz. Takes some minutes."""
    from daybreak.engines.kernel import image

    with progress_bar("building the kernel", shown=not as_json, stages=True) as progress:
        built = image.build(
            source, progress=lambda now: progress(now.done, now.total, now.stage), congestion=congestion or (), hz=hz
        )
    if as_json:
        print_json(
            {
                "directory": str(built.directory),
                "source_version": built.source_version,
                "hz": built.hz,
                "variants": list(built.variants),
            }
        )
    else:
        say(f"the kernel image is in {built.directory} (Linux {built.source_version})")


def doctor(source: Source = None, as_json: Json = False) -> None:
    """Say what this machine has for the real-kernel engine, what is missing, and how to get it."""
    from daybreak.engines.kernel.doctor import doctor as diagnose

    found = diagnose(source)
    if as_json:
        print_json(
            {"can_run": found.can_run, "can_build": found.can_build, "findings": [f.as_json() for f in found.findings]}
        )
    else:
        rows = [(f.name, f.status, f.detail, f.remedy) for f in found.findings]
        print_table(("what", "status", "found", "remedy"), rows)
    if not found.can_run:
        raise typer.Exit(1)


def dialogues(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Dialogues; all of the working copy if none is given.", metavar="[FILE]..."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Play TCP dialogues with the real kernel: one line each, exit code 1 if it says anything else."""
    from daybreak.engines.kernel.dialogues import find, play

    with progress_bar("playing dialogues", shown=not as_json) as progress:
        verdicts = play(files or find(), progress=progress)
    if as_json:
        print_json([{"name": v.name, "verdict": v.kind, "line": v.line, "problem": v.problem} for v in verdicts])
    else:
        for verdict in verdicts:
            at = f" at line {verdict.line}" if verdict.line else ""
            why = f": {verdict.problem}" if verdict.problem else ""
            say(f"{verdict.name}: {verdict.kind}{at}{why}")
        counts = [f"{sum(v.kind == kind for v in verdicts)} {words}" for kind, words in _KINDS.items()]
        say(f"{len(verdicts)} dialogues: {', '.join(counts)}")
    if not all(verdict.is_good for verdict in verdicts):
        raise typer.Exit(1)


_KINDS = {"agrees": "agree", "differs": "differ", "does not apply": "do not apply", "unreadable": "are unreadable"}
