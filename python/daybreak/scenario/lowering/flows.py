"""The flows of a scenario one by one, with what is random drawn from streams named after them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from daybreak._native import Stream
from daybreak.errors import ScenarioError
from daybreak.plan import types as plan

from ..choice import Variant
from ..quantities import Span
from ..scenario import Scenario
from ..traffic import Arrivals, ConstantRate, Exponential, Flow, RequestResponse, Sizes, Uniform
from .choices import resolve_variant
from .cost import MOST_FLOWS

# Sums of sizes that are tried to find those that a total can be made of.
_MOST_SUMS = 5_000_000
# Drawn times are whole nanoseconds, so that a last digit that another machine's log() rounds otherwise is not seen.
_DRAWN_TO = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """What the flows of one entry of the scenario have in common; names of the network are not looked up yet."""

    field: str
    name: str
    group: str
    source: str
    destination: str
    variant: Variant
    via: tuple[str, ...]
    ack_via: tuple[str, ...]
    stack: str | None
    receiver_stack: str | None


@dataclass(frozen=True, slots=True)
class PlannedFlow:
    """One flow with its numbers."""

    of: Family
    name: str
    application: plan.Application
    start_ps: int


def planned_flows(scenario: Scenario, seed: int, variants: Sequence[str] | None) -> list[PlannedFlow]:
    """All flows, in the order of the scenario. `variants` are the congestion controls that there are."""
    flows: list[PlannedFlow] = []
    for i, written in enumerate(scenario.flows):
        flows += _flows(written, i, seed, variants)
    for i, arrivals in enumerate(scenario.arrivals):
        flows += _arrivals(arrivals, f"arrivals[{i}]", seed, variants)
        if len(flows) > MOST_FLOWS:
            break
    if not flows:
        raise ScenarioError("the scenario has no flows: expected at least one in flows or arrivals", "flows")
    if len(flows) > MOST_FLOWS:
        raise ScenarioError(f"the scenario has {len(flows)} flows: expected at most {MOST_FLOWS}", "flows")
    names: set[str] = set()
    for flow in flows:
        if flow.name in names:
            raise ScenarioError(f'{flow.of.field}.name = "{flow.name}": expected a name that no other flow has')
        names.add(flow.name)
        if flow.start_ps >= scenario.duration:
            raise ScenarioError(
                f"{flow.of.field}.start: flow {flow.name} would start at {Span(flow.start_ps)}: expected a start "
                f"before the end at {scenario.duration}",
                f"{flow.of.field}.start",
            )
    return flows


def unnamed(index: int) -> str:
    """The name of an entry that says none."""
    return f"flow-{index}"


def _flows(flow: Flow, index: int, seed: int, variants: Sequence[str] | None) -> Iterator[PlannedFlow]:
    name = flow.name or unnamed(index)
    family = Family(
        field=f"flows[{index}]", name=name, group=flow.group or name, source=flow.from_, destination=flow.to,
        variant=flow.variant, via=flow.via, ack_via=flow.ack_via, stack=flow.stack,
        receiver_stack=flow.receiver_stack,
    )  # fmt: skip
    resolve_variant(flow.variant, f"{family.field}.variant", variants)
    for k in range(flow.count):
        own_name = name if flow.count == 1 else f"{name}-{k}"
        application = _application(flow, own_name, seed)
        start = _start(flow, own_name, seed)
        if isinstance(application, plan.ConstantRate) and application.stop_ps is not None:
            _stops_after(start, application.stop_ps, own_name, f"{family.field}.application.stop")
        yield PlannedFlow(family, own_name, application, start)


def _stops_after(start_ps: int, stop_ps: int, name: str, field: str) -> None:
    if stop_ps <= start_ps:
        raise ScenarioError(
            f"{field} = {Span(stop_ps)}: expected a time after flow {name} starts at {Span(start_ps)}", field
        )


@cache
def _bulk(size: int | None) -> plan.Bulk:
    """A bulk transfer: there is one of each size, however many flows have it."""
    return plan.Bulk(bytes=size)


def _application(flow: Flow, name: str, seed: int) -> plan.Application:
    """What a flow does: a bulk transfer if it has a size."""
    if flow.size is not None:
        return _bulk(None if flow.size == "unlimited" else int(flow.size))
    match flow.application:
        case RequestResponse() as asks:
            return plan.RequestResponse(exchanges=_exchanges(asks, Stream(seed, f"flow/{name}/think")))
        case ConstantRate() as source:
            stop = None if source.stop is None else int(source.stop)
            return plan.ConstantRate(rate_bps=int(source.rate), payload_bytes=int(source.payload), stop_ps=stop)
        case None:
            raise AssertionError("a flow has a size or an application")


def _exchanges(asks: RequestResponse, stream: Stream) -> list[plan.ExchangeRun]:
    """All alike, or each with a think time of its own if that is drawn."""
    is_drawn = not isinstance(asks.think, Span)
    return [
        plan.ExchangeRun(
            count=1 if is_drawn else asks.exchanges,
            request_bytes=int(asks.request),
            response_bytes=int(asks.response),
            think_ps=_drawn(asks.think, stream),
        )
        for _ in range(asks.exchanges if is_drawn else 1)
    ]


def _start(flow: Flow, name: str, seed: int) -> int:
    if isinstance(flow.start, Span):
        return int(flow.start)
    return _drawn(flow.start, Stream(seed, f"flow/{name}/start"))


def _arrivals(arrivals: Arrivals, field: str, seed: int, variants: Sequence[str] | None) -> Iterator[PlannedFlow]:
    family = Family(
        field=field, name=arrivals.name, group=arrivals.group or arrivals.name, source=arrivals.from_,
        destination=arrivals.to, variant=arrivals.variant, via=arrivals.via, ack_via=arrivals.ack_via,
        stack=arrivals.stack, receiver_stack=arrivals.receiver_stack,
    )  # fmt: skip
    resolve_variant(arrivals.variant, f"{field}.variant", variants)
    sizes = _draw_sizes(arrivals.sizes, Stream(seed, f"sizes/{arrivals.stream or arrivals.name}"), f"{field}.sizes")
    gaps = Stream(seed, f"arrivals/{arrivals.name}/gap")
    now = _drawn(arrivals.start, Stream(seed, f"arrivals/{arrivals.name}/start"))
    for k, size in enumerate(sizes):
        if k and k % arrivals.at_once == 0:
            now += _drawn(arrivals.every, gaps)
        yield PlannedFlow(family, f"{arrivals.name}-{k}", _bulk(size), now)


def _drawn(time: Span | Uniform | Exponential, stream: Stream) -> int:
    """Picoseconds of a time, drawn if it is random."""
    if isinstance(time, Uniform):
        low, high = (int(end) // _DRAWN_TO for end in time.uniform)
        return (low + stream.below(high - low + 1)) * _DRAWN_TO
    if isinstance(time, Exponential):
        return round(-math.log(1.0 - stream.unit()) * int(time.exponential) / _DRAWN_TO) * _DRAWN_TO
    return int(time)


def _draw_sizes(sizes: Sizes, stream: Stream, field: str) -> list[int]:
    """Sizes that add up to the total: each even among those after which the rest can still be made."""
    choice = sorted({int(size) for size in sizes.choice})
    unit = math.gcd(int(sizes.total), *choice)
    steps = [size // unit for size in choice]
    total = int(sizes.total) // unit
    if total * len(steps) > _MOST_SUMS:
        raise ScenarioError(f"{field}.total = {sizes.total}: expected a total that is a rounder multiple of the sizes")
    fewest = _fewest_parts(steps, total)
    if fewest[total] > sizes.max_flows:
        listed = ", ".join(str(size) for size in sizes.choice)
        raise ScenarioError(
            f"{field}.total = {sizes.total}: at most {sizes.max_flows} flows of {listed} cannot add up to it",
            f"{field}.total",
        )
    drawn: list[int] = []
    left = total
    while left:
        flows_left = sizes.max_flows - len(drawn) - 1
        fitting = [step for step in steps if step <= left and fewest[left - step] <= flows_left]
        step = fitting[stream.below(len(fitting))]
        drawn.append(step * unit)
        left -= step
    return drawn


def _fewest_parts(steps: list[int], total: int) -> list[float]:
    """For every sum up to `total`, the fewest steps that make it; infinite where none do."""
    fewest: list[float] = [0] + [math.inf] * total
    for amount in range(1, total + 1):
        fewest[amount] = min((fewest[amount - step] for step in steps if step <= amount), default=math.inf) + 1
    return fewest
