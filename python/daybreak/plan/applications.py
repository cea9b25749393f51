"""Properties common to all applications of a plan."""

from __future__ import annotations

from . import types


def is_limited(application: types.Application) -> bool:
    """Whether the application ends by itself."""
    match application:
        case types.Bulk():
            return application.bytes is not None
        case types.RequestResponse():
            return True
        case types.ConstantRate():
            return False
        case types.Program():
            return application.client is not None


def has_connections(application: types.Application) -> bool:
    """Whether TCP carries it, so that its stack, its congestion control and its ACKs count."""
    match application:
        case types.Bulk() | types.RequestResponse() | types.Program():
            return True
        case types.ConstantRate():
            return False


def runs_programs(plan: types.Plan) -> bool:
    """Whether any flow belongs to programs, which only real hosts can run."""
    return any(isinstance(flow.application, types.Program) for flow in plan.flows)
