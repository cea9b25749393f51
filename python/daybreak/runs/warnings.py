"""Warnings about plans whose results are real but easily misread."""

from __future__ import annotations

from collections.abc import Iterator

from daybreak.plan import types as plan
from daybreak.plan.downtimes import POLICIES

_PS_PER_MS = 10**9


def warnings_of(content: plan.Plan) -> list[str]:
    """One sentence per warning."""
    return list(_locked_timeouts(content))


def _locked_timeouts(content: plan.Plan) -> Iterator[str]:
    """Lossy nights that recur exactly one shortest timeout later, so that retransmissions fall into a night again."""
    stacks = {flow.src_stack for flow in content.flows if not isinstance(flow.application, plan.ConstantRate)}
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


def _drops(action: plan.Action) -> bool:
    match action:
        case plan.Darken():
            return POLICIES[action.downtime].at_route == "lose"
        case plan.CloseGate():
            return POLICIES[action.downtime].at_gate == "empty"
        case _:
            return False
