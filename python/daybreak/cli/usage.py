"""Refuses the words of a command, before anything is read or run: exit code 2, as for an option that does not exist.

What the words name, a file, a folder or a kernel, may be wrong as well: that is another error, with exit code 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from daybreak.errors import ScenarioError, UsageError, whole

_MOST_SEED = 2**64 - 1


def refuse(options: Mapping[str, Any], sentence: str) -> None:
    """Raises UsageError for the first of these options that was given, since it would have no effect."""
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"--{name} {value}: {sentence}")


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
