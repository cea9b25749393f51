"""What the applications of a plan have in common."""

from __future__ import annotations

from . import types


def is_limited(application: types.Application) -> bool:
    """Whether it is ever complete."""
    match application:
        case types.Bulk():
            return application.bytes is not None
        case types.RequestResponse():
            return True
        case types.ConstantRate():
            return False
        case types.Program():
            return application.client is not None


def runs_programs(plan: types.Plan) -> bool:
    """Whether some flow is that of programs, which only real hosts can run."""
    return any(isinstance(flow.application, types.Program) for flow in plan.flows)
