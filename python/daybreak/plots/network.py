"""Facts about a run's network that its plan has and its tables lack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import polars as pl

from daybreak import engines
from daybreak.errors import DaybreakError
from daybreak.figures.style import words
from daybreak.metrics import utilisation
from daybreak.plan import capacity, ways
from daybreak.plan import types as plan
from daybreak.runs import Run, phases


class Day(NamedTuple):
    """The circuits that are open in a day: those that packets of the flows may cross, or all of them if the flows cross
    none."""

    links: Sequence[str]
    is_of_flows: bool


@dataclass(frozen=True)
class Network:
    """The network of a run. The plan is made on first use, since the scenario has to be lowered again."""

    run: Run

    @cached_property
    def _plan(self) -> plan.Plan | None:
        try:
            return engines.plan_of(self.run)
        except DaybreakError:
            # From another version of Daybreak, for example.
            return None

    @property
    def scenario(self) -> dict[str, Any]:
        """The scenario as the user wrote it, empty if it does not belong to the tables."""
        written: dict[str, Any] = {} if self._plan is None else self.run.manifest["scenario"]
        return written

    def most_bps(self, flows: Sequence[int]) -> int | None:
        """The total rate of the links into the receivers of these flows in bit/s; None if unknown."""
        return None if self._plan is None else ways.most_bps(self._plan, flows)

    def most_packets(self) -> Mapping[str, int]:
        """The most packets that may wait in a queue, by its name, as far as its limits are in packets."""
        if self._plan is None:
            return {}
        programs = [step.actions for line in self._plan.timelines for step in line.steps]
        controls = [one.controls for one in self._plan.controllers]
        circuits = [one.open + one.close for one in controls if isinstance(one, plan.ControlledCircuit)]
        changed = [
            action for actions in (*programs, *circuits) for action in actions if isinstance(action, plan.SetLimit)
        ]
        limits = {at: [queue.limit_packets] for at, queue in enumerate(self._plan.queues)}
        for action in changed:
            limits[action.queue].append(action.packets)
        # Packets that come back from a later queue wait beside the others.
        return {
            words(queue.name): max(known) + (queue.returned_limit_packets or 0)
            for queue, of in zip(self._plan.queues, limits.values(), strict=True)
            if len(known := [limit for limit in of if limit is not None]) == len(of)
        }

    def why_more(self, flows: Sequence[int], bits: float) -> str:
        """Why these flows may exceed the rate of their links by `bits` in one step, as the end of a sentence."""
        if self._plan is None or bits <= ways.last_packets_bits(self._plan, flows):
            return "by less than a packet a step, as packets count where they end"
        why = ways.may_catch_up(self._plan, flows)
        return f"where {why}" if why else ""

    def capacity(self) -> pl.DataFrame | None:
        """What each link could have carried: see `metrics.utilisation.over_run`; None if unknown."""
        if self._plan is None:
            return None
        ended_ns = int(self.run.manifest["totals"]["ended_ns"])
        decided = self.run.control.filter(pl.col("event").is_in(["in_force", "released", "setting_up"]))
        decisions = [
            (time * 1000, controller, event == "in_force")
            for time, controller, event in decided.select("time_ns", "controller", "event").sort("time_ns").iter_rows()
        ]
        found = capacity.of_links(self._plan, ended_ns * 1000, decisions)
        return pl.DataFrame(
            {
                "link": pl.Series(range(len(found)), dtype=pl.UInt32),
                "open_share": [one.open_ps / (ended_ns * 1000) if ended_ns else 0.0 for one in found],
                "capacity_bytes": [one.byte_count for one in found],
            }
        )

    def days(self, timeline: str, flows: Sequence[int]) -> dict[str, Day]:
        """The days of a timeline of circuits by phase; empty for one that only changes routes."""
        # Of two programs with one name the second one repeats.
        numbers = {} if self._plan is None else {line.name: at for at, line in enumerate(self._plan.timelines)}
        if self._plan is None or timeline not in numbers:
            return {}
        taken = set[int]().union(
            *(ways.links(self._plan, path) for path in {self._plan.flows[flow].data_path for flow in flows})
        )
        return {
            day: Day([self._plan.links[link].name for link in sorted(opened & taken or opened)], bool(opened & taken))
            for day, opened in phases.days(self._plan, numbers[timeline]).items()
        }


def link_use(runs: Sequence[Run]) -> pl.DataFrame | None:
    """The use of each link of runs of one scenario, as the mean over the runs: ``link_name``, ``open_share`` and
    ``utilisation`` (see `metrics.utilisation.over_run`); None if what links can carry is unknown."""
    parts = []
    for run in runs:
        known = Network(run).capacity()
        if known is None:
            return None
        parts.append(utilisation.over_run(run.links, known))
    mean = pl.concat(parts).group_by("link_name", maintain_order=True)
    return mean.agg(pl.col("open_share").mean(), pl.col("utilisation").mean())
