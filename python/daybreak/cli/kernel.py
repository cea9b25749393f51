"""daybreak kernel build | doctor"""

from __future__ import annotations

from typing import Annotated

import typer

from .terminal import Json, out, print_json, print_table, progress_bar

app = typer.Typer(help="The real-kernel engine: build its image, or see what is missing.", no_args_is_help=True)
Source = Annotated[
    str | None, typer.Option(help="Kernel source: a tarball or a directory; the distribution's if not given.")
]


@app.command(epilog="Example: daybreak kernel build")
def build(source: Source = None, as_json: Json = False) -> None:
    """Build the kernel image, once for this machine. Takes some minutes."""
    from daybreak.engines.kernel import image

    with progress_bar("building the kernel", shown=not as_json) as progress:
        built = image.build(source, progress=lambda now: progress(now.done, now.total, now.stage))
    if as_json:
        print_json({"directory": str(built.directory), "source_version": built.source_version})
    else:
        out.print(f"the kernel image is in {built.directory} (Linux {built.source_version})", highlight=False)


@app.command(epilog="Example: daybreak kernel doctor")
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
