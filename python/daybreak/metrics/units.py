"""Formats numbers for people: significant digits, and one unit for each quantity of a table or a figure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

Units = Sequence[tuple[float, str]]
RATES: Units = ((1e3, "Tbit/s"), (1.0, "Gbit/s"), (1e-3, "Mbit/s"), (1e-6, "kbit/s"), (1e-9, "bit/s"))
"""Of rates in Gbit/s."""
TIMES: Units = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
"""Of times in seconds."""
SIZES: Units = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
"""Of sizes in bytes."""


def span(over: int, upto: int | None) -> str:
    """A bin of sizes, such as "10 kB to 100 kB"."""
    if upto is None:
        return f"over {size(over)}"
    return f"to {size(upto)}" if over == 0 else f"{size(over)} to {size(upto)}"


def size(count: int | None) -> str:
    """A size with the decimal unit that reads best."""
    return "unlimited" if count is None else _scaled(float(count), SIZES)


def rate(gbps: float) -> str:
    """A rate with the unit that reads best."""
    return _scaled(gbps, RATES)


def time(seconds: float | None, count: int = 4) -> str:
    """A time with the unit that reads best, in ``count`` significant digits."""
    return "-" if seconds is None else _scaled(float(seconds), TIMES, count)


def with_margin(mean: float, margin: float, scale: float = 1.0) -> str:
    """A mean with its margin of error in units of ``scale``, such as "2.847 ± 0.90"; without a margin of 0."""
    return digits(mean / scale) + (f" ± {digits(margin / scale, 2)}" if margin else "")


def time_with_margin(seconds: float, margin: float) -> str:
    """A mean time with its margin of error, in the unit that reads best."""
    scale, unit = unit_of([max(abs(seconds), margin)], TIMES)
    return f"{with_margin(seconds, margin, scale)} {unit}"


def in_one_unit(values: Iterable[float | None], units: Units) -> tuple[list[str], str]:
    """The values as texts, all in the unit that reads best for most of them."""
    kept = list(values)
    scale, unit = unit_of(kept, units)
    return [digits(over(value, scale)) for value in kept], unit


def unit_of(values: Iterable[float | None], units: Units) -> tuple[float, str]:
    """The unit for all values: that of their geometric mean, or the one they are given in if all are 0."""
    logarithms = [math.log(abs(value)) for value in values if value]
    middle = math.exp(math.fsum(logarithms) / len(logarithms)) if logarithms else 1.0
    return next(((size, unit) for size, unit in units if middle >= size * (1 - 1e-9)), units[-1])


def digits(value: float | None, count: int = 4) -> str:
    """A number with ``count`` significant digits and without an exponent; a dash for None."""
    if value is None or math.isnan(value):
        return "-"
    if value == 0 or math.isinf(value):
        return f"{value:g}"
    after = count - 1 - int(f"{value:.{count - 1}e}".partition("e")[2])
    return f"{round(value, after):.{max(0, after)}f}" if after < 18 else f"{value:.{count - 1}e}"


def over(value: float | None, scale: float) -> float | None:
    """The value in units of `scale`; None stays None."""
    return None if value is None else value / scale


def _scaled(value: float, units: Units, count: int = 4) -> str:
    size, unit = next(((size, unit) for size, unit in units if abs(value) >= size), units[-1])
    # Rounded first: a number of few digits has no exponent.
    return f"{float(f'{value / size:.{count}g}'):.6g} {unit}" if value else f"0 {unit}"
