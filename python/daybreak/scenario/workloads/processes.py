"""Arrival processes of flows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from daybreak._native import Stream

from ..model import Tagged
from ..quantities import FlowSize, Load, OfferedRate, Span, reject
from ..times import Time, drawn, exponential
from .rows import FromRows


class Rates(NamedTuple):
    """The rates in bit/s to which a load may refer."""

    of_link: Callable[[str], int]
    """The rate of a link by its name."""
    of_senders: Callable[[], int]
    """The total rate of all links that leave the generator's sending hosts."""


class _Process:
    """The interface of all processes."""

    @property
    def ends(self) -> bool:
        """Whether the number of arrivals is limited."""
        return False

    def gaps(self, stream: Stream, mean_bytes: float, rates: Rates) -> Iterator[int]:
        """Times from the start to the first arrival, and between successive arrivals, in ps.

        `mean_bytes` is the mean size of an arrival.
        """
        raise NotImplementedError


class Every(Tagged, _Process):
    """Arrivals at even intervals."""

    kind: Literal["every"] = "every"
    """The kind of process."""
    gap: Time
    """Time between arrivals."""

    def gaps(self, stream: Stream, mean_bytes: float, rates: Rates) -> Iterator[int]:
        yield 0
        while True:
            yield drawn(self.gap, stream)


class Poisson(Tagged, _Process):
    """A Poisson process whose rate follows from a load: flows per second times their mean size equal the load.

    Without a `link` or a `rate`, the load is a share of the total rate of all sending hosts' links: between 16 hosts
    at 10 Gbit/s, with `pairs` of kind "random", "40 %" is 64 Gbit/s. The generator of HPCC (Li et al., SIGCOMM 2019)
    defines loads in this way. The load is payload; at an MTU of 1500, headers on Ethernet take 6 % more of a link. For
    flows with an `application`, the responses and the links of the responding hosts count.
    """

    kind: Literal["poisson"] = "poisson"
    """The kind of process."""
    load: Load
    """Share of that rate that all flows of the generator offer together: "40 %", or 0.4."""
    link: str | None = None
    """The link whose rate is used instead, whether or not the flows take it."""
    rate: OfferedRate | None = None
    """The rate that is used instead, which may exceed a link's."""

    @model_validator(mode="after")
    def _has_one_rate(self) -> Self:
        if self.link is not None and self.rate is not None:
            raise reject("expected at most one of link and rate, not both")
        return self

    def gaps(self, stream: Stream, mean_bytes: float, rates: Rates) -> Iterator[int]:
        if self.link is not None:
            rate = rates.of_link(self.link)
        else:
            rate = rates.of_senders() if self.rate is None else int(self.rate)
        mean_gap = 8e12 * mean_bytes / (self.load * rate)
        while True:
            yield exponential(mean_gap, stream)


class AllAtOnce(Tagged, _Process):
    """All flows at the start: `count` of them, or by default one for each pair."""

    kind: Literal["all_at_once"] = "all_at_once"
    """The kind of process."""

    def gaps(self, stream: Stream, mean_bytes: float, rates: Rates) -> Iterator[int]:
        return repeat(0)


class Trace(FromRows, _Process):
    """Listed flows, each with its time after the start, its hosts and its size."""

    columns = {"time": "s", "from": "text", "to": "text", "size": "B"}
    rows_key = "flows"
    kind: Literal["trace"] = "trace"
    """The kind of process."""
    flows: tuple[tuple[Span, str, str, FlowSize], ...] = ()
    """Time after the start, sending host, receiving host, and size of each flow."""
    file: str | None = None
    """CSV file instead of `flows`, relative to the scenario's: columns time, from, to and size; plain numbers are
    seconds and bytes."""

    @model_validator(mode="after")
    def _has_flows(self) -> Self:
        self._has_rows(self.file)
        return self

    @property
    def ends(self) -> bool:
        return True


Process = Annotated[Every | Poisson | AllAtOnce | Trace, Field(discriminator="kind")]
"""An arrival process, selected by its `kind`."""
