"""Explains a run: repeats it with the records that this needs, and splits the completion times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl
from msgspec.structs import replace

from daybreak.engines import lowered, single
from daybreak.errors import OutputError, ScenarioError
from daybreak.metrics import explanation
from daybreak.plan import types as plan
from daybreak.runs import Run
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import Plan

from .shares import round_trip_ps, shares, taps

MOST_FLOWS = 5000
"""Of more flows some of each group are explained: each needs its own records, and some milliseconds."""
_PACKETS = 16
"""A bin is one round trip plus the time of this number of packets: shorter bins would show single packets."""
_MOST_NAMES = 3
_OF_SIMULATION = 0.8
"""The simulation's part of the time, about."""


@dataclass(frozen=True)
class Explanation:
    """Where the time of a run's flows went."""

    run: Run
    """The run, with the records of the flows that are explained."""
    flows: pl.DataFrame
    """One row per explained flow that ended: see `metrics.explanation.table`."""
    groups: pl.DataFrame
    """One row per group: the sums over these flows."""
    unfinished: int
    """Number of flows that did not end, which have no explanation."""
    notes: tuple[str, ...]
    """Sentences about the flows that are left out."""


def explain(
    scenario: Scenario,
    seed: int = 1,
    engine: str = "simulated",
    kept: Run | None = None,
    *,
    progress: Callable[[float, float], object] | None = None,
    most_flows: int = MOST_FLOWS,
) -> Explanation:
    """Runs `scenario` with the records that an explanation needs. Records do not change what happens.

    Flows that are no bulk transfers are left out. Of more than ``most_flows`` those explained are evenly spaced in the
    order of each group, so that the rest costs only its simulation. `progress(done, 1)` is called with the
    part of the work that is done.

    If an earlier run is given as `kept`, its completion times must recur; otherwise OutputError, since another version
    of the engine made it. Raises ScenarioError where controllers choose the paths, or no flow is a bulk transfer.
    """
    content = lowered(scenario, seed, engine).content
    if content.controllers:
        name = content.controllers[0].name
        raise ScenarioError(
            f'controllers: "{name}": only the paths that timelines change can be explained', "controllers"
        )
    bulk = [number for number, flow in enumerate(content.flows) if isinstance(flow.application, plan.Bulk)]
    if not bulk:
        raise ScenarioError("flows: none of them is a bulk transfer, and only these can be explained", "flows")
    chosen = _spaced(content, bulk, most_flows)
    bin_ns = max(-(-round_trip_ps(content, _PACKETS) // 1000), 1000)
    records = _records(content, chosen, bin_ns)
    run = single.execute(
        _recorded(scenario, content, records), Plan(replace(content, records=records)), engine,
        (lambda now: progress(now.fraction * _OF_SIMULATION, 1.0)) if progress else None,
    )  # fmt: skip
    if kept is not None and not run.flows["fct_ns"].equals(kept.flows["fct_ns"]):
        raise OutputError("the run cannot be explained: run again, its flows end at other times (another version?)")
    flows = run.flows.filter(pl.col("flow").is_in(chosen))
    available = shares(content, run.flows, run.circuits, chosen)
    packets = {number: content.stacks[content.flows[number].src_stack].mtu for number in chosen}
    table = explanation.table(
        flows, run.window, run.bins, run.drops, available, bin_ns=bin_ns, packet_bytes=packets,
    )  # fmt: skip
    if progress:
        progress(1.0, 1.0)
    unfinished = flows.height - table.height
    notes = _notes(content, bulk, chosen, unfinished)
    return Explanation(run, table, explanation.by_group(table), unfinished, notes)


def _spaced(content: plan.Plan, bulk: Sequence[int], most: int) -> list[int]:
    """At most about `most` flows, evenly spaced in the order of each group; every group has one."""
    if len(bulk) <= most:
        return list(bulk)
    groups: dict[int, list[int]] = defaultdict(list)
    for number in bulk:
        groups[content.flows[number].group].append(number)
    found: list[int] = []
    room = most
    # Small groups first: what they do not take is there for the others.
    for left, group in zip(range(len(groups), 0, -1), sorted(groups.values(), key=len), strict=True):
        count = min(len(group), max(1, room // left))
        found += [group[at * len(group) // count] for at in range(count)]
        room -= count
    return sorted(found)


def _records(content: plan.Plan, chosen: list[int], bin_ns: int) -> plan.Records:
    return plan.Records(
        bin_ps=bin_ns * 1000, tap_links=taps(content, chosen), bin_links=[], bin_delivered=True, window_ps=0,
        queue_ps=None, queues=[], drops=True, loss_bin_ps=None, circuits=True, latency=False, packet_links=[],
        capture_links=[], capture_snaplen=content.records.capture_snaplen,
        flows=None if len(chosen) == len(content.flows) else chosen,
    )  # fmt: skip


def _recorded(scenario: Scenario, content: plan.Plan, records: plan.Records) -> Scenario:
    """The scenario with these records, in its own words."""
    links = [content.links[link].name for link in records.tap_links]
    return scenario.with_(records={"bins": f"{(records.bin_ps or 0) // 1000} ns", "taps": links, "window": "every ack"})


def _notes(content: plan.Plan, bulk: Sequence[int], chosen: Sequence[int], unfinished: int) -> tuple[str, ...]:
    found = []
    if len(chosen) < len(bulk):
        found.append(
            f"{len(chosen):,} of {len(bulk):,} flows are explained, evenly spaced in the order of each group; means "
            "are over these"
        )
    if others := len(content.flows) - len(bulk):
        is_bulk = set(bulk)
        names = [flow.name for number, flow in enumerate(content.flows) if number not in is_bulk][:_MOST_NAMES]
        more = f" and {others - len(names):,} more" if others > len(names) else ""
        what = "which is no bulk transfer" if others == 1 else "which are no bulk transfers"
        found.append(f"left out: {', '.join(names)}{more}, {what}")
    if unfinished:
        what = "1 flow" if unfinished == 1 else f"{unfinished:,} flows"
        found.append(f"{what} did not end, so that there is nothing to explain")
    return tuple(found)
