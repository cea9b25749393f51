"""Lowers timelines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from daybreak.errors import ScenarioError
from daybreak.plan import types as plan

from .. import actions
from ..timelines import Circuit, Migrate, Program
from ..traces import LinkTrace
from .gates import matched_links
from .names import look_up
from .network import Network
from .queues import limits
from .resolved import Resolved
from .routed import Routed


def timelines(resolved: Resolved, routed: Routed) -> list[plan.Timeline]:
    """All programs: those that move flows, then those that open and close links, then the others."""
    migrations, circuits, programs = [], [], []
    end_ps = int(resolved.scenario.duration)
    for i, line in enumerate(resolved.scenario.timelines):
        match line:
            case Migrate():
                migrations.append(_migration(i, line, routed.switches_of[f"timelines[{i}]"]))
            case Circuit():
                circuits += _circuit(i, line, resolved.network, routed, end_ps)
            case Program():
                programs.append(_program(i, line, resolved, routed))
            case LinkTrace():
                programs.append(_trace(i, line, resolved.network, end_ps))
            case other:
                assert_never(other)
    return migrations + circuits + programs


def _migration(index: int, program: Migrate, switches: Sequence[int]) -> plan.Timeline:
    period, night, paths = int(program.period), int(program.night), len(program.ways)
    steps = []
    for k in range(paths):
        if night:
            dark: list[plan.Action] = [plan.Darken(route_switch=s, downtime=program.downtime) for s in switches]
            steps.append(plan.TimelineStep(offset_ps=k * period, actions=dark))
        moved: list[plan.Action] = [plan.SetRoute(route_switch=s, alternative=(k + 1) % paths) for s in switches]
        steps.append(plan.TimelineStep(offset_ps=k * period + night, actions=moved))
    name = program.name or f"migrate-{index}"
    return plan.Timeline(name=name, start_ps=int(program.start) + period, period_ps=paths * period, steps=steps)


def _circuit(index: int, program: Circuit, network: Network, routed: Routed, end_ps: int) -> list[plan.Timeline]:
    name = program.name or f"circuit-{index}"
    matchings = matched_links(program, f"timelines[{index}]", network)
    links = set().union(*matchings)

    def gates(links: set[int]) -> list[tuple[int, int]]:
        return [(queue, link) for link in sorted(links) for queue in routed.queues.of_link[link]]

    def opened(links: set[int]) -> list[plan.Action]:
        return [plan.OpenGate(queue=queue, link=link) for queue, link in gates(links)]

    def closed(links: set[int]) -> list[plan.Action]:
        return [plan.CloseGate(queue=queue, link=link, downtime=program.downtime) for queue, link in gates(links)]

    steps = []
    # Gates are open when a run starts, so the first step closes those that are closed at the start of a week.
    before = links
    for offset, open_links in _states(program, matchings):
        changes = closed(before - open_links) + opened(open_links if offset == 0 else open_links - before)
        if changes:
            steps.append(plan.TimelineStep(offset_ps=offset, actions=changes))
        before = open_links
    line = plan.Timeline(name=name, start_ps=int(program.start), period_ps=program.length, steps=steps)
    if program.start == 0:
        return [line]
    # Two programs with one name, since the user has one timeline: one for the start, and one that repeats.
    dark = [plan.TimelineStep(offset_ps=0, actions=closed(links))]
    return [plan.Timeline(name=name, start_ps=0, period_ps=end_ps + 1, steps=dark), line]


def _states(program: Circuit, matchings: list[set[int]]) -> list[tuple[int, set[int]]]:
    """The links that are open from each offset of the week on."""
    states: dict[int, set[int]] = {}
    slot = int(program.day + program.night)
    for k, matching in enumerate(matchings):
        states[k * slot] = matching
        states[k * slot + int(program.day)] = set()
    # With nights of zero length the next day, or the next week, begins at the start of the night.
    for k, matching in enumerate(matchings):
        states[k * slot] = matching
    states.pop(program.length, None)
    return sorted(states.items())


def _program(index: int, program: Program, resolved: Resolved, routed: Routed) -> plan.Timeline:
    steps = []
    for i, step in enumerate(program.steps):
        done: list[plan.Action] = []
        for k, action in enumerate(step.do):
            done += _actions(action, resolved, routed, f"timelines[{index}].steps[{i}].do[{k}]")
        steps.append(plan.TimelineStep(offset_ps=int(step.at), actions=done))
    name = program.name or f"program-{index}"
    return plan.Timeline(name=name, start_ps=int(program.start), period_ps=int(program.period), steps=steps)


def _trace(index: int, trace: LinkTrace, network: Network, end_ps: int) -> plan.Timeline:
    links = [network.link(name, f"timelines[{index}].links").index for name in trace.links]
    steps = []
    for row in trace.rows:
        done: list[plan.Action] = []
        for link in links:
            if row.rate is not None:
                done.append(plan.SetRate(link=link, rate_bps=int(row.rate)))
            if row.delay is not None:
                done.append(plan.SetDelay(link=link, delay_ps=int(row.delay)))
            if row.loss is not None:
                done.append(plan.SetLoss(link=link, loss_ppb=row.loss.ppb))
        steps.append(plan.TimelineStep(offset_ps=int(row.time), actions=done))
    # Without a period it does not repeat before the run ends.
    period = int(trace.period or max(end_ps, trace.rows[-1].time) + 1)
    name = trace.name or f"trace-{index}"
    return plan.Timeline(name=name, start_ps=int(trace.start), period_ps=period, steps=steps)


def _actions(action: actions.Action, resolved: Resolved, routed: Routed, field: str) -> list[plan.Action]:
    """What one action of a scenario is in the plan: a route may have several route switches."""
    match action:
        case actions.OpenGate():
            queue, link = _gate(action, resolved.network, routed, field)
            return [plan.OpenGate(queue=queue, link=link)]
        case actions.CloseGate():
            queue, link = _gate(action, resolved.network, routed, field)
            return [plan.CloseGate(queue=queue, link=link, downtime=action.downtime)]
        case actions.SetLimit():
            packets, size = limits(None if action.limit == "unlimited" else action.limit)
            return [
                plan.SetLimit(queue=routed.queues.named(action.queue, f"{field}.queue"), packets=packets, bytes=size)
            ]
        case actions.SetRate() | actions.SetDelay() | actions.SetLoss():
            return [_of_link(action, resolved.network.link(action.link, f"{field}.link").index)]
        case actions.SetParameter():
            queue = routed.queues.named(action.queue, f"{field}.queue")
            value = routed.queues.parameter(queue, action.parameter, action.value, f"{field}.{action.parameter}")
            return [plan.SetParameter(queue=queue, parameter=action.parameter, value=value)]
        case actions.SetMark():
            markers = [marker.name for marker in resolved.scenario.markers]
            marker = look_up(action.marker, markers, f"{field}.marker", "marker")
            return [plan.SetMark(marker=marker, on=action.on)]
        case actions.SetRoute():
            route = _route(action.route, resolved, field)
            paths = len(resolved.scenario.routes[route].ways)
            if action.path >= paths:
                raise ScenarioError(f"{field}.path = {action.path}: expected one of the route's {paths} paths, from 0")
            return [
                plan.SetRoute(route_switch=switch, alternative=action.path)
                for switch in routed.switches_of[f"routes[{route}]"]
            ]
        case actions.Darken():
            route = _route(action.route, resolved, field)
            return [
                plan.Darken(route_switch=switch, downtime=action.downtime)
                for switch in routed.switches_of[f"routes[{route}]"]
            ]
        case other:
            assert_never(other)


def _of_link(action: actions.SetRate | actions.SetDelay | actions.SetLoss, link: int) -> plan.Action:
    match action:
        case actions.SetRate():
            return plan.SetRate(link=link, rate_bps=int(action.rate))
        case actions.SetDelay():
            return plan.SetDelay(link=link, delay_ps=int(action.delay))
        case actions.SetLoss():
            return plan.SetLoss(link=link, loss_ppb=action.loss.ppb)


def _gate(
    action: actions.OpenGate | actions.CloseGate, network: Network, routed: Routed, field: str
) -> tuple[int, int]:
    queue = routed.queues.named(action.queue, f"{field}.queue")
    link = network.link(action.link, f"{field}.link")
    served_by = routed.queues.all[queue].served_by
    if link.index not in served_by:
        links = ", ".join(network.links[index].name for index in served_by)
        raise ScenarioError(
            f'{field}.link = "{link.name}": expected a link that serves queue "{action.queue}", {links}',
            f"{field}.link",
        )
    return queue, link.index


def _route(name: str, resolved: Resolved, field: str) -> int:
    return look_up(name, [route.name for route in resolved.scenario.routes], f"{field}.route", "route")
