"""Explains a run: repeats it with the records that this needs, and splits the completion times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from daybreak.engines import lowered, single
from daybreak.errors import OutputError, ScenarioError
from daybreak.metrics import explanation
from daybreak.plan.types import Bulk
from daybreak.runs import Run
from daybreak.scenario import Scenario

from .shares import round_trip_ps, shares, taps

_PACKETS = 16
"""A bin is one round trip plus the time of this number of packets: shorter bins would show single packets."""


@dataclass(frozen=True)
class Explanation:
    """Where the time of a run's flows went."""

    run: Run
    """The run, with all records."""
    flows: pl.DataFrame
    """One row per flow that ended: see `metrics.explanation.table`."""
    groups: pl.DataFrame
    """One row per group: the sums over its flows."""
    unfinished: int
    """Number of flows that did not end, which have no explanation."""


def explain(
    scenario: Scenario,
    seed: int = 1,
    engine: str = "simulated",
    kept: Run | None = None,
    progress: Callable[[float, float], object] | None = None,
) -> Explanation:
    """Runs `scenario` with the records that an explanation needs. Records do not change what happens.

    `progress(done, 1)` is called with the part of the run that is done.

    If an earlier run is given as `kept`, its completion times must recur; otherwise OutputError, since another version
    of the engine made it. Raises ScenarioError where controllers choose the paths, or a flow is no bulk transfer.
    """
    content = lowered(scenario, seed, engine).content
    if content.controllers:
        name = content.controllers[0].name
        raise ScenarioError(
            f'controllers: "{name}": only the paths that timelines change can be explained', "controllers"
        )
    other = [flow.name for flow in content.flows if not isinstance(flow.application, Bulk)]
    if other:
        raise ScenarioError(f'flows: "{other[0]}": only bulk transfers can be explained', "flows")
    bin_ns = -(-round_trip_ps(content, _PACKETS) // 1000)
    records = {
        "bins": f"{max(bin_ns, 1000)} ns", "delivered": True, "taps": taps(content), "links": [],
        "window": "every ack", "queues": None, "drops": True, "circuits": True, "capture": [],
    }  # fmt: skip
    recorded = scenario.with_(records={key: value for key, value in records.items() if value is not None})
    run = single.run(recorded, engine, seed, (lambda now: progress(now.fraction, 1.0)) if progress else None)
    if kept is not None and not run.flows["fct_ns"].equals(kept.flows["fct_ns"]):
        raise OutputError("the run cannot be explained: run again, its flows end at other times (another version?)")
    available = shares(lowered(recorded, seed, engine).content, run.flows, run.circuits)
    table = explanation.table(
        run.flows, run.window, run.bins, run.drops, available, bin_ns=max(bin_ns, 1000), packet_bytes=_packets(run),
    )  # fmt: skip
    return Explanation(run, table, explanation.by_group(table), run.flows.height - table.height)


def _packets(run: Run) -> dict[int, int]:
    """Size in bytes of a full packet of each flow."""
    content = lowered(run.scenario, run.seed, run.manifest["engine"]).content
    return {number: content.stacks[flow.src_stack].mtu for number, flow in enumerate(content.flows)}
