"""Warnings about plans and runs whose results are real but easily misread."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import polars as pl

from daybreak._native import ecn_variants, queues
from daybreak.plan import types as plan
from daybreak.plan import ways
from daybreak.plan.applications import has_connections
from daybreak.plan.downtimes import POLICIES

from .run import Run

_PS_PER_MS = 10**9


def warnings_of(content: plan.Plan) -> list[str]:
    """One sentence per warning."""
    return [*_locked_timeouts(content), *_unmarked(content)]


def unended_clients(run: Run) -> list[str]:
    """One sentence per client program that had not ended when the run did."""
    if "programs" not in run.manifest["tables"]:
        return []
    clients = run.programs.filter((pl.col("end") == "client") & pl.col("end_ns").is_null())
    at = f"when the run ended, at {run.manifest['totals']['ended_ns'] / 1e9:g} s"
    return [
        f'the client of flow "{name}" had not {"started" if start_ns is None else "ended"} {at}'
        for name, start_ns in clients.select("flow_name", "start_ns").iter_rows()
    ]


def _locked_timeouts(content: plan.Plan) -> Iterator[str]:
    """Lossy nights that recur exactly one shortest timeout later, so that retransmissions fall into a night again."""
    stacks = {flow.src_stack for flow in content.flows if has_connections(flow.application)}
    timeouts = sorted({content.stacks[index].rto_min_ps for index in stacks})
    for timeline in content.timelines:
        nights = {step.offset_ps for step in timeline.steps if any(_drops(action) for action in step.actions)}
        for timeout in timeouts:
            later = {(night + timeout) % timeline.period_ps for night in nights}
            if nights and later == {night % timeline.period_ps for night in nights}:
                yield (
                    f'timeline "{timeline.name}": its nights lose packets, and come back after '
                    f"{timeout / _PS_PER_MS:g} ms, the shortest retransmission timeout. A flow that loses its last "
                    "packets in one may send them again into others, and never end. Take a period of which no multiple "
                    "is this time"
                )


def _unmarked(content: plan.Plan) -> Iterator[str]:
    """Flows whose congestion control waits for marks, where no queue on their way marks."""

    @cache
    def is_marked(path: int) -> bool:
        return any(_marks(content.queues[queue].discipline) for queue in ways.queues(content, path))

    for variant in ecn_variants():
        rules = {number for number, rule in enumerate(content.rules) if rule.name == variant}
        flows = [flow for flow in content.flows if flow.rule in rules and has_connections(flow.application)]
        if unmarked := [flow.name for flow in flows if not (is_marked(flow.data_path) or is_marked(flow.ack_path))]:
            which = f'flow "{unmarked[0]}"' + (f" and {len(unmarked) - 1} more" if len(unmarked) > 1 else "")
            yield (
                f"{which}: {variant} reacts to marks, and no queue on its path marks: only losses slow it down. "
                'Let the bottleneck be an "ecn_threshold" queue, or one with ecn = true'
            )


def _marks(discipline: plan.Choice) -> bool:
    if discipline.name == "ecn_threshold":
        return True
    given = discipline.parameters.get("ecn")
    return discipline.name in _marking_by_default() if given is None else bool(given.value)


@cache
def _marking_by_default() -> set[str]:
    """The disciplines whose parameter ``ecn`` is on where a scenario does not say it."""
    return {
        one.name for one in queues() if any(p.name == "ecn" and p.default == ("switch", True) for p in one.parameters)
    }


def _drops(action: plan.Action) -> bool:
    match action:
        case plan.Darken():
            return POLICIES[action.downtime].at_route == "lose"
        case plan.CloseGate():
            return POLICIES[action.downtime].at_gate == "empty"
        case _:
            return False
