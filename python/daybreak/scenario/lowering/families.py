"""The families of flows, with what they name by index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daybreak.errors import ScenarioError
from daybreak.plan import types as plan

from ..choice import Variant
from ..quantities import Size
from ..stack import Stack
from .choices import resolve_variant
from .names import look_up
from .network import Network
from .planned import Family, PlannedFlow

_IP_AND_UDP_HEADERS = 28


@dataclass(frozen=True, slots=True)
class ResolvedFamily:
    """A family's group, hosts, stacks and congestion control, by index."""

    group: int
    src: int
    dst: int
    src_stack: int
    dst_stack: int
    rule: int


@dataclass(frozen=True, slots=True, eq=False)
class Families:
    """All families, and the congestion controls and groups that they refer to."""

    resolved: Mapping[Family, ResolvedFamily]
    rules: Sequence[plan.Choice]
    groups: Sequence[str]

    @classmethod
    def of(
        cls,
        flows: Sequence[PlannedFlow],
        network: Network,
        stacks: Mapping[str, Stack],
        variants: Sequence[str] | None,
    ) -> Families:
        """The families of `flows`, in their order; `variants` are the congestion controls of the engine, those of the
        simulator if None. Raises ScenarioError.
        """
        names = list(stacks)
        mtus = [stack.mtu for stack in stacks.values()]
        resolved: dict[Family, ResolvedFamily] = {}
        rules: list[plan.Choice] = []
        rule_of: dict[Variant, int] = {}
        groups: dict[str, int] = {}
        for flow in flows:
            family = flow.of
            if family in resolved:
                continue
            if family.variant not in rule_of:
                rule = resolve_variant(family.variant, f"{family.field}.variant", variants)
                if rule not in rules:
                    rules.append(rule)
                rule_of[family.variant] = rules.index(rule)
            src, dst = _hosts(family, network)
            src_stack, dst_stack = _stacks(family, names)
            _refuse_large_datagrams(flow, mtus[src_stack])
            group = groups.setdefault(family.group, len(groups))
            resolved[family] = ResolvedFamily(group, src, dst, src_stack, dst_stack, rule_of[family.variant])
        return cls(resolved, rules, list(groups))


def _hosts(family: Family, network: Network) -> tuple[int, int]:
    source = network.host(family.source, f"{family.field}.from")
    destination = network.host(family.destination, f"{family.field}.to")
    if source == destination:
        raise ScenarioError(f'{family.field}.to = "{family.destination}": expected another host than the sender')
    return source, destination


def _stacks(family: Family, known: Sequence[str]) -> tuple[int, int]:
    source = look_up(family.stack or "stack", known, f"{family.field}.stack", "stack")
    own = family.receiver_stack or known[source]
    return source, look_up(own, known, f"{family.field}.receiver_stack", "stack")


def _refuse_large_datagrams(flow: PlannedFlow, mtu: int) -> None:
    """Raises ScenarioError for datagrams that are larger than packets: all of a family are alike."""
    most = mtu - _IP_AND_UDP_HEADERS
    if isinstance(flow.application, plan.ConstantRate) and flow.application.payload_bytes > most:
        field = f"{flow.of.field}.application.payload"
        raise ScenarioError(
            f"{field} = {Size(flow.application.payload_bytes)}: expected at most {most} B, "
            f"what the sender's mtu of {mtu} leaves behind the headers",
            field,
        )
