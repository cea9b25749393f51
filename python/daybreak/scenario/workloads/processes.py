"""Arrival processes: when flows come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Literal, Self

from pydantic import Field, model_validator

from daybreak._native import Stream

from ..model import Tagged
from ..quantities import FlowSize, OfferedRate, Span, reject
from ..times import Time, drawn, exponential
from .rows import FromRows

LinkRate = Callable[[str], int]
"""The rate of a link by its name, in bit/s."""


class _Process:
    """What all of them can tell."""

    @property
    def ends(self) -> bool:
        """Whether it makes a limited number of arrivals."""
        return False

    def gaps(self, stream: Stream, mean_bytes: float, link_rate: LinkRate) -> Iterator[int]:
        """Times from the start to the first arrival, and from each to the next, in picoseconds.

        `mean_bytes` come with each arrival.
        """
        raise NotImplementedError


class Every(Tagged, _Process):
    """One arrival after the other."""

    kind: Literal["every"] = "every"
    """Tells this process."""
    gap: Time
    """Time between arrivals."""

    def gaps(self, stream: Stream, mean_bytes: float, link_rate: LinkRate) -> Iterator[int]:
        yield 0
        while True:
            yield drawn(self.gap, stream)


class Poisson(Tagged, _Process):
    """A Poisson process whose rate follows from a load: flows a second times their mean size make the load.

    The load counts payload; headers come on top. Of flows with an `application` it counts the responses.
    """

    kind: Literal["poisson"] = "poisson"
    """Tells this process."""
    load: float = Field(gt=0, le=100)
    """Share of the rate of `link`, or of `rate`, that all flows of the generator ask for together."""
    link: str | None = None
    """The link whose rate is meant; whether the flows take it is not looked at."""
    rate: OfferedRate | None = None
    """The rate that is meant instead: that of all senders together, for example, which may be more than a link's."""

    @model_validator(mode="after")
    def _has_one_rate(self) -> Self:
        if (self.link is None) == (self.rate is None):
            raise reject(f"expected either link or rate, not {'none' if self.link is None else 'both'} of them")
        return self

    def gaps(self, stream: Stream, mean_bytes: float, link_rate: LinkRate) -> Iterator[int]:
        rate = link_rate(self.link) if self.link is not None else int(self.rate or 0)
        mean_gap = 8e12 * mean_bytes / (self.load * rate)
        while True:
            yield exponential(mean_gap, stream)


class AllAtOnce(Tagged, _Process):
    """All flows at the start: `count` of them, or else one for each of the pairs."""

    kind: Literal["all_at_once"] = "all_at_once"
    """Tells this process."""

    def gaps(self, stream: Stream, mean_bytes: float, link_rate: LinkRate) -> Iterator[int]:
        return repeat(0)


class Trace(FromRows, _Process):
    """Flows that are listed: each with its time after the start, its hosts and its size."""

    columns = {"time": "s", "from": "text", "to": "text", "size": "B"}
    rows_key = "flows"
    kind: Literal["trace"] = "trace"
    """Tells this process."""
    flows: tuple[tuple[Span, str, str, FlowSize], ...] = ()
    """Time after the start, sending host, receiving host, and size of each flow."""
    file: str | None = None
    """CSV file instead of `flows`, beside the scenario's: columns time, from, to and size; plain numbers are seconds
    and bytes."""

    @model_validator(mode="after")
    def _has_flows(self) -> Self:
        self._has_rows(self.file)
        return self

    @property
    def ends(self) -> bool:
        return True
