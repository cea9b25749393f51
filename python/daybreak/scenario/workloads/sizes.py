"""Distributions of flow sizes.

Draws are whole bytes, at least one, from the generator's own stream.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist, fmean
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from daybreak._native import Stream
from daybreak.errors import ScenarioError

from ..model import Model, Tagged
from ..quantities import FlowSize, Size, reject
from .rows import FromRows, read_rows

# Limit on the sums that are tried when a total is composed of sizes.
_MOST_SUMS = 5_000_000
_LEAST_UNIT = 2.0**-54
"""Half of the step between two numbers of a stream, added to avoid 0."""

Points = Sequence[tuple[float, float]]
"""Points of a cumulative distribution: a size in bytes, and the share of flows that are not larger."""


class _Distribution:
    """The interface of all distributions."""

    @property
    def ends(self) -> bool:
        """Whether the number of sizes is limited."""
        return False

    @property
    def mean(self) -> float:
        """Mean in bytes."""
        raise NotImplementedError

    def draws(self, stream: Stream, field: str) -> Iterator[int]:
        """Successive sizes in bytes, drawn from `stream`. Raises ScenarioError about `field`."""
        while True:
            yield max(1, round(self.draw(stream)))

    def draw(self, stream: Stream) -> float:
        """One size in bytes, before rounding."""
        raise NotImplementedError


class FixedSizes(Tagged, _Distribution):
    """A fixed size."""

    kind: Literal["fixed"] = "fixed"
    """The kind of distribution."""
    size: FlowSize
    """The size."""

    @property
    def mean(self) -> float:
        return float(self.size)

    def draw(self, stream: Stream) -> float:
        return int(self.size)


class ChoiceOfSizes(Model, _Distribution):
    """Random sizes that add up to a total: each is drawn uniformly from those that still allow it."""

    kind: Literal["choice_with_total"] = "choice_with_total"
    """The kind of distribution; this is the default."""
    choice: tuple[Size, ...] = Field(min_length=1, max_length=1_000)
    """Sizes to choose from."""
    total: Size = Field(gt=0)
    """Their total."""
    max_flows: int = Field(default=1000, ge=1, le=100_000)
    """Most flows."""

    @model_validator(mode="after")
    def _no_empty_flow(self) -> Self:
        if min(self.choice) == 0:
            raise reject("expected sizes above 0 B to choose from")
        return self

    @property
    def ends(self) -> bool:
        return True

    @property
    def mean(self) -> float:
        """Mean of the sizes to choose from."""
        return fmean(self.choice)

    def draws(self, stream: Stream, field: str) -> Iterator[int]:
        choice = sorted({int(size) for size in self.choice})
        unit = math.gcd(int(self.total), *choice)
        steps = [size // unit for size in choice]
        left = int(self.total) // unit
        if left * len(steps) > _MOST_SUMS:
            raise ScenarioError(
                f"{field}.total = {self.total}: expected a total that is a rounder multiple of the sizes"
            )
        fewest = _fewest_parts(steps, left)
        if fewest[left] > self.max_flows:
            listed = ", ".join(str(size) for size in self.choice)
            raise ScenarioError(
                f"{field}.total = {self.total}: at most {self.max_flows} flows of {listed} cannot add up to it",
                f"{field}.total",
            )
        flows_left = self.max_flows
        while left:
            flows_left -= 1
            fitting = [step for step in steps if step <= left and fewest[left - step] <= flows_left]
            step = fitting[stream.below(len(fitting))]
            yield step * unit
            left -= step


def _fewest_parts(steps: list[int], total: int) -> list[float]:
    """For every sum up to `total` the smallest number of steps that add up to it; infinite if none do."""
    fewest: list[float] = [0] + [math.inf] * total
    for amount in range(1, total + 1):
        fewest[amount] = min((fewest[amount - step] for step in steps if step <= amount), default=math.inf) + 1
    return fewest


class UniformSizes(Tagged, _Distribution):
    """Every size between two is equally likely."""

    kind: Literal["uniform"] = "uniform"
    """The kind of distribution."""
    least: FlowSize
    """The smallest size."""
    most: FlowSize
    """The largest size."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        _refuse_disorder(self.least, self.most)
        return self

    @property
    def mean(self) -> float:
        return (self.least + self.most) / 2

    def draw(self, stream: Stream) -> float:
        return int(self.least) + stream.below(self.most - self.least + 1)


class ExponentialSizes(Tagged, _Distribution):
    """Exponentially distributed sizes."""

    kind: Literal["exponential"] = "exponential"
    """The kind of distribution."""
    mean_size: FlowSize
    """Mean."""

    @property
    def mean(self) -> float:
        return float(self.mean_size)

    def draw(self, stream: Stream) -> float:
        return -math.log(1.0 - stream.unit()) * int(self.mean_size)


class LognormalSizes(Tagged, _Distribution):
    """Sizes whose logarithm is normally distributed."""

    kind: Literal["lognormal"] = "lognormal"
    """The kind of distribution."""
    median: FlowSize
    """The size that half of the flows do not exceed; the mean is the median times exp(`sigma`² / 2)."""
    sigma: float = Field(gt=0, le=5)
    """Standard deviation of the natural logarithm of the size."""

    @property
    def mean(self) -> float:
        return float(self.median) * math.exp(self.sigma**2 / 2)

    def draw(self, stream: Stream) -> float:
        return int(self.median) * math.exp(self.sigma * NormalDist().inv_cdf(stream.unit() + _LEAST_UNIT))


