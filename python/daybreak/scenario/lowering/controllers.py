"""Lowers controllers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar, assert_never

from daybreak.plan import types as plan

from ..controllers import CircuitController, FlowController
from ..quantities import Span
from .choices import entry_of, resolve
from .cost import refuse_frequent_readings
from .gates import controlled_links
from .names import unknown
from .network import Network
from .planned import PlannedFlow
from .queues import Queues
from .resolved import Resolved
from .routed import Routed

_Value = TypeVar("_Value")


def controllers(resolved: Resolved, routed: Routed) -> list[plan.Controller]:
    """All controllers. Raises ScenarioError."""
    scenario = resolved.scenario
    made: list[plan.Controller] = []
    for i, controller in enumerate(scenario.controllers):
        name = controller.name or f"controller-{i}"
        match controller:
            case CircuitController():
                controls: plan.Controls = _circuit(i, controller, resolved.network, routed.queues)
            case FlowController():
                controls = _flows(i, controller, resolved.flows, routed.switches_of_flow[f"controllers[{i}]"])
            case other:
                assert_never(other)
        policy = resolve(controller.policy, f"controllers[{i}].policy")
        default = next(
            (one.default for one in entry_of(controller.policy, "").parameters if one.name == "interval"), None
        )
        interval = policy.parameters["interval"].value if "interval" in policy.parameters else default and default[1]
        if interval is not None:
            counters = len(controls.queues if isinstance(controls, plan.ControlledCircuit) else controls.flows)
            refuse_frequent_readings(f"controllers[{i}].policy.interval", Span(interval), counters, scenario.duration)
        made.append(plan.Controller(name=name, policy=policy, setup_ps=int(controller.setup), controls=controls))
    return made


def _circuit(index: int, controller: CircuitController, network: Network, queues: Queues) -> plan.ControlledCircuit:
    field = f"controllers[{index}]"
    links = controlled_links(controller, field, network)
    gates = [(queue, link) for link in links for queue in queues.of_link[link]]
    return plan.ControlledCircuit(
        queues=[queues.named(queue, f"{field}.queues[{k}]") for k, queue in enumerate(controller.queues)],
        open=[plan.OpenGate(queue=queue, link=link) for queue, link in gates],
        close=[plan.CloseGate(queue=queue, link=link, downtime=controller.downtime) for queue, link in gates],
    )


def _flows(
    index: int, controller: FlowController, flows: Sequence[PlannedFlow], switches_of: Mapping[str, Sequence[int]]
) -> plan.ControlledFlows:
    moved = [(i, flow) for i, flow in enumerate(flows) if flow.name in switches_of]
    _check_names([flow for _, flow in moved], controller.priorities, f"controllers[{index}].priorities")
    _check_names([flow for _, flow in moved], controller.deadlines, f"controllers[{index}].deadlines")
    controlled = []
    for i, flow in moved:
        deadline = _of_flow(flow, controller.deadlines)
        controlled.append(
            plan.ControlledFlow(
                flow=i,
                route_switches=list(switches_of[flow.name]),
                priority=_of_flow(flow, controller.priorities) or 0,
                deadline_ps=None if deadline is None else int(deadline),
            )
        )
    return plan.ControlledFlows(flows=controlled, paths=len(controller.between), downtime=controller.downtime)


def _names(flow: PlannedFlow) -> tuple[str, str, str]:
    """The names that refer to a flow, its unique name first."""
    return flow.name, flow.of.name, flow.of.group


def _of_flow(flow: PlannedFlow, values: Mapping[str, _Value]) -> _Value | None:
    return next((values[name] for name in _names(flow) if name in values), None)


def _check_names(flows: Sequence[PlannedFlow], values: Mapping[str, object], field: str) -> None:
    known = dict.fromkeys(name for flow in flows for name in reversed(_names(flow)))
    for name in values:
        if name not in known:
            raise unknown(name, list(known), field, "flow or group of this controller")
