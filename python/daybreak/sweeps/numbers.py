"""The values of an axis as numbers: "50 packets" is 50 in a column whose name ends in the unit, `queue_packets`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from pydantic_core import PydanticCustomError

from daybreak.scenario import Rate, Size, Span

_PACKETS = re.compile(r"(\d+) ?packets?")


def column(name: str, values: Sequence[Any]) -> tuple[str, list[float]] | None:
    """The name of the column of numbers, and the number of each value; None unless all values have one unit."""
    for unit, read in _UNITS.items():
        numbers = [read(value) if isinstance(value, str) else None for value in values]
        known = [number for number in numbers if number is not None]
        if known and len(known) == len(values):
            return f"{name}_{unit}", known
    return None


def _packets(text: str) -> float | None:
    found = _PACKETS.fullmatch(text.strip())
    return float(found[1]) if found else None


def _span(text: str) -> float | None:
    picoseconds = _parsed(Span, text)
    return None if picoseconds is None else picoseconds / 1000


def _parsed(kind: type[Rate] | type[Size] | type[Span], text: str) -> float | None:
    try:
        value: int = kind.parse(text)
        return float(value)
    except PydanticCustomError:
        return None


def _rate(text: str) -> float | None:
    return _parsed(Rate, text)


def _size(text: str) -> float | None:
    return _parsed(Size, text)


_UNITS: dict[str, Callable[[str], float | None]] = {"packets": _packets, "ns": _span, "bps": _rate, "bytes": _size}
"""By the ending of a column's name, how a text is read; the units are those of the records."""
