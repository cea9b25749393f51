"""A flow with its numbers, and what flows do."""

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
    """What flows of one entry of the scenario between two hosts have in common; names of the network are not looked up
    yet.
    """

    field: str
    entry: str
    """The name of the entry."""
    name: str
    """That of the entry, with the hosts where it has flows between several."""
    group: str
    source: str
    destination: str
    variant: Variant
    via: tuple[str, ...]
    ack_via: tuple[str, ...]
    stack: str | None
    receiver_stack: str | None


class PlannedFlow(NamedTuple):
    """One flow with its numbers."""

    of: Family
    name: str
    application: plan.Application
    start_ps: int


@cache
def bulk(size: int | None) -> plan.Bulk:
    """A bulk transfer: there is one of each size, however many flows have it."""
    return plan.Bulk(bytes=size)


def exchanges(asks: RequestResponse, response: int, name: str, seed: int) -> plan.RequestResponse:
    """The exchanges of flow `name`: all alike, or each with a think time of its own if that is drawn."""
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
