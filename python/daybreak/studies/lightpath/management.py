"""Self-management as a control loop: a manager finds elephants by their counters and moves them to light-paths.

The smallest case is the study's one flow in scenario B, moved when the manager sees that it fills its link. The main
case has 200 flows of mixed sizes and four light-paths, each for one flow at a time. The paper describes the loop only
in words: all numbers are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from daybreak.figures.ranges import ranges
from daybreak.metrics import confidence, fct
from daybreak.runs import Run
from daybreak.scenario import Scenario
from daybreak.studies.kept import UNENDED_FLOW_COLUMNS
from daybreak.studies.lightpath import testbed
from daybreak.studies.lightpath.settings import NS2, STACKS, ManagedSetting, Scale, Setting
from daybreak.studies.published import PublishedValues
from daybreak.studies.scoreboard import Scoreboard
from daybreak.sweeps import Tables

ONE_FLOW = "one-flow"
UNMANAGED = "unmanaged"
CASES = {
    UNMANAGED: "no light-paths",
    "managed": "old path goes on",
    "held": "packets held in the set-up",
    "same-delay": "as long as the IP path",
    "slow-to-act": "five seconds to decide",
    "one-path": "one light-path",
    "prior": "one, four have priority",
    "taken": "one, four may take it",
}
"""Ways to manage the 200 flows."""
FAVOURED = "favoured"
GROUPS = {
    "mouse": (150, "100 kB", "100 kB"),
    "middle": (34, "5 MB", "5 MB"),
    "elephant": (12, "100 MB", "100 MB"),
    FAVOURED: (4, "100 MB", "the four"),
}
"""Number of flows, size, and label in figures: the operator gives priority to four of the elephants."""
LIGHT_PATHS = 4
ONE_LIGHT_PATH = dict.fromkeys(("one-path", "prior", "taken"), 1)
"""Cases in which elephants compete for a light-path, so that their priority matters."""
RTT_MS = 20
WITHIN_S = 15
"""The flows start uniformly at random within this many seconds."""
MANAGER = {"name": "elephants", "interval": "100 ms", "threshold": "40 Mbit/s", "duration": "300 ms",
           "release_threshold": "10 Mbit/s", "release_duration": "1 s"}  # fmt: skip
SETUP = "50 ms"
COUNTS = ("retransmits", "fast_recoveries", "spurious", "rtos")
"""Cost of a move to the moved flow."""
POLICIES: Mapping[str, Mapping[str, Any]] = {"slow-to-act": {"duration": "5 s"}, "taken": {"preempt": True}}
"""Changes to the manager in each case."""


@dataclass(frozen=True)
class Outcome:
    """The results of managed runs: the flows, and the manager's decisions."""

    flows: pl.DataFrame
    control: pl.DataFrame

    @property
    def moves(self) -> pl.DataFrame:
        """The times at which flows got a light-path: ``run, flow, time_ns``."""
        return self.control.filter(pl.col("event") == "in_force").select("run", "flow", "time_ns")

    def mean_fct_s(self, group: str) -> list[float]:
        """Mean completion time of a group of flows, by run."""
        found = self.flows.filter(pl.col("group") == group).group_by("run", maintain_order=True)
        return [float(mean) for mean in found.agg(pl.col("fct_s").mean()).sort("run")["fct_s"]]


Evidence = Mapping[ManagedSetting, Outcome]


def settings(scale: Scale) -> list[ManagedSetting]:
    """Every case with every stack."""
    return [ManagedSetting(case, stack) for stack in STACKS for case in (ONE_FLOW, *CASES)]


def scenario(setting: ManagedSetting) -> Scenario:
    """The scenario of a setting."""
    if setting.case == ONE_FLOW:
        return _one_flow(setting)
    return Scenario.parse(_many_flows(setting), source=f'study lightpath, setting "{setting.name}"')


def _one_flow(setting: ManagedSetting) -> Scenario:
    """The study's flow in scenario B at 100 Mb/s, with the manager instead of the timeline."""
    timed = testbed.scenario(Setting("B", 100, 100, stack=setting.stack, move="30", after_s=10.0))
    policy = MANAGER | {"interval": "1 s", "threshold": "99 Mbit/s", "duration": "2 s"}
    manager = {"kind": "paths", "name": "manager", "flows": ["elephant"], "between": [["ip-1", "ip-2"], ["optical"]],
               "setup": SETUP, "policy": policy}  # fmt: skip
    return timed.with_({"routes": [], "timelines": [], "controllers": [manager]}, name=setting.name)


