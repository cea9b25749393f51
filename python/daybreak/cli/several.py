"""The tables of `daybreak agree --kernels`: several kernels, the model, and each pair of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from daybreak.errors import UsageError

from .tables import print_table
from .terminal import print_json, progress_bar, say
from .usage import words

if TYPE_CHECKING:
    from daybreak.agreement.segments import Side
    from daybreak.agreement.suite import Source


def compare(
    kernels: Sequence[str], source: Source, *, quick: bool, only: Sequence[str], runs: int | None, most: int | None,
    hz: int | None, tso: int | None, sides: Sequence[Side], workers: int | None, out_: Path, as_json: bool,
) -> None:  # fmt: skip
    """Runs the requested comparison and prints it."""
    if sides:
        if most is not None:
            raise UsageError(f"--most {most}: expected whole runs, not --segments or --receivers")
        _segments(kernels, source, quick, only, runs or 1, hz, tso, sides, workers, out_, as_json)
        return
    _whole_runs(kernels, source, quick, only, runs, most, hz, tso, workers, out_, as_json)


def _segments(
    kernels: Sequence[str], source: Source, quick: bool, only: Sequence[str], runs: int, hz: int | None,
    tso: int | None, sides: Sequence[Side], workers: int | None, out_: Path, as_json: bool,
) -> None:  # fmt: skip
    from daybreak.agreement import kernels as several
    from daybreak.agreement import result

    with words():
        several.check(kernels)
    with progress_bar("replaying", shown=not as_json) as progress:
        found = several.compare(
            kernels, source, quick=quick, only=only, seeds=range(1, runs + 1), out=out_, workers=workers,
            progress=progress, sides=sides, hz=hz, tso_max_bytes=tso,
        )  # fmt: skip
    if as_json:
        print_json(found)
        return
    columns = several.columns(found)
    print_table(columns, several.by_scenario(found), numeric=columns[1:])
    for name in found["kernels"]:
        say(f"{name}: {found['programs'][name]}, beside the model of Linux {found['modelled'][name]}")
    say(f"scenarios in which all is identical are not shown; {out_ / result.KERNELS} has every end of a flow")


def _whole_runs(
    kernels: Sequence[str], source: Source, quick: bool, only: Sequence[str], runs: int | None, most: int | None,
    hz: int | None, tso: int | None, workers: int | None, out_: Path, as_json: bool,
) -> None:  # fmt: skip
    from daybreak import agreement
    from daybreak.agreement import kernels as several
    from daybreak.agreement import page

    with words():
        several.check(kernels)
    engines = [several.engine_of(kernel) for kernel in kernels]
    pairs = [(engine, agreement.MODEL) for engine in engines] + list(itertools.combinations(engines, 2))
    found = []
    for first, second in pairs:
        named = f"{page.label(first)} and {page.label(second)}"
        with progress_bar(f"comparing {named}", shown=not as_json) as progress:
            place = out_ / named.replace("Linux ", "").replace(" ", "-")
            found.append(
                agreement.agree(
                    source, quick=quick, only=only, runs=runs, most=most, out=place, workers=workers,
                    progress=progress, engines=(first, second), kept=out_ / "runs", hz=hz, tso_max_bytes=tso,
                ).result
            )  # fmt: skip
    if as_json:
        print_json(found)
        return
    columns = [" and ".join(page.labels(one)) for one in found]
    targets = [one["targets"] for one in found]
    rows = [
        (page.sentence(same[0]), page.limit(same[0]), *(f"{page.value(one)} {one['verdict']}" for one in same))
        for same in zip(*targets, strict=True)
    ]
    print_table(("target", "limit", *columns), rows)
    say(f"{out_} has a folder with agreement.json and index.html for each pair")
