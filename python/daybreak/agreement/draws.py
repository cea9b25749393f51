"""Draws from one stream of random numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

from daybreak._native import Stream

T = TypeVar("T")


class Draws:
    """What a seed and a label draw, in order."""

    def __init__(self, seed: int, label: str):
        self._stream = Stream(seed, label)

    def one(self, values: Sequence[T]) -> T:
        return values[self._stream.below(len(values))]

    def several(self, values: Sequence[T], most: int) -> list[T]:
        """0 to `most` of them, each at most once; all numbers are equally likely."""
        left = list(values)
        return [left.pop(self._stream.below(len(left))) for _ in range(self._stream.below(most + 1))]

    def chance(self, of: int) -> bool:
        """True with probability 1/`of`."""
        return self._stream.below(of) == 0

    def between(self, least: float, most: float) -> float:
        """A log-uniform number."""
        return least * math.exp(self._stream.unit() * math.log(most / least))

    def whole(self, least: int, most: int) -> int:
        """A log-uniform number without its fraction."""
        return round(self.between(least, most))
