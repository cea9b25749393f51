"""How many published numbers and statements of a study hold as one inference at a time is varied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from daybreak.figures.style import BLUE, VERMILION, WIDTH_INCHES, style, words


@dataclass(frozen=True)
class Row:
    """One value of one inference: the number of claims that hold, of those judged."""

    name: str
    numbers: int
    numbers_judged: int
    statements: int
    statements_judged: int


def sensitivity(rows: Sequence[Row]) -> Figure:
    """Draws one line per row, with a dot for the numbers and one for the statements, in percent of those judged; a kind
    without any judged is left out.

    The first row is the unchanged study: vertical lines mark its dots.
    """
    if not rows:
        raise ValueError("rows: none given")
    with style():
        figure, axes = plt.subplots(figsize=(WIDTH_INCHES, 0.8 + 0.2 * len(rows)), layout="constrained")
        places = range(len(rows))
        for label, colour, marker, parts in (
            ("printed numbers", BLUE, "o", [(row.numbers, row.numbers_judged) for row in rows]),
            ("printed statements", VERMILION, "D", [(row.statements, row.statements_judged) for row in rows]),
        ):
            if not any(judged for _, judged in parts):
                continue
            shares = [100 * hold / judged if judged else float("nan") for hold, judged in parts]
            axes.plot(shares, places, marker, color=colour, markersize=4, label=label)
            axes.axvline(shares[0], color=colour, linewidth=0.8, linestyle=":")
        axes.set_yticks(list(places), [words(row.name) for row in rows])
        axes.invert_yaxis()
        axes.set_xlim(-3, 103)
        axes.set_xlabel("Held, in percent of those judged")
        figure.legend(loc="outside upper center", ncols=2)
    plt.close(figure)
    return figure
