"""Refuses the words of a command, before anything is read or run: exit code 2, as for an option that does not exist.

What the words name, a file, a folder or a kernel, may be wrong as well: that is another error, with exit code 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from daybreak.errors import OutputError, ScenarioError, UsageError, whole

_MOST_SEED = 2**64 - 1


def refuse(options: Mapping[str, Any], sentence: str) -> None:
    """Raises UsageError for the first of these options that was given, since it would have no effect."""
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"--{name} {value}: {sentence}")


def are_runs(places: Iterable[Path], command: str, *, scenarios: bool = False, sweeps: bool = False) -> None:
    """Raises OutputError for a place that is known to be no run, but a scenario file or a sweep, unless the command
    takes these as well."""
    from daybreak.sweeps import is_sweep

    for place in places:
        if not sweeps and is_sweep(place):
            raise OutputError(
                f"{place} is a sweep, and daybreak {command} expects runs: daybreak plot and daybreak report show it"
            )
        if not scenarios and place.is_file() and place.suffix == ".toml":
            raise OutputError(f"{place} is a scenario file: run it first, with daybreak run {place}")


def counted(count: int, one: str, several: str = "") -> str:
    """A number of things: "1 run", "2 runs"."""
    return f"{count} {one}" if count == 1 else f"{count} {several or f'{one}s'}"


@contextmanager
def words() -> Iterator[None]:
    """Within it, errors about a name or a number are about the words of the command."""
    try:
        yield
    except ScenarioError as error:
        raise UsageError(str(error)) from None


def engine_of(engine: str, kernel: str | None) -> str:
    """The engine that --engine and --kernel choose. Raises UsageError."""
    from daybreak import engines

    with words():
        return engines.with_kernel(engine, kernel)


def seeds_of(first: int, runs: int = 1) -> range:
    """The seeds of consecutive runs. Raises UsageError."""
    with words():
        return range(whole("seed", first, 0, _MOST_SEED), whole("seed", first + runs - 1, 0, _MOST_SEED) + 1)
