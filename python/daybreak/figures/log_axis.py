"""Logarithmic axes with plain numbers: 1, 2, 5, 10, 20, 50 ... also where they span less than a decade."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

_FEW_DECADES = 3
"""Up to these, 2 and 5 have labels as well."""
_NARROW = 10
"""With a smaller ratio between the ends of an axis its marks are evenly spaced numbers."""
_MOST_DECADES = 8
_PLAIN = 1e-3, 1e6
"""Numbers from the first to below the second have no exponent."""
_MOST_MARKS = 6


def set_log(axes: Axes, name: Literal["x", "y"]) -> None:
    """Makes the x or the y axis logarithmic, with plain numbers as labels."""
    axes.set(**{f"{name}scale": "log"})
    axis = axes.xaxis if name == "x" else axes.yaxis
    axis.set_major_locator(_Marks())
    axis.set_major_formatter(lambda value, _: label(value))
    axis.set_minor_locator(LogLocator(subs=range(2, 10)))
    axis.set_minor_formatter(NullFormatter())


def label(value: float) -> str:
    """A number as it stands at an axis: "0.5", "20", "1000"; from a million on and below a thousandth as "2×10⁶"."""
    if value <= 0 or _PLAIN[0] <= value * (1 + 1e-9) < _PLAIN[1]:
        return f"{value:.6g}"
    power = math.floor(math.log10(value) + 1e-9)
    factor = f"{value / 10**power:.3g}"
    return f"$10^{{{power}}}$" if factor == "1" else rf"${factor}\times10^{{{power}}}$"


class _Marks(LogLocator):
    """Marks at 1, 2 and 5 times the powers of ten, at the powers alone of a long axis, and evenly spaced on one that
    is shorter than a decade."""

    def tick_values(self, vmin: float, vmax: float) -> Any:
        low, high = sorted((vmin, vmax))
        if low <= 0 or high / low < _NARROW:
            return MaxNLocator(nbins=_MOST_MARKS, steps=(1, 2, 2.5, 5, 10)).tick_values(low, high)
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        is_short = math.log10(high / low) <= _FEW_DECADES
        every = max(1, math.ceil((last - first) / _MOST_DECADES))
        factors = (1, 2, 5) if is_short else (1,)
        return np.array([factor * 10.0**power for power in range(first, last + 1, every) for factor in factors])
