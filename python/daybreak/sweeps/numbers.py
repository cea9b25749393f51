"""The values of an axis as numbers: "50 packets" is 50 in a column whose name ends in the unit, `queue_packets`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from pydantic_core import PydanticCustomError

from daybreak.scenario import Rate, Size, Span

_PERCENT = re.compile(r"(\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?)\s*%", re.ASCII)
_PACKETS = re.compile(r"(\d+) ?packets?")


def column(name: str, values: Sequence[Any]) -> tuple[str, list[float]] | None:
    """The name of the column of numbers, and the number of each value. None unless all values have one unit and at
    least one of them names it; shares may be mixed with plain numbers: "0.1 %" and 0.01.
    """
    if not any(isinstance(value, str) for value in values):
        return None
    for unit, read in _UNITS.items():
        found = [read(value) for value in values]
        known = [number for number in found if number is not None]
        if len(known) == len(values):
            return f"{name}_{unit}", known
    return None


def same(text: str, values: Sequence[Any]) -> Any | None:
    """The one of an axis's values that a text names, as it is written or as a quantity: "1000 us" is "1 ms". None if
    there is none."""
    for value in values:
        if text == str(value):
            return value
    found = column("", [text, *values])
    if found and (number := found[1][0]) in found[1][1:]:
        return values[found[1].index(number, 1) - 1]
    return None


def _packets(value: Any) -> float | None:
    found = _PACKETS.fullmatch(value.strip()) if isinstance(value, str) else None
    return float(found[1]) if found else None


def _parsed(kind: type[Rate] | type[Size] | type[Span], value: Any) -> float | None:
    if not isinstance(value, str):
        return None
    try:
        number: int = kind.parse(value)
        return float(number)
    except PydanticCustomError:
        return None


def _span(value: Any) -> float | None:
    picoseconds = _parsed(Span, value)
    return None if picoseconds is None else picoseconds / 1000


def _rate(value: Any) -> float | None:
    return _parsed(Rate, value)


def _size(value: Any) -> float | None:
    return _parsed(Size, value)


def _share(value: Any) -> float | None:
    """A loss or a load, which may also be a plain number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    found = _PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    return float(Fraction(found[1]) / 100) if found else None


_UNITS: dict[str, Callable[[Any], float | None]] = {
    "packets": _packets, "ns": _span, "bps": _rate, "bytes": _size, "share": _share,
}  # fmt: skip
"""Parsers by the suffix of a column's name; the units are those of the records."""
