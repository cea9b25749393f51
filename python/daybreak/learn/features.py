"""What a model knows of a scenario: numbers that mean the same in every network, and the names of the variants.

A setting is a scenario on the migration testbed in which a program of kind `migrate` moves the group "migrated" onto
the link of the group "main" and back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from daybreak.errors import ScenarioError
from daybreak.scenario import Scenario
from daybreak.scenario.timelines import Migrate
from daybreak.scenario.topologies.migration_testbed import MigrationTestbed

GROUPS = ("migrated", "main")
VARIANTS = ("cubic", "bbr", "reno", "westwood")
"""The paper's; the models know no others."""
NUMBERS = (
    "rate_gbps", "rtt_us", "buffer_packets", "buffer_bdp", "mib", "flows", "ideal_ms", "day_ms", "night_ms", "duty",
    "day_rtts", "night_rtts", "fills_in_day", "cycles", "night_drops",
)  # fmt: skip
"""Features that are numbers. A ``bdp`` is rate times base round-trip time, ``fills`` the buffer's time at the rate,
``ideal_ms`` the time that one group's bytes take at the rate, ``cycles`` that over the period."""
NAMES = (*NUMBERS, *(f"{group}_{variant}" for group in GROUPS for variant in VARIANTS))
"""All columns of a feature matrix: the variants are one column each (1 or 0)."""

_FRAME_BYTES = 9038
_MOST_DAY_MS = 1e6


def describe(scenario: Scenario) -> dict[str, Any]:
    """The setting of a scenario in human terms. Raises ScenarioError that says what is not of the testbed's kind."""
    testbed = scenario.topology
    if not isinstance(testbed, MigrationTestbed):
        raise ScenarioError('topology.kind: a model needs the topology "migration_testbed"', "topology.kind")
    found: dict[str, Any] = {}
    for group in GROUPS:
        flows = [flow for flow in scenario.flows if (flow.group or flow.name) == group]
        if len(flows) != 1 or scenario.arrivals:
            raise ScenarioError(f'flows: a model needs one entry with group "{group}", and no arrivals', "flows")
        if not isinstance(flows[0].size, int):
            raise ScenarioError(
                f'flows: size of "{group}": a model needs a size that is not drawn or unlimited', "flows"
            )
        found |= {f"{group}_variant": flows[0].variant.name, f"{group}_mib": flows[0].size / 2**20 * flows[0].count}
        found[f"{group}_flows"] = flows[0].count
    moves = [line for line in scenario.timelines if isinstance(line, Migrate)]
    if len(moves) != 1 or len(scenario.timelines) != 1:
        raise ScenarioError('timelines: a model needs exactly one, of kind "migrate"', "timelines")
    if scenario.stack.mtu != 9000:
        raise ScenarioError(f"stack.mtu = {scenario.stack.mtu}: the models know 9000 only", "stack.mtu")
    if not testbed.queue.in_packets:
        raise ScenarioError(f'topology.queue = "{testbed.queue}": a model needs packets', "topology.queue")
    period, night = moves[0].period / 1e9, moves[0].night / 1e9
    return found | {
        "rate_gbps": testbed.rate / 1e9, "rtt_us": testbed.rtt / 1e6, "buffer_packets": int(testbed.queue),
        "period_ms": period, "night_ms": night, "downtime": moves[0].downtime if night else "none",
    }  # fmt: skip


def vector(setting: Mapping[str, Any]) -> list[float]:
    """The features of a setting, in the order of `NAMES`; the numbers of both groups are those of the migrated one."""
    rate = setting["rate_gbps"] * 1e9
    rtt_ms, night = setting["rtt_us"] / 1e3, setting["night_ms"]
    day = min(setting["period_ms"] - night, _MOST_DAY_MS)
    ideal = setting["migrated_mib"] * 2**20 * 8 / rate * 1e3
    fills = setting["buffer_packets"] * _FRAME_BYTES * 8 / rate * 1e3
    numbers = (
        setting["rate_gbps"], setting["rtt_us"], setting["buffer_packets"], fills / rtt_ms, setting["migrated_mib"],
        setting["migrated_flows"], ideal, day, night, day / (day + night), math.log(day / rtt_ms), night / rtt_ms,
        fills / day, ideal / (day + night), float(setting["downtime"] == "drop"),
    )  # fmt: skip
    names = [float(setting[f"{group}_variant"] == variant) for group in GROUPS for variant in VARIANTS]
    return [*numbers, *names]


def ideal_s(setting: Mapping[str, Any]) -> float:
    """The time that the migrated group's bytes take at the rate, in seconds."""
    return float(setting["migrated_mib"] * 2**20 * 8 / (setting["rate_gbps"] * 1e9))
