"""Flows with drawn values, and their applications."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from daybreak._native import Stream
from daybreak.plan import types as plan

from ..choice import Variant
from ..quantities import Span
from ..times import drawn
from ..traffic import RequestResponse


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """What the flows of one entry between two hosts share; names of the network are not resolved yet."""

    field: str
    entry: str
    """The name of the entry."""
    name: str
    """Name of the family: the entry's, with the hosts if it has flows between several pairs."""
    group: str
    source: str
    destination: str
    variant: Variant
    via: tuple[str, ...]
    ack_via: tuple[str, ...]
    stack: str | None
    receiver_stack: str | None


class PlannedFlow(NamedTuple):
    """One flow with its drawn values."""

    of: Family
    name: str
    application: plan.Application
    start_ps: int


@cache
def bulk(size: int | None) -> plan.Bulk:
    """A bulk transfer; one object per size is shared by all flows."""
    return plan.Bulk(bytes=size)


def exchanges(asks: RequestResponse, response: int, name: str, seed: int) -> plan.RequestResponse:
    """The exchanges of flow `name` with responses of `response` bytes: all alike, or with individual random think
    times."""
    is_drawn = not isinstance(asks.think, Span)
    stream = Stream(seed, f"flow/{name}/think")
    return plan.RequestResponse(
        exchanges=[
            plan.ExchangeRun(
                count=1 if is_drawn else asks.exchanges,
                request_bytes=int(asks.request),
                response_bytes=response,
                think_ps=drawn(asks.think, stream),
            )
            for _ in range(asks.exchanges if is_drawn else 1)
        ]
    )
