"""Intervals in a repeating period."""

from collections.abc import Iterable

Interval = tuple[int, int]
"""Half-open interval from a time to another; both may lie outside of the period."""


def changes(intervals: Iterable[Interval], period: int) -> list[tuple[int, bool]]:
    """The times of the period at which the state changes, and whether one is inside of an interval from then on. The
    first time is 0.

    Intervals that overlap or touch are merged, also across the end of the period.
    """
    pieces: list[Interval] = []
    for start, end in intervals:
        if end - start >= period:
            return [(0, True)]
        first = start % period
        last = first + end - start
        pieces += [(first, min(last, period)), (0, last - period)] if last > period else [(first, last)]
    found: list[tuple[int, bool]] = [(0, False)]
    until = 0
    for start, end in sorted(piece for piece in pieces if piece[0] < piece[1]):
        if start > until:
            found += [(until, False), (start, True)]
        elif until == 0:
            found.append((0, True))
        until = max(until, end)
    if 0 < until < period:
        found.append((until, False))
    return sorted(dict(found).items())


def is_inside(intervals: Iterable[Interval], start: int, end: int, period: int) -> bool:
    """Whether any of the intervals, in any period, begins by `end` and ends after `start`."""
    # The interval shifted by k periods ends after `start` for the least such k; with it it begins the earliest.
    return any(one_start + ((start - one_end) // period + 1) * period <= end for one_start, one_end in intervals)