def _many_flows(setting: ManagedSetting) -> dict[str, Any]:
    optical_ms = RTT_MS / 2 if setting.case == "same-delay" else RTT_MS / 10
    lights = [f"light-{number}" for number in range(1, ONE_LIGHT_PATH.get(setting.case, LIGHT_PATHS) + 1)]
    flows = [
        {"name": group, "from": "sender", "to": "receiver", "size": size, "count": count, "ack_via": ["ip.back"],
         "start": {"uniform": ["0 s", f"{WITHIN_S} s"]}, **({"via": ["ip"]} if setting.case == UNMANAGED else {})}
        for group, (count, size, _) in GROUPS.items()
    ]  # fmt: skip
    policy = {**MANAGER, **POLICIES.get(setting.case, {})}
    manager = {
        "kind": "paths", "name": "manager", "flows": list(GROUPS), "between": [["ip"], *([light] for light in lights)],
        "setup": SETUP, "downtime": "hold" if setting.case == "held" else "make_before_break", "policy": policy,
        "priorities": {FAVOURED: 1} if setting.case in ("prior", "taken") else {},
    }  # fmt: skip
    return {
        "name": setting.name,
        "duration": "120 s",
        "nodes": [
            {"name": "r1", "kind": "switch"}, {"name": "r3", "kind": "switch"},
            {"name": "sender"}, {"name": "receiver"},
        ],
        "links": [
            {"from": "sender", "to": "r1", "rate": "10 Gbit/s", "delay": "10 us"},
            {"name": "ip", "from": "r1", "to": "r3", "rate": "1 Gbit/s", "delay": f"{RTT_MS / 2} ms",
             "queue": "500 packets"},
            {"from": "r3", "to": "receiver", "rate": "10 Gbit/s", "delay": "10 us", "queue": "500 packets"},
            *({"name": light, "from": "r1", "to": "r3", "rate": "1 Gbit/s", "delay": f"{optical_ms} ms",
               "queue": "500 packets", "duplex": False} for light in lights if setting.case != UNMANAGED),
        ],
        "stack": {"preset": NS2} if setting.stack == NS2 else {},
        "flows": flows,
        "controllers": [] if setting.case == UNMANAGED else [manager],
        "records": {"drops": False},
    }  # fmt: skip


def of_run(run: Run) -> Tables:
    """Reduces a run."""
    return {"flows": run.flows.select(UNENDED_FLOW_COLUMNS), "control": run.control}


def of_runs(runs: Mapping[int, Tables]) -> Outcome:
    """Combines the tables of the runs, by seed."""
    flows = confidence.stack((seed, runs[seed]["flows"]) for seed in sorted(runs))
    return Outcome(fct.table(flows), confidence.stack((seed, runs[seed]["control"]) for seed in sorted(runs)))


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """No claims: the paper has no numbers."""


def draw(evidence: Evidence, scale: Scale, published: PublishedValues) -> dict[str, Figure]:
    """Completion times of each size of flow, relative to those without light-paths."""
    rows = {
        f"{called}, {title}": {
            STACKS[stack]: _ratios(
                evidence[ManagedSetting(case, stack)], evidence[ManagedSetting(UNMANAGED, stack)], group
            )
            for stack in STACKS
        }
        for group, (_, _, called) in GROUPS.items()
        for case, title in CASES.items()
        if case != UNMANAGED
    }
    return {"management": ranges(rows, xlabel="Completion time over that without light-paths")}


def _ratios(outcome: Outcome, base: Outcome, group: str) -> list[float]:
    pairs = zip(outcome.mean_fct_s(group), base.mean_fct_s(group), strict=True)
    return [mine / without for mine, without in pairs]


def tables(evidence: Evidence, scale: Scale) -> Mapping[str, pl.DataFrame]:
    """One row per case and group of flows, or its moved flows. Counts are means over the runs."""
    rows = [
        row
        for setting, outcome in evidence.items()
        for group in outcome.flows["group"].unique(maintain_order=True)
        for row in _rows(setting, outcome, group)
    ]
    return {"management": pl.concat(rows)}


def _rows(setting: ManagedSetting, outcome: Outcome, group: str) -> list[pl.DataFrame]:
    of_group = outcome.flows.filter(pl.col("group") == group)
    runs = of_group["run"].n_unique()
    parts = {"all": of_group, "moved": of_group.join(outcome.moves, on=["run", "flow"], how="semi")}
    sums = [(pl.col(name).cast(pl.Int64).sum() / runs).alias(name) for name in COUNTS]
    return [
        part.select(
            pl.lit(setting.case).alias("case"),
            pl.lit(setting.stack).alias("stack"),
            pl.lit(f"{group}, {which}").alias("flows_of"),
            (pl.len() / runs).alias("flows"),
            pl.col("fct_s").mean().alias("mean_fct_s"),
            pl.col("fct_s").max().alias("largest_fct_s"),
            *sums,
        )
        for which, part in parts.items()
        if part.height
    ]
