"""Times of a scenario, fixed or random."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, model_validator

from daybreak._native import Stream

from .model import Model
from .quantities import Span, reject

DRAWN_TO = 1_000
"""Random times are rounded to this, so that different rounding of log() on another machine does not show."""


class Uniform(Model):
    """A time drawn uniformly between two bounds."""

    uniform: tuple[Span, Span]
    """Earliest and latest time."""

    @model_validator(mode="after")
    def _in_order(self) -> Uniform:
        if self.uniform[0] > self.uniform[1]:
            raise reject(f"expected the earlier time first, not {self.uniform[0]} before {self.uniform[1]}")
        return self


class Exponential(Model):
    """A time drawn from an exponential distribution."""

    exponential: Span = Field(gt=0)
    """Mean."""


_DRAWN = (("uniform", Uniform), ("exponential", Exponential))


def _kind_of_time(value: Any) -> str:
    for name, model in _DRAWN:
        if isinstance(value, model) or (isinstance(value, dict) and name in value):
            return model.__name__
    return "fixed"


Time = Annotated[
    Annotated[Span, Tag("fixed")] | Annotated[Uniform, Tag("Uniform")] | Annotated[Exponential, Tag("Exponential")],
    Discriminator(_kind_of_time),
]
"""A time such as "1 ms", or a random one: {uniform = ["0 s", "1 ms"]}, {exponential = "1 ms"}."""


def drawn(time: Span | Uniform | Exponential, stream: Stream) -> int:
    """The time in ps, drawn from `stream` if it is random."""
    if isinstance(time, Uniform):
        low, high = (int(end) // DRAWN_TO for end in time.uniform)
        return (low + stream.below(high - low + 1)) * DRAWN_TO
    if isinstance(time, Exponential):
        return exponential(int(time.exponential), stream)
    return int(time)


def exponential(mean_ps: float, stream: Stream) -> int:
    """A time in ps drawn from an exponential distribution with mean `mean_ps`."""
    return round(-math.log(1.0 - stream.unit()) * mean_ps / DRAWN_TO) * DRAWN_TO
