"""Output of commands, shared by all: progress, lines, JSON.

Names come from files of any origin: they are never read as markup, and no control character of theirs reaches the
terminal.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import typer

# Slow to import, and quick commands do not need it.
if TYPE_CHECKING:
    from rich.console import Console

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Update = Callable[..., None]
"""Called with the amount done (may be fractional), the total, and optionally a short description."""

# A bar for a very short task would only flicker.
_BAR_AFTER_S = 1.0
# Without a terminal, progress lines at growing intervals; none for short tasks.
_FIRST_LINE_AFTER_S = 2.0
_LINE_AFTER_S, _LINE_EVERY_S = 2.0, 30.0
_BEAT_EVERY_S = 0.25
# The part of a task from which on its pace tells the time that is left.
_ENOUGH = 0.05
_LEAST_WHOLE_RATE = 100

# Sentences that go to a file are not wrapped, and tables only at this width, or at COLUMNS of the environment.
_FILE_WIDTH = 200
_is_terminal = sys.stdout is not None and sys.stdout.isatty()


def plain(text: str) -> str:
    """The text with every control character escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def say(text: str) -> None:
    """Prints a line to standard output; on a terminal it is wrapped between words."""
    from rich.text import Text

    out = console()
    for line in _wrapped(plain(text), out.width) if _is_terminal else [plain(text)]:
        out.print(Text(line), soft_wrap=True)


def _wrapped(text: str, width: int) -> Iterator[str]:
    """The lines of a text that is broken between words; a longer word, such as a path, stays whole."""
    from rich.cells import cell_len

    line, *words = text.split(" ")
    for word in words:
        if line.strip() and cell_len(f"{line} {word}") > width:
            yield line
            line = word
        else:
            line = f"{line} {word}"
    yield line


def print_page(markdown: str) -> None:
    """Prints a Markdown page, rendered on a terminal and verbatim elsewhere."""
    if not _is_terminal:
        print(markdown, end="")
        return
    from rich.markdown import Markdown

    console().print(Markdown(markdown))


def complain(sentence: str) -> None:
    """Prints a line to standard error, prefixed with the program's name."""
    print(f"daybreak: {plain(sentence)}", file=sys.stderr)


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    json.dump(value, sys.stdout, indent=1)
    sys.stdout.write("\n")


@cache
def console() -> Console:
    """Standard output."""
    from rich.console import Console

    return Console(width=None if _is_terminal else _file_width(), markup=False, highlight=False, emoji=False)


