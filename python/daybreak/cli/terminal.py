"""What commands share in talking to people and machines: progress bars, tables, JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Report = Callable[..., None]
"""Called with what is done (fractions count), of how much, and perhaps a few words about it."""

# A bar that is gone at once only flickers.
_BAR_AFTER_S = 1.0

# What is not a terminal has no width to wrap at.
out = Console(width=None if sys.stdout.isatty() else 200)
_err = Console(stderr=True)


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    json.dump(value, sys.stdout, indent=1, ensure_ascii=False)
    sys.stdout.write("\n")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[str] = ()) -> None:
    """A table for people; `numeric` columns stand to the right."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in numeric else "left", no_wrap=column in numeric)
    for row in rows:
        table.add_row(*row)
    out.print(table)


@contextmanager
def progress_bar(title: str, shown: bool = True) -> Iterator[Report]:
    """A bar on the terminal, if there is one, for what takes longer than a moment."""
    columns = (
        TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[words]}"),
        TimeElapsedColumn(), TimeRemainingColumn(compact=True),
    )  # fmt: skip
    bar = Progress(*columns, console=_err, transient=True, disable=not (shown and _err.is_terminal))
    task = bar.add_task(title, total=None, words="")
    start, started = time.monotonic(), False

    def report(done: float, total: float, words: str = "") -> None:
        nonlocal started
        if not started and time.monotonic() - start > _BAR_AFTER_S:
            bar.start()
            started = True
        bar.update(task, completed=done, total=total, words=words or f"{int(done)} of {int(total)}")

    try:
        yield report
    finally:
        bar.stop()
