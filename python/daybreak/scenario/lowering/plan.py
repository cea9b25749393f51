"""Assembles a plan."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from daybreak.errors import ScenarioError, whole
from daybreak.plan import types as plan
from daybreak.plan.applications import is_limited

from ..choice import Variant
from ..quantities import Size, Span
from ..scenario import Scenario
from ..stack import Stack
from .choices import resolve_variant
from .controllers import controllers
from .cost import refuse_short_intervals
from .fabric import Fabric
from .flows import planned_flows
from .moves import Moves
from .names import look_up
from .paths import Paths
from .planned import Family, PlannedFlow
from .ready import with_schedule, with_topology
from .routes import Router
from .timelines import timelines

PLAN_VERSION = 2
_IP_AND_UDP_HEADERS = 28


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
        return Plan(_plan(scenario, seed, variants))
    except ScenarioError as error:
        raise type(error)(f'scenario "{scenario.name}": {error}', error.field) from None


def _plan(scenario: Scenario, seed: int, variants: Sequence[str] | None) -> plan.Plan:
    topology, scenario = scenario.topology, with_topology(scenario)
    planned = planned_flows(scenario, seed, variants)
    scenario = with_schedule(scenario, topology, planned)
    fabric = Fabric.of(scenario)
    router = Router(fabric, scenario.routing, seed)
    records = _records(scenario, fabric)
    refuse_short_intervals(scenario, len(planned), len(records.queues))
    stacks = {"stack": scenario.stack} | scenario.stacks
    if "stack" in scenario.stacks:
        raise ScenarioError('stacks.stack: expected another name, "stack" is the scenario\'s own', "stacks.stack")
    paths = Paths(fabric, router)
    moves = Moves(scenario, fabric, router, paths, planned)
    flows = Flows(fabric, moves, stacks, variants)
    planned_in_full = [flows.flow(flow) for flow in planned]
    return plan.Plan(
        version=PLAN_VERSION,
        seed=seed,
        end_ps=int(scenario.duration),
        stop_when_flows_complete=scenario.stop == "flows_complete"
        and any(is_limited(flow.application) for flow in planned),
        nodes=fabric.plan_nodes(),
        links=fabric.plan_links(),
        paths=paths.paths,
        route_switches=moves.route_switches,
        forks=paths.forks,
        marks=fabric.marks,
        markers=fabric.markers,
        timelines=timelines(scenario, fabric, moves),
        controllers=controllers(scenario, fabric, moves, planned),
        queues=fabric.plan_queues(),
        stacks=[_stack(name, stack) for name, stack in stacks.items()],
        rules=flows.rules,
        groups=flows.groups,
        flows=planned_in_full,
        records=records,
    )


@dataclass(frozen=True, slots=True)
class _OfFamily:
    """What the flows of a family share in the plan."""

    group: int
    src: int
    dst: int
    src_stack: int
    dst_stack: int
    rule: int


class Flows:
    """Makes the flows of a plan, and the lists that they refer to."""

    def __init__(self, fabric: Fabric, moves: Moves, stacks: dict[str, Stack], variants: Sequence[str] | None):
        self._fabric = fabric
        self._moves = moves
        self._stacks = list(stacks)
        self._mtus = [stack.mtu for stack in stacks.values()]
        self._variants = variants
        self.rules: list[plan.Choice] = []
        self._rules: dict[Variant, int] = {}
        self._groups: dict[str, int] = {}
        self._families: dict[Family, _OfFamily] = {}

    @property
    def groups(self) -> list[str]:
        """The groups of all flows."""
        return list(self._groups)

    def flow(self, flow: PlannedFlow) -> plan.Flow:
        """One flow."""
        family = self._families.get(flow.of)
        if family is None:
            family = self._families[flow.of] = self._family(flow.of)
            self._fits(flow, self._mtus[family.src_stack])
        return plan.Flow(
            name=flow.name,
            group=family.group,
            src=family.src,
            dst=family.dst,
            src_stack=family.src_stack,
            dst_stack=family.dst_stack,
            rule=family.rule,
            application=flow.application,
            start_ps=flow.start_ps,
            data_path=self._moves.data_path(flow, family.src, family.dst),
            ack_path=self._moves.ack_path(flow, family.src, family.dst),
        )

    def _family(self, family: Family) -> _OfFamily:
        source = self._fabric.host(family.source, f"{family.field}.from")
        destination = self._fabric.host(family.destination, f"{family.field}.to")
        if source == destination:
            raise ScenarioError(f'{family.field}.to = "{family.destination}": expected another host than the sender')
        stacks = self._stacks
        src_stack = look_up(family.stack or "stack", stacks, f"{family.field}.stack", "stack")
        own = family.receiver_stack or stacks[src_stack]
        dst_stack = look_up(own, stacks, f"{family.field}.receiver_stack", "stack")
        group = self._groups.setdefault(family.group, len(self._groups))
        return _OfFamily(group, source, destination, src_stack, dst_stack, self._rule(family))

    def _fits(self, flow: PlannedFlow, mtu: int) -> None:
        """Raises ScenarioError for datagrams larger than a packet; checked once per family."""
        most = mtu - _IP_AND_UDP_HEADERS
        if isinstance(flow.application, plan.ConstantRate) and flow.application.payload_bytes > most:
            field = f"{flow.of.field}.application.payload"
            raise ScenarioError(
                f"{field} = {Size(flow.application.payload_bytes)}: expected at most {most} B, "
                f"what the sender's mtu of {mtu} leaves behind the headers",
                field,
            )

    def _rule(self, family: Family) -> int:
        """The index of a family's rule, which is appended if it is new."""
        if family.variant not in self._rules:
            rule = resolve_variant(family.variant, f"{family.field}.variant", self._variants)
            if rule not in self.rules:
                self.rules.append(rule)
            self._rules[family.variant] = self.rules.index(rule)
        return self._rules[family.variant]


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


def _records(scenario: Scenario, fabric: Fabric) -> plan.Records:
    records = scenario.records

    def links(names: tuple[str, ...], field: str) -> list[int]:
        return [fabric.link(name, f"records.{field}[{i}]").index for i, name in enumerate(names)]

    if records.sampled_queues:
        queues = [fabric.queue(name, f"records.sampled_queues[{i}]") for i, name in enumerate(records.sampled_queues)]
    else:
        queues = fabric.switch_queues() if records.queues is not None else []
    return plan.Records(
        bin_ps=_ps(records.bins),
        tap_links=links(records.taps, "taps"),
        bin_links=links(records.links, "links"),
        bin_delivered=records.delivered and records.bins is not None,
        window_ps=0 if records.window == "every ack" else _ps(records.window),
        queue_ps=_ps(records.queues),
        queues=queues,
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
