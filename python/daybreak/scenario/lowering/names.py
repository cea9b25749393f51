"""Looks names up; an unknown one is an error that lists the known ones."""

import difflib
from collections.abc import Sequence

from daybreak.errors import UnknownName

_LISTED = 20
_LONGEST = 60


def look_up(name: str, known: Sequence[str], field: str, noun: str) -> int:
    """The index of `name` in `known`."""
    try:
        return known.index(name)
    except ValueError:
        raise unknown(name, known, field, noun) from None


def unknown(name: str, known: Sequence[str], field: str, noun: str) -> UnknownName:
    """The error for a name that is not in `known`."""
    if len(name) > _LONGEST:
        name = f"{name[:_LONGEST]}..."
    if not known:
        return UnknownName(f'{field} = "{name}": there is no {noun} at all', field)
    return UnknownName(f'{field} = "{name}": there is no such {noun}{among(name, known)}', field)


def among(name: str, known: Sequence[str]) -> str:
    """The end of a sentence about an unknown name: a suggestion, if there is one, and the known names."""
    close = difflib.get_close_matches(name, known, n=1)
    guess = f' (did you mean "{close[0]}"?)' if close else ""
    listed = ", ".join(list(known)[:_LISTED])
    more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return f"{guess}; known are {listed}{more}"
