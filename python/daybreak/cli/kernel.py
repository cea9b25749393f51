"""daybreak kernel build | list | remove | doctor | dialogues"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .tables import print_table
from .terminal import Json, print_json, progress_bar, say
from .usage import refuse, words

if TYPE_CHECKING:
    from daybreak.engines.kernel.image import Image

Source = Annotated[
    str | None,
    typer.Option(help="Kernel source: a tarball or a directory; by default the distribution's of --linux."),
]


def add_to(app: typer.Typer) -> None:
    """Adds the command and its sub-commands."""
    app.callback(no_args_is_help=True)(kernel)
    app.command(epilog="Example: daybreak kernel build --linux 6.12 --congestion mine.c")(build)
    app.command("list", epilog="Example: daybreak kernel list")(list_)
    app.command(epilog="Example: daybreak kernel remove 6.12@250")(remove)
    app.command(epilog="Example: daybreak kernel doctor")(doctor)
    app.command(epilog="Example: daybreak kernel dialogues crates/tcp/tests/dialogues/rto.dialogue")(dialogues)


def kernel() -> None:
    """The real-kernel engine: build its images, see what is missing, run dialogues with them."""


def build(
    linux: Annotated[
        str | None,
        typer.Option(
            help="Version of the distribution's source in /usr/src; by default 6.1, or else the newest tested one."
        ),
    ] = None,
    source: Source = None,
    congestion: Annotated[
        list[Path] | None,
        typer.Option(help="C file with a Linux congestion control, which flows may then name as their variant."),
    ] = None,
    hz: Annotated[int, typer.Option(help="Ticks per second: 100, 250, 300 or 1000, like a stack's hz.")] = 1000,
    config: Annotated[Path | None, typer.Option(help="File with further kernel options, such as CONFIG_TUN=y.")] = None,
    pure: Annotated[
        bool, typer.Option("--pure", help="Edit nothing under net/: TCP as in the source, without reTCP.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Build a kernel image; one is kept for each version and each set of these options. Takes some minutes.

    Adding your own congestion control takes seconds if the image without it exists.
    """
    from daybreak.engines.kernel import image

    with progress_bar("building the kernel", shown=not as_json, stages=True) as progress:
        built = image.build(
            source, progress=lambda now: progress(now.done, now.total, now.stage), linux=linux,
            congestion=congestion or (), hz=hz, pure=pure, config=config,
        )  # fmt: skip
    if as_json:
        print_json(_document(built))
    else:
        say(f"the kernel image is in {built.directory} (Linux {built.source_version})")


def list_(as_json: Json = False) -> None:
    """Show the kernel images of this machine, and what each was made from."""
    from daybreak.engines.kernel import image

    found = image.in_order()
    if as_json:
        print_json([_document(one) for one in found])
        return
    columns = ("kernel", "ticks", "source", "congestion controls", "edits", "digest", "size", "")
    print_table(columns, [_row(one) for one in found], numeric=("ticks", "size"))


def remove(
    kernel: Annotated[str, typer.Argument(help="Its version, with its ticks if it has others (6.12@250), or digest.")],
    as_json: Json = False,
) -> None:
    """Remove one kernel image."""
    from daybreak.engines.kernel import image
    from daybreak.engines.kernel.choice import Choice

    with words():
        choice = Choice.parse(kernel)
    gone = image.remove(choice)
    if as_json:
        print_json({"removed": gone.digest})
    else:
        say(f"removed image {gone.digest[:8]} (Linux {gone.source_version}, {gone.hz} ticks)")


def _document(one: Image) -> dict[str, Any]:
    from daybreak.engines.kernel import image

    return {
        "directory": str(one.directory),
        "source_version": one.source_version,
        "hz": one.hz,
        "source": one.source,
        "variants": list(one.variants),
        "edits": list(one.edits),
        "pure": one.pure,
        "options": one.options,
        "modules": list(one.users_modules),
        "digest": one.digest,
        "size_bytes": one.size_bytes,
        "current": image.is_current(one),
    }


def _row(one: Image) -> tuple[str, ...]:
    from daybreak.engines.kernel import image

    users = [*(["pure"] if one.pure else []), *(["options"] if one.users_config else []), *one.users_modules]
    state = "" if image.is_current(one) else "of another recipe"
    return (
        f"{one.source_version}@{one.hz}", str(one.hz), one.source, ", ".join(one.variants), ", ".join(one.edits),
        one.digest[:8],
        f"{one.size_bytes / 1e6:.0f} MB", ", ".join([*users, *([state] if state else [])]),
    )  # fmt: skip


def doctor(source: Source = None, as_json: Json = False) -> None:
    """Report what this machine has for the real-kernel engine, what is missing, and how to get it."""
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
        typer.Argument(help="Dialogues; by default all of the working copy.", metavar="[FILE]..."),
    ] = None,
    kernel: Annotated[str, typer.Option(help="Version of the kernel, such as 6.12; by default 6.1.")] = "",
    kernels: Annotated[
        str | None, typer.Option(help="Several, such as 6.1,6.12: a table of the dialogues in which they differ.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Play TCP dialogues with the real kernel: one line each, exit code 1 if any differs.

    With --kernels the exit code is 0 in any case: the differences are the result.
    """
    from daybreak.engines.kernel.choice import Choice
    from daybreak.engines.kernel.dialogues import find, play

    if kernels is not None:
        refuse({"kernel": kernel or None}, "expected no --kernel beside --kernels")
        _matrix(files or find(), kernels.split(","), as_json)
        return
    with words():
        choice = Choice.parse(kernel) if kernel else Choice()
    with progress_bar("playing dialogues", shown=not as_json) as progress:
        verdicts = play(files or find(), progress=progress, choice=choice)
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


def _matrix(files: list[Path], kernels: list[str], as_json: bool) -> None:
    from daybreak.engines.kernel import matrix

    with progress_bar("playing dialogues", shown=not as_json) as progress:
        found = matrix.play(files, kernels, progress=progress)
    if as_json:
        print_json(found.document())
        return
    print_table(("dialogue", "mechanism", *found.names), found.rows())
    for name, version in zip(found.names, found.versions, strict=True):
        counts = [f"{number} {_KINDS[kind]}" for kind, number in found.counts(name).items()]
        say(f"{name} (Linux {version}): {', '.join(counts)}")


_KINDS = {"agrees": "agree", "differs": "differ", "does not apply": "do not apply", "unreadable": "are unreadable"}
