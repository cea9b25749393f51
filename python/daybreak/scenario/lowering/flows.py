"""The flows of a scenario, with random values drawn from streams named after them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from daybreak._native import Stream
from daybreak.errors import ScenarioError
from daybreak.plan import types as plan

from ..programs import Programs
from ..quantities import Span
from ..scenario import Scenario
from ..times import drawn
from ..traffic import ConstantRate, Flow, RequestResponse
from .arrivals import arriving_flows
from .choices import resolve_variant
from .cost import MOST_FLOWS, refuse_many_flows
from .hosts import Ends, HostGroups, ends_of
from .planned import Family, PlannedFlow, bulk, exchanges
from .programs import programs


def planned_flows(scenario: Scenario, seed: int, variants: Sequence[str] | None) -> list[PlannedFlow]:
    """All flows, in the order of the scenario. `variants` are the available congestion controls."""
    flows: list[PlannedFlow] = []
    groups = HostGroups(scenario.nodes, scenario.links)
    ends = [ends_of(written, groups, f"flows[{i}]") for i, written in enumerate(scenario.flows)]
    refuse_many_flows(scenario.flows, [len(one) for one in ends])
    for i, written in enumerate(scenario.flows):
        flows += _flows(written, i, ends[i], seed, variants)
    for i in range(len(scenario.arrivals)):
        flows += arriving_flows(scenario, i, seed, variants, MOST_FLOWS - len(flows))
    if not flows:
        raise ScenarioError("the scenario has no flows: expected at least one in flows or arrivals", "flows")
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
    """The default name of an entry."""
    return f"flow-{index}"


def _flows(flow: Flow, index: int, ends: Ends, seed: int, variants: Sequence[str] | None) -> Iterator[PlannedFlow]:
    entry, field = flow.name or unnamed(index), f"flows[{index}]"
    resolve_variant(flow.variant, f"{field}.variant", variants)
    for source, destination in ends:
        name = ends.name(entry, source, destination)
        family = Family(
            field=field, entry=entry, name=name, group=flow.group or entry, source=source, destination=destination,
            variant=flow.variant, via=flow.via, ack_via=flow.ack_via, stack=flow.stack,
            receiver_stack=flow.receiver_stack,
        )  # fmt: skip
        for k in range(flow.count):
            own_name = name if flow.count == 1 else f"{name}-{k}"
            application, start = _application(flow, family, own_name, seed), _start(flow, own_name, seed)
            _refuse_early_stops(application, start, own_name, f"{field}.application")
            yield PlannedFlow(family, own_name, application, start)


def _refuse_early_stops(application: plan.Application, start_ps: int, name: str, field: str) -> None:
    if isinstance(application, plan.ConstantRate) and application.stop_ps is not None:
        _stops_after(start_ps, application.stop_ps, name, f"{field}.stop")
    if isinstance(application, plan.Program):
        for end, command in (("client", application.client), ("server", application.server)):
            if command is not None and command.stop_ps is not None:
                _stops_after(start_ps, command.stop_ps, name, f"{field}.{end}.stop")


def _stops_after(start_ps: int, stop_ps: int, name: str, field: str) -> None:
    if stop_ps <= start_ps:
        raise ScenarioError(
            f"{field} = {Span(stop_ps)}: expected a time after flow {name} starts at {Span(start_ps)}", field
        )


def _application(flow: Flow, family: Family, name: str, seed: int) -> plan.Application:
    """The application of a flow: a bulk transfer if it has a size."""
    if flow.size is not None:
        return bulk(None if flow.size == "unlimited" else int(flow.size))
    match flow.application:
        case RequestResponse() as asks:
            return exchanges(asks, int(asks.response or 0), name, seed)
        case ConstantRate() as source:
            stop = None if source.stop is None else int(source.stop)
            return plan.ConstantRate(rate_bps=int(source.rate), payload_bytes=int(source.payload), stop_ps=stop)
        case Programs() as runs:
            return programs(runs, family.source, family.destination)
        case None:
            raise AssertionError("a flow has a size or an application")


def _start(flow: Flow, name: str, seed: int) -> int:
    if isinstance(flow.start, Span):
        return int(flow.start)
    return drawn(flow.start, Stream(seed, f"flow/{name}/start"))