class BoundedPareto(Tagged, _Distribution):
    """Pareto distributed sizes, conditioned on lying between two bounds."""

    kind: Literal["bounded_pareto"] = "bounded_pareto"
    """The kind of distribution."""
    shape: float = Field(ge=0.01, le=100)
    """Tail index: the share of flows above a size falls with its `shape`th power; the lower, the heavier the tail."""
    least: FlowSize
    """The smallest size."""
    most: FlowSize
    """The largest size."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        _refuse_disorder(self.least, self.most)
        return self

    @property
    def mean(self) -> float:
        least, share = float(self.least), self._share
        log_ratio = math.log(self.most / self.least)
        # The integral of (x / least)^-shape; its limit where the shape is 1.
        power = 1 - self.shape
        integral = math.expm1(power * log_ratio) / power if power else log_ratio
        return least * self.shape * integral / share

    def draw(self, stream: Stream) -> float:
        return float(self.least * math.pow(1.0 - stream.unit() * self._share, -1 / self.shape))

    @property
    def _share(self) -> float:
        """The cumulative share of an unbounded Pareto distribution at `most`."""
        return -math.expm1(-self.shape * math.log(self.most / self.least))


class _Empirical(_Distribution):
    """A measured distribution: linear interpolation between points of its cumulative distribution."""

    @property
    def _cdf(self) -> Points:
        raise NotImplementedError

    @property
    def mean(self) -> float:
        points = self._cdf
        between = sum((b - a) * (low + high) / 2 for (low, a), (high, b) in pairwise(points))
        return points[0][0] * points[0][1] + between

    def draw(self, stream: Stream) -> float:
        points, share = self._cdf, stream.unit()
        if share <= points[0][1]:
            return points[0][0]
        for (low, before), (high, after) in pairwise(points):
            if share <= after:
                return low + (high - low) * (share - before) / (after - before)
        raise AssertionError("the last point has the share 1")


class EmpiricalSizes(FromRows, _Empirical):
    """A measured distribution: points of its cumulative distribution, with linear interpolation between them."""

    columns = {"size": "B", "probability": "number"}
    rows_key = "points"
    kind: Literal["empirical"] = "empirical"
    """The kind of distribution."""
    points: tuple[tuple[Size, float], ...] = ()
    """Sizes, and the share of flows that are not larger, up to 1. The share of the first point has exactly its size."""
    file: str | None = None
    """CSV file instead of `points`, relative to the scenario's: columns size and probability; plain numbers are
    bytes."""

    @model_validator(mode="after")
    def _rises_to_one(self) -> Self:
        self._has_rows(self.file)
        if not self.points[0][1] >= 0 or self.points[-1][1] != 1 or self.points[-1][0] == 0:
            raise reject("expected points from a probability of at least 0 up to one of 1, with a size above 0 B")
        for (size, share), (next_size, next_share) in pairwise(self.points):
            if not (size <= next_size and share <= next_share):
                raise reject(f"expected points that rise, not {next_size} with {next_share} after {size} with {share}")
        return self

    @property
    def _cdf(self) -> Points:
        return self.points


class WebSearch(Tagged, _Empirical):
    """Flows of a cluster that answers web searches (Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010).

    The paper has a figure; the points are those of a traffic generator (Bai et al., PIAS, NSDI 2015), in
    github.com/HKUST-SING/TrafficGenerator, `conf/DCTCP_CDF.txt`. Sizes are interpolated linearly between them; the
    mean is 1.71 MB.
    """

    kind: Literal["web_search"] = "web_search"
    """The kind of distribution."""

    @property
    def _cdf(self) -> Points:
        return _shipped(self.kind)


class DataMining(Tagged, _Empirical):
    """Flows of a cluster that mines data (Greenberg et al., "VL2", SIGCOMM 2009).

    The paper has a figure; the points are those of a traffic generator (Bai et al., PIAS, NSDI 2015), in
    github.com/HKUST-SING/TrafficGenerator, `conf/VL2_CDF.txt`. Sizes are interpolated linearly between them. Half
    of the flows have at most 1.1 kB; the mean is 12.7 MB.
    """

    kind: Literal["data_mining"] = "data_mining"
    """The kind of distribution."""

    @property
    def _cdf(self) -> Points:
        return _shipped(self.kind)


class Hadoop(Tagged, _Empirical):
    """Flows of a Hadoop cluster (Roy et al., "Inside the social network's (datacenter) network", SIGCOMM 2015).

    The paper has figures; the points are those of the simulations of HPCC (Li et al., SIGCOMM 2019), in
    github.com/alibaba-edu/High-Precision-Congestion-Control, `traffic_gen/FbHdp_distribution.txt`. Sizes are
    interpolated linearly between them. Half of the flows have at most 700 B; the mean is 120 kB.
    """

    kind: Literal["hadoop"] = "hadoop"
    """The kind of distribution."""

    @property
    def _cdf(self) -> Points:
        return _shipped(self.kind)


@cache
def _shipped(name: str) -> Points:
    path = Path(str(files(__package__) / f"{name}.csv"))
    return [(size, share) for size, share in read_rows(path, {"size": "number", "probability": "number"}, "kind")]


def _refuse_disorder(least: FlowSize, most: FlowSize) -> None:
    if least >= most:
        raise reject(f"expected least below most, not {least} and {most}")


def _choice_if_not_said(value: Any) -> Any:
    return {"kind": ChoiceOfSizes.model_fields["kind"].default} | value if isinstance(value, dict) else value


Sizes = Annotated[
    FixedSizes
    | ChoiceOfSizes
    | UniformSizes
    | ExponentialSizes
    | LognormalSizes
    | BoundedPareto
    | EmpiricalSizes
    | WebSearch
    | DataMining
    | Hadoop,
    Field(discriminator="kind"),
    BeforeValidator(_choice_if_not_said),
]
"""A distribution of sizes, selected by its `kind`."""
