"""Two fluids on the testbed's schedule: what FCTs would be if a shared link were shared in a given proportion at once.

The migrated fluid has its own link in even periods and shares the main one's in odd ones; in a night it stands still.
Times are in ms after the flows' start. Real flows differ by what their windows do after each move.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .columns import Array, Columns

SHARES = (0.15, 0.5, 0.85)
"""Of the shared link, for the migrated fluid: with one of them a model sees who is more aggressive."""
_STEPS = 40
"""Halvings: the times are known to a part in 10^12 of the longest."""


def features(of: Columns) -> dict[str, Array]:
    """Both FCTs and the prolongation for each of `SHARES`, in the ideal time, and where in the cycle flows end."""
    found: dict[str, Array] = {}
    for share in SHARES:
        migrated, main = completion(of, share)
        relative = (migrated - main) / of.ideal
        found |= {
            f"fluid_migrated_{share}": np.log(migrated / of.ideal), f"fluid_main_{share}": np.log(main / of.ideal),
            f"fluid_prolongation_{share}": np.sign(relative) * np.log1p(np.abs(relative)),
        }  # fmt: skip
    migrated, main = completion(of, 0.5)
    first = np.minimum(migrated, main)
    angle = np.pi * (first - of.first) / of.period
    moves = np.maximum(0.0, np.floor((main - of.first) / of.period) + 1)
    return found | {
        "moves": np.log1p(moves), "is_unmoved": (moves == 0).astype(float),
        "end_cos": np.where(first > of.first, np.cos(angle), 0.0),
        "end_sin": np.where(first > of.first, np.sin(angle), 0.0),
        "shared_part": shared(of, main) / of.ideal, "shared_ideal": shared(of, of.ideal) / of.ideal,
        "dark_part": dark(of, migrated) / of.ideal,
    }  # fmt: skip


def completion(of: Columns, share: float) -> tuple[Array, Array]:
    """When the migrated and the main fluid are through."""

    def of_migrated(until: Array) -> Array:
        """What the migrated fluid has sent while the main one is there."""
        return until - dark(of, until) - (1 - share) * shared(of, until)

    def of_main(until: Array) -> Array:
        return until - share * shared(of, until)

    most = 6 * of.ideal + 2 * of.period
    migrated, main = (_reached(sent, of.ideal, most) for sent in (of_migrated, of_main))
    is_first = migrated < main
    # Who is left alone has the whole link.
    main_after = migrated + of.ideal - of_main(migrated)
    left = of.ideal - of_migrated(main)
    migrated_after = _reached(lambda until: until - main - (dark(of, until) - dark(of, main)), left, 2 * most)
    return np.where(is_first, migrated, migrated_after), np.where(is_first, main_after, main)


def dark(of: Columns, until: Array) -> Array:
    """Time without a path up to then."""
    since = np.maximum(until - of.first, 0.0)
    return np.asarray(np.floor(since / of.period) * of.night + np.minimum(np.mod(since, of.period), of.night))


def shared(of: Columns, until: Array) -> Array:
    """Time on the main one's link up to then."""
    since = np.maximum(until - of.first, 0.0)
    rounds = np.floor(since / (2 * of.period))
    rest = since - rounds * 2 * of.period
    return np.asarray(rounds * of.day + np.clip(np.minimum(rest, of.period) - of.night, 0.0, of.day))


def _reached(sent: Callable[[Array], Array], wanted: Array, most: Array) -> Array:
    """The first time at which so much is sent."""
    low, high = np.zeros_like(most), most
    for _ in range(_STEPS):
        middle = (low + high) / 2
        enough = sent(middle) >= wanted
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high
