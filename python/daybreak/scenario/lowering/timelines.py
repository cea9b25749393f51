"""Lowers timelines."""

from __future__ import annotations

from typing import assert_never

from daybreak.errors import ScenarioError
from daybreak.plan import types as plan

from .. import actions
from ..scenario import Scenario
from ..timelines import Circuit, Migrate, Program
from ..traces import LinkTrace
from .fabric import Fabric, limits
from .moves import Moves
from .names import look_up


def timelines(scenario: Scenario, fabric: Fabric, moves: Moves) -> list[plan.Timeline]:
    """All programs: those that move flows, then those that open and close links, then the others."""
    migrations, circuits, programs = [], [], []
    for i, line in enumerate(scenario.timelines):
        match line:
            case Migrate():
                migrations.append(_migration(line, moves.migrations[i].name, moves.migrations[i].route_switches))
            case Circuit():
                circuits += _circuit(i, line, fabric, int(scenario.duration))
            case Program():
                programs.append(_program(i, line, fabric, moves))
            case LinkTrace():
                programs.append(_trace(i, line, fabric, int(scenario.duration)))
            case other:
                assert_never(other)
    return migrations + circuits + programs


def _migration(program: Migrate, name: str, switches: list[int]) -> plan.Timeline:
    period, night, paths = int(program.period), int(program.night), len(program.ways)
    steps = []
    for k in range(paths):
        if night:
            dark: list[plan.Action] = [plan.Darken(route_switch=s, downtime=program.downtime) for s in switches]
            steps.append(plan.TimelineStep(offset_ps=k * period, actions=dark))
        moved: list[plan.Action] = [plan.SetRoute(route_switch=s, alternative=(k + 1) % paths) for s in switches]
        steps.append(plan.TimelineStep(offset_ps=k * period + night, actions=moved))
    return plan.Timeline(name=name, start_ps=int(program.start) + period, period_ps=paths * period, steps=steps)


def _circuit(index: int, program: Circuit, fabric: Fabric, end_ps: int) -> list[plan.Timeline]:
    name = program.name or f"circuit-{index}"
    matchings: list[set[int]] = []
    for k, names in enumerate(program.matchings):
        field = f"timelines[{index}].matchings[{k}]"
        matchings.append({fabric.link(link, field).index for link in names})
    links = set().union(*matchings)
    for link in sorted(links):
        fabric.gate(link, name, f"timelines[{index}]")

    def opened(links: set[int]) -> list[plan.Action]:
        return [plan.OpenGate(queue=queue, link=link) for link in sorted(links) for queue in fabric.served_by(link)]

    def closed(links: set[int]) -> list[plan.Action]:
        return [
            plan.CloseGate(queue=queue, link=link, downtime=program.downtime)
            for link in sorted(links)
            for queue in fabric.served_by(link)
        ]

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


def _program(index: int, program: Program, fabric: Fabric, moves: Moves) -> plan.Timeline:
    steps = []
    for i, step in enumerate(program.steps):
        done: list[plan.Action] = []
        for k, action in enumerate(step.do):
            done += _actions(action, fabric, moves, f"timelines[{index}].steps[{i}].do[{k}]")
        steps.append(plan.TimelineStep(offset_ps=int(step.at), actions=done))
    name = program.name or f"program-{index}"
    return plan.Timeline(name=name, start_ps=int(program.start), period_ps=int(program.period), steps=steps)


def _trace(index: int, trace: LinkTrace, fabric: Fabric, end_ps: int) -> plan.Timeline:
    links = [fabric.link(name, f"timelines[{index}].links").index for name in trace.links]
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


def _actions(action: actions.Action, fabric: Fabric, moves: Moves, field: str) -> list[plan.Action]:
    """The plan's actions for one action of a scenario: a route may have several route switches."""
    match action:
        case actions.OpenGate():
            queue, link = _gate(action, fabric, field)
            return [plan.OpenGate(queue=queue, link=link)]
        case actions.CloseGate():
            queue, link = _gate(action, fabric, field)
            return [plan.CloseGate(queue=queue, link=link, downtime=action.downtime)]
        case actions.SetLimit():
            packets, size = limits(None if action.limit == "unlimited" else action.limit)
            return [plan.SetLimit(queue=fabric.queue(action.queue, f"{field}.queue"), packets=packets, bytes=size)]
        case actions.SetRate():
            link = fabric.link(action.link, f"{field}.link").index
            return [plan.SetRate(link=link, rate_bps=int(action.rate))]
        case actions.SetDelay():
            link = fabric.link(action.link, f"{field}.link").index
            return [plan.SetDelay(link=link, delay_ps=int(action.delay))]
        case actions.SetLoss():
            link = fabric.link(action.link, f"{field}.link").index
            return [plan.SetLoss(link=link, loss_ppb=action.loss.ppb)]
        case actions.SetParameter():
            queue = fabric.queue(action.queue, f"{field}.queue")
            value = fabric.parameter(queue, action.parameter, action.value, f"{field}.{action.parameter}")
            return [plan.SetParameter(queue=queue, parameter=action.parameter, value=value)]
        case actions.SetMark():
            return [plan.SetMark(marker=fabric.marker(action.marker, f"{field}.marker"), on=action.on)]
        case actions.SetRoute():
            paths = len(moves.routes[_route(action.route, moves, field)].of.ways)
            if action.path >= paths:
                raise ScenarioError(f"{field}.path = {action.path}: expected one of the route's {paths} paths, from 0")
            return [
                plan.SetRoute(route_switch=switch, alternative=action.path)
                for switch in moves.routes[action.route].route_switches
            ]
        case actions.Darken():
            switches = moves.routes[_route(action.route, moves, field)].route_switches
            return [plan.Darken(route_switch=switch, downtime=action.downtime) for switch in switches]
        case other:
            assert_never(other)


def _gate(action: actions.OpenGate | actions.CloseGate, fabric: Fabric, field: str) -> tuple[int, int]:
    queue = fabric.queue(action.queue, f"{field}.queue")
    link = fabric.link(action.link, f"{field}.link")
    if link.index not in fabric.queues[queue].served_by:
        links = ", ".join(fabric.links[index].name for index in fabric.queues[queue].served_by)
        raise ScenarioError(
            f'{field}.link = "{link.name}": expected a link that serves queue "{action.queue}", {links}',
            f"{field}.link",
        )
    return queue, link.index


def _route(name: str, moves: Moves, field: str) -> str:
    look_up(name, list(moves.routes), f"{field}.route", "route")
    return name
