"""The last stage of lowering: the plan, made of what is resolved and routed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from daybreak.errors import ScenarioError, whole
from daybreak.plan import types as plan
from daybreak.plan.applications import is_limited

from ..quantities import Span
from ..scenario import Scenario
from ..stack import Stack
from .controllers import controllers
from .network import plan_links, plan_markers, plan_marks, plan_nodes
from .queues import plan_queues
from .resolved import Resolved, resolve_scenario
from .routed import Routed, route
from .timelines import timelines

PLAN_VERSION = 2


@dataclass(frozen=True)
class Plan:
    """A scenario in its resolved form for engines."""

    content: plan.Plan

    @cached_property
    def json(self) -> bytes:
        """The JSON text that an engine reads."""
        return msgspec.json.encode(self.content)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the text: equal plans on one engine give equal records."""
        return hashlib.sha256(self.json).hexdigest()


def lower(scenario: Scenario, seed: int, variants: Sequence[str] | None = None) -> Plan:
    """The plan of `scenario` with this `seed` (0 to 2^64 - 1). Raises ScenarioError.

    `variants` are the engine's congestion controls, by default the simulator's.
    """
    if not isinstance(scenario, Scenario):
        raise ScenarioError(f"scenario = {scenario!r}: expected a Scenario, such as daybreak.load makes of a file")
    seed = whole("seed", seed, 0, 2**64 - 1)
    try:
        resolved = resolve_scenario(scenario, seed, variants)
        return Plan(_plan(resolved, route(resolved)))
    except ScenarioError as error:
        raise type(error)(f'scenario "{scenario.name}": {error}', error.field) from None


def _plan(resolved: Resolved, routed: Routed) -> plan.Plan:
    scenario, network, families = resolved.scenario, resolved.network, resolved.families
    return plan.Plan(
        version=PLAN_VERSION,
        seed=resolved.seed,
        end_ps=int(scenario.duration),
        stop_when_flows_complete=scenario.stop == "flows_complete"
        and any(is_limited(flow.application) for flow in resolved.flows),
        nodes=plan_nodes(network),
        links=plan_links(network),
        paths=list(routed.paths),
        route_switches=list(routed.route_switches),
        forks=list(routed.forks),
        marks=plan_marks(scenario),
        markers=plan_markers(scenario, resolved.marking),
        timelines=timelines(resolved, routed),
        controllers=controllers(resolved, routed),
        queues=plan_queues(routed.queues),
        stacks=[_stack(name, stack) for name, stack in resolved.stacks.items()],
        rules=list(families.rules),
        groups=list(families.groups),
        flows=_flows(resolved, routed),
        records=_records(resolved, routed),
    )


def _flows(resolved: Resolved, routed: Routed) -> list[plan.Flow]:
    flows = []
    for flow, data_path, ack_path in zip(resolved.flows, routed.data_paths, routed.ack_paths, strict=True):
        family = resolved.families.resolved[flow.of]
        flows.append(
            plan.Flow(
                name=flow.name,
                group=family.group,
                src=family.src,
                dst=family.dst,
                src_stack=family.src_stack,
                dst_stack=family.dst_stack,
                rule=family.rule,
                application=flow.application,
                start_ps=flow.start_ps,
                data_path=data_path,
                ack_path=ack_path,
            )
        )
    return flows


def _stack(name: str, stack: Stack) -> plan.Stack:
    limit = stack.tcp_limit_output_bytes
    return plan.Stack(
        name=name,
        mtu=stack.mtu,
        initial_window=stack.initial_window,
        cwnd_clamp=stack.cwnd_clamp,
        hz=stack.hz,
        linux=stack.linux,
        timer_dilation=stack.timer_dilation,
        rto_min_ps=int(stack.rto_min),
        delayed_ack_min_ps=int(stack.delayed_ack_min),
        delayed_ack_max_ps=int(stack.delayed_ack_max),
        tcp_rmem=stack.tcp_rmem,
        tcp_wmem=stack.tcp_wmem,
        tcp_moderate_rcvbuf=stack.tcp_moderate_rcvbuf,
        tcp_adv_win_scale=stack.tcp_adv_win_scale,
        receive_buffers=plan.ReceiveBuffers(
            linear_bytes=stack.receive_buffers.linear, page_bytes=stack.receive_buffers.page
        ),
        tcp_window_scaling=stack.tcp_window_scaling,
        tcp_timestamps=stack.tcp_timestamps,
        tcp_sack=stack.tcp_sack,
        tcp_dsack=stack.tcp_dsack,
        tcp_frto=stack.tcp_frto,
        tcp_early_retrans=stack.tcp_early_retrans,
        tcp_recovery=stack.tcp_recovery,
        tcp_reordering=stack.tcp_reordering,
        tcp_max_reordering=stack.tcp_max_reordering,
        tcp_slow_start_after_idle=stack.tcp_slow_start_after_idle,
        tcp_ecn=stack.tcp_ecn,
        tcp_comp_sack_delay_ns=stack.tcp_comp_sack_delay_ns,
        tcp_comp_sack_slack_ns=stack.tcp_comp_sack_slack_ns,
        tcp_comp_sack_nr=stack.tcp_comp_sack_nr,
        tso_max_bytes=stack.tso_max_bytes,
        tcp_limit_output_bytes=None if limit == "off" else limit,
        tdtcp=stack.tdtcp,
        legacy=list(stack.legacy),
        tcp_no_metrics_save=stack.tcp_no_metrics_save,
        tcp_no_ssthresh_metrics_save=stack.tcp_no_ssthresh_metrics_save,
        max_pacing_rate_bps=None if stack.max_pacing_rate is None else int(stack.max_pacing_rate),
    )


def _records(resolved: Resolved, routed: Routed) -> plan.Records:
    records, queues = resolved.scenario.records, routed.queues

    def links(names: tuple[str, ...], field: str) -> list[int]:
        return [resolved.network.link(name, f"records.{field}[{i}]").index for i, name in enumerate(names)]

    if records.sampled_queues:
        sampled = [queues.named(name, f"records.sampled_queues[{i}]") for i, name in enumerate(records.sampled_queues)]
    else:
        sampled = queues.at_switches() if records.queues is not None else []
    return plan.Records(
        bin_ps=_ps(records.bin_width),
        tap_links=links(records.taps, "taps"),
        bin_links=links(records.links, "links"),
        bin_delivered=records.delivered and records.bin_width is not None,
        window_ps=0 if records.window == "every ack" else _ps(records.window),
        queue_ps=_ps(records.queues),
        queues=sampled,
        drops=records.drops,
        loss_bin_ps=_ps(records.loss_bins),
        circuits=records.circuits,
        latency=records.latency,
        packet_links=links(records.packets, "packets"),
        capture_links=links(records.capture, "capture"),
        capture_snaplen=records.snaplen,
    )


def _ps(span: Span | None) -> int | None:
    return None if span is None else int(span)