def _file_width() -> int:
    """The width of tables where there is no terminal: that of the environment, if it has one."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and int(columns) else _FILE_WIDTH


@cache
def errors() -> Console:
    """Standard error."""
    from rich.console import Console

    return Console(stderr=True, markup=False, highlight=False, emoji=False)


@contextmanager
def progress_bar(title: str, shown: bool = True, stages: bool = False) -> Iterator[Update]:
    """A progress bar for tasks longer than a moment, or lines if standard error is no terminal.

    With `stages`, the description distinguishes stages, and each has its own line.
    """
    if not shown:
        yield lambda *_: None
    elif not errors().is_terminal:
        with _lines(plain(title), stages) as report:
            yield report
    else:
        with _bar(plain(title)) as report:
            yield report


@contextmanager
def _bar(title: str) -> Iterator[Update]:
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(),
        TextColumn("{task.fields[words]}", markup=False), TimeElapsedColumn(), TextColumn("{task.fields[left]}"),
    )  # fmt: skip
    bar = Progress(*columns, console=errors(), transient=True)
    task = bar.add_task(title, total=None, words="", left="")
    start, started, lock = time.monotonic(), False, threading.Lock()
    pace = _Pace(start)

    def show() -> None:
        nonlocal started
        with lock:
            if not started and time.monotonic() - start > _BAR_AFTER_S:
                bar.start()
                started = True

    def report(done: float, total: float | None, words: str = "") -> None:
        show()
        pace.report(done, total)
        # The bar has the percentage.
        count = "" if total == 1 else _count(done, total)
        said = ", ".join(part for part in (count, pace.rate(), plain(words)) if part)
        bar.update(task, completed=done, total=total, words=said, left=pace.left())

    beat = _Beat(show)
    try:
        yield report
    finally:
        beat.stop()
        bar.stop()


@contextmanager
def _lines(title: str, stages: bool) -> Iterator[Update]:
    start, said, stage, lock = time.monotonic(), "", "", threading.Lock()
    last: tuple[float, float | None, str] = (0.0, 1, "")
    due = start + _FIRST_LINE_AFTER_S
    pace = _Pace(start)

    def report(done: float, total: float | None, words: str = "") -> None:
        nonlocal last
        with lock:
            last = (done, total, words)
            pace.report(done, total)
            show(done, total, words)

    def again() -> None:
        # A line that has been printed is printed again only after a while, so that a log stays short.
        with lock:
            if not said or time.monotonic() > due + _LINE_EVERY_S:
                show(*last, is_again=True)

    def show(done: float, total: float | None, words: str, is_again: bool = False) -> None:
        nonlocal said, stage, due
        now = time.monotonic()
        is_new_stage = stages and words != stage
        counted = (_count(done, total), pace.rate(), pace.left()) if total or not stages else ()
        parts = (plain(words), *counted) if stages else (*counted, plain(words))
        line = ", ".join(part for part in parts if part)
        if not is_new_stage and (now < due or (line == said and not is_again)):
            return
        # Frequent at the start, rare enough for a log.
        said, stage, due = line, words, now + min(_LINE_EVERY_S, max(_LINE_AFTER_S, now - start))
        print(f"{title}: {line} ({_duration(now - start)})", file=sys.stderr, flush=True)

    beat = _Beat(again)
    try:
        yield report
    finally:
        beat.stop()


class _Beat:
    """Calls a function again and again while a task that reports rarely goes on."""

    def __init__(self, call: Callable[[], object]):
        self._call, self._over = call, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """No call begins after this."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(_BEAT_EVERY_S):
            self._call()


class _Pace:
    """The pace of a task: what is done per second since its start.

    What several items have done at the first report, such as runs that were found in a store, does not count. The time
    until something is done, such as that of making a plan, counts: simulations are faster at first than later.
    """

    def __init__(self, start: float):
        self._start = start
        self._first: float | None = None
        self._done = 0.0
        self._total: float | None = None

    def report(self, done: float, total: float | None) -> None:
        """Takes what is done by now."""
        if self._first is None:
            self._first = 0.0 if total == 1 else done
        elif done < self._done:
            # Another stage, which begins anew.
            self._start, self._first = time.monotonic(), done
        self._done, self._total = done, total

    def rate(self) -> str:
        """Text such as "10.4/s"; empty for a single item, or before anything is done."""
        speed = self._speed()
        if not speed or self._total == 1:
            return ""
        return f"{speed:,.0f}/s" if speed >= _LEAST_WHOLE_RATE else f"{speed:.3g}/s"

    def left(self) -> str:
        """The remaining time at this pace; empty until enough is done to tell, and in the last second."""
        speed, first = self._speed(), self._first or 0.0
        if not speed or not self._total or self._done - first < _ENOUGH * (self._total - first):
            return ""
        left = (self._total - self._done) / speed
        # A single run may end before its time, when its flows are complete.
        bound = "up to about" if self._total == 1 else "about"
        return f"{bound} {_duration(left)} left" if left >= 1 else ""

    def _speed(self) -> float:
        passed, more = time.monotonic() - self._start, self._done - (self._first or 0.0)
        return more / passed if passed > 0.1 and more > 0 else 0.0


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    return f"{whole // 60} min" if whole < 6000 else f"{whole / 3600:.1f} h"


def _count(done: float, total: float | None) -> str:
    if total == 1:
        return f"{min(done, 1.0):.0%}"
    return f"{int(done)} of {int(total)}" if total is not None else f"{int(done)}"
