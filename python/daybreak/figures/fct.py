"""Flow completion times as bars, and average rates of groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from daybreak.figures.style import WIDTH_INCHES, Picture, colour, style
from daybreak.metrics.confidence import Interval, interval

_PLACES_THAT_FIT = 10
"""Places that fit at the usual font size."""
_LETTERS_THAT_FIT = 90
"""Letters that fit side by side at the small font size."""


@dataclass(frozen=True)
class Bar:
    """One bar: its place on the x axis, its series, its mean with interval, and the published value if any."""

    place: str
    series: str
    value: Interval
    published: float | None = None

    @classmethod
    def of(cls, place: str, series: str, values: Iterable[float | None], published: float | None = None) -> Bar:
        """A bar of one value per run; None, of flows that did not end, is left out."""
        return cls(place, series, interval(value for value in values if value is not None), published)


def bars(
    values: Sequence[Bar],
    *,
    ylabel: str,
    xlabel: str = "",
    labels: dict[str, str] | None = None,
    diamond: str = "published",
    height: float = 2.6,
) -> Figure:
    """Grouped bars with 95 % confidence intervals; printed values are marked by a diamond, named ``diamond``."""
    if not values:
        raise ValueError("values: no bars given")
    names = labels or {}
    places = list(dict.fromkeys(bar.place for bar in values))
    series = list(dict.fromkeys(bar.series for bar in values))
    width = 0.8 / len(series)
    with style():
        figure = Picture(figsize=(WIDTH_INCHES, height), layout="constrained")
        axes = figure.subplots()
        for position, name in enumerate(series):
            mine = [bar for bar in values if bar.series == name]
            offset = (position - (len(series) - 1) / 2) * width
            x = [places.index(bar.place) + offset for bar in mine]
            known = [bar.value.high == bar.value.high for bar in mine]
            errors = [bar.value.margin for bar in mine]
            axes.bar(
                x,
                [bar.value.mean for bar in mine],
                width * 0.92,
                yerr=errors if any(known) else None,
                color=colour(name, position),
                label=names.get(name, name),
                error_kw={"elinewidth": 0.9, "capsize": 2.5},
            )
            printed = [(at, bar.published) for at, bar in zip(x, mine, strict=True) if bar.published is not None]
            if printed:
                axes.plot(
                    [at for at, _ in printed],
                    [value for _, value in printed],
                    linestyle="none",
                    marker="D",
                    markersize=5,
                    markerfacecolor="white",
                    markeredgecolor="black",
                    label=diamond if position == 0 else "_published",
                )
        axes.set_xticks(range(len(places)), places, fontsize=_size(places))
        axes.grid(visible=False, axis="x")
        axes.set_ylabel(ylabel)
        axes.set_xlabel(xlabel)
        axes.set_ylim(bottom=0)
        handles, texts = axes.get_legend_handles_labels()
        figure.legend(handles, texts, loc="outside upper center", ncols=5, borderaxespad=0.2)
    return figure


def _size(places: Sequence[str]) -> float | None:
    """The font size at which the labels of the places do not touch; None for the usual one."""
    if len(places) <= _PLACES_THAT_FIT:
        return None
    longest = max(len(line) for place in places for line in place.split("\n"))
    return 7 if longest * len(places) <= _LETTERS_THAT_FIT else 6
