"""The errors that a user can cause. Each message is one sentence that names the field and the value."""

import operator
from collections.abc import Mapping
from types import MappingProxyType
from typing import SupportsIndex, cast


class DaybreakError(Exception):
    """Base of all of them; the command line prints the message and ends with `exit_code`."""

    exit_code = 1


class UsageError(DaybreakError):
    """A command or a function is given a word that it does not take, or that does not go with the others.

    The command line exits with code 2, as for an option that does not exist; every other error is about what the words
    name, such as a file or a run.
    """

    exit_code = 2


class ScenarioError(DaybreakError):
    """A scenario says something that is not possible.

    `field` is the path of the key ("flows[0].size"), `problems` all sentences when there are several.
    """

    def __init__(self, message: str, field: str = "", problems: tuple[str, ...] = ()):
        super().__init__(message)
        self.field = field
        self.problems = problems or (message,)


class UnknownName(ScenarioError):
    """A name that no registry or list of the scenario has; the message lists the known ones."""


class PlanError(DaybreakError):
    """An engine refused a plan."""


class EngineError(DaybreakError):
    """An engine could not finish a run."""


class ProgramFailed(EngineError):
    """A program of a run failed, and the run with it."""

    seed: int = 0
    """Seed of the run."""
    files: Mapping[str, bytes] = MappingProxyType({})
    """What all of its programs wrote, by path in a run's folder."""


class OutputError(DaybreakError):
    """A result could not be written or read."""


class PlotError(DaybreakError):
    """A figure that was asked for cannot be drawn."""


class Interrupted(DaybreakError):
    """The user pressed Ctrl-C; what was finished is kept in `finished`."""

    exit_code = 130

    def __init__(self, message: str = "interrupted", finished: tuple[object, ...] = ()):
        super().__init__(message)
        self.finished = finished


_MAX_VALUE = 60
# Python converts no longer numbers to text.
_MAX_BITS = 1000


def shown(value: object) -> str:
    """A value that a user has given, as a scenario file has it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{...}" if value else "{}"
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return "a number of hundreds of digits"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= _MAX_VALUE else text[: _MAX_VALUE - 3] + "..."


def whole(name: str, value: object, least: int, most: int | None = None) -> int:
    """A whole number that a caller has given. Raises ScenarioError."""
    try:
        number = None if isinstance(value, bool) else operator.index(cast(SupportsIndex, value))
    except TypeError:
        number = None
    if number is None or number < least or (most is not None and number > most):
        upto = "2^64 - 1" if most == 2**64 - 1 else most
        bound = f"of at least {least}" if most is None else f"from {least} to {upto}"
        raise ScenarioError(f"{name} = {shown(value)}: expected a whole number {bound}", name)
    return number


def reason(error: Exception) -> str:
    """What the system or a library says of its refusal, as the end of a sentence."""
    text = getattr(error, "strerror", None) or str(error).partition("\n")[0]
    printable = "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in text)
    # An abbreviation keeps its capitals.
    return printable if printable[1:2].isupper() else printable[:1].lower() + printable[1:]
