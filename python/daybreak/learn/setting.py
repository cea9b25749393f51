"""What a model is told of a scenario, and what of the scenario it is not told.

A setting is a scenario on the migration testbed in which a program of kind `migrate` moves the group "migrated" onto
the link of the group "main" and back. What it does not say, as the rest of the stack or when flows start, is for the
models what it is in `testbed.toml`; `differences` names what is otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from daybreak.errors import ScenarioError
from daybreak.plan.downtimes import POLICIES
from daybreak.scenario import Scenario, load
from daybreak.scenario.timelines import Migrate
from daybreak.scenario.topologies.migration_testbed import MigrationTestbed
from daybreak.scenario.traffic import Flow

GROUPS = ("migrated", "main")
VARIANTS = ("cubic", "bbr", "reno", "westwood")
"""The paper's; the models know no others."""
FRAME_BITS = 9038 * 8
"""Of a packet on the wire."""

_UNHEARD = ("name", "description", "records", "stop", "duration")
"""What says nothing of how long flows take, once they end."""
_CLOSE = 0.01
"""How far the jitter may be from the time of one packet."""


def testbed() -> Scenario:
    """The scenario that settings change."""
    return load(Path(str(files(__package__) / "testbed.toml")))


def describe(scenario: Scenario) -> dict[str, Any]:
    """The setting of a scenario in human terms. Raises ScenarioError that says what is not of the testbed's kind.

    A downtime policy becomes the one of "none", "drop" and "hold" that treats these flows alike
    (`Policy.learnt_as`): `drain` is `hold`, and `make_before_break` is no night and moves that are later by its length.
    """
    try:
        return _described(scenario)
    except ScenarioError as error:
        raise ScenarioError(f'scenario "{scenario.name}": {error}', error.field) from None


def _described(scenario: Scenario) -> dict[str, Any]:
    testbed = scenario.topology
    if not isinstance(testbed, MigrationTestbed):
        kind = "topology is missing" if testbed is None else f'topology.kind = "{testbed.kind}"'
        raise ScenarioError(f'{kind}: a model needs the topology "migration_testbed"', "topology.kind")
    found: dict[str, Any] = {}
    for group in GROUPS:
        flow = scenario.flows[_number(scenario, group)]
        if not isinstance(flow.size, int):
            size = flow.size or "none"
            raise ScenarioError(f'flows: size of "{group}" = {size}: a model needs one that is limited', "flows")
        found |= {f"{group}_variant": flow.variant.name, f"{group}_mib": flow.size / 2**20 * flow.count}
        found[f"{group}_flows"] = flow.count
    moves = [line for line in scenario.timelines if isinstance(line, Migrate)]
    if len(moves) != 1 or len(scenario.timelines) != 1 or scenario.controllers:
        kinds = ", ".join(line.kind for line in scenario.timelines) or "none"
        raise ScenarioError(
            f"timelines are {kinds}, and controllers {len(scenario.controllers)}: a model needs exactly one timeline, "
            'of kind "migrate", and no controllers',
            "timelines",
        )
    if scenario.stack.mtu != 9000:
        raise ScenarioError(f"stack.mtu = {scenario.stack.mtu}: the models know 9000 only", "stack.mtu")
    if not testbed.queue.in_packets:
        raise ScenarioError(f'topology.queue = "{testbed.queue}": a model needs packets', "topology.queue")
    period, night, start = (time / 1e9 for time in (moves[0].period, moves[0].night, moves[0].start))
    downtime = POLICIES[moves[0].downtime].learnt_as if night else "none"
    if downtime == "none":
        night, start = 0.0, start + night
    return found | {
        "rate_gbps": testbed.rate / 1e9, "rtt_us": testbed.rtt / 1e6, "buffer_packets": int(testbed.queue),
        "period_ms": period, "night_ms": night, "downtime": downtime, "start_ms": start, "hz": scenario.stack.hz,
    }  # fmt: skip


def scenario_of(setting: Mapping[str, Any]) -> Scenario:
    """A scenario with a setting."""
    return testbed().with_(changes(setting))


def changes(setting: Mapping[str, Any]) -> dict[str, Any]:
    """What of the testbed makes it have a setting. The jitter is the time of one packet, as on the real one."""
    both = {
        f"flows.{number}.{field}": value
        for number, group in enumerate(GROUPS)
        for field, value in (
            ("variant", setting[f"{group}_variant"]),
            ("size", f"{round(setting[f'{group}_mib'] * 2**20 / setting[f'{group}_flows'])} B"),
            ("count", setting[f"{group}_flows"]),
        )
    }
    return both | {
        "topology.rate": f"{setting['rate_gbps']:.6f} Gbit/s",
        "topology.jitter": f"{round(FRAME_BITS / setting['rate_gbps'])} ns",
        "topology.rtt": f"{round(setting['rtt_us'] * 1e3)} ns",
        "topology.queue": f"{setting['buffer_packets']} packets",
        "timelines.0.period": f"{round(setting['period_ms'] * 1e6)} ns",
        "timelines.0.night": f"{round(setting['night_ms'] * 1e6)} ns",
        "timelines.0.start": f"{round(setting['start_ms'] * 1e6)} ns",
        "timelines.0.downtime": "drop" if setting["downtime"] == "none" else setting["downtime"],
        "stack.hz": setting["hz"],
    }


def differences(scenario: Scenario, setting: Mapping[str, Any]) -> tuple[str, ...]:
    """What a scenario has otherwise than all that models have seen, and its setting does not say; a sentence each."""
    known = scenario_of(setting)
    found = dict(_leaves(_plain(scenario)))
    expected = dict(_leaves(_plain(known)))
    jitter, packet = scenario.topology.jitter, known.topology.jitter  # type: ignore[union-attr]
    if abs(jitter - packet) <= _CLOSE * packet:
        found["topology.jitter"] = expected["topology.jitter"]
    names = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
    return tuple(
        f"{name} = {_shown(found.get(name))}; only {_shown(expected.get(name))} was measured" for name in names
    )


def ideal_s(setting: Mapping[str, Any]) -> float:
    """The time that the migrated group's bytes take at the rate, in seconds."""
    return float(setting["migrated_mib"] * 2**20 * 8 / (setting["rate_gbps"] * 1e9))


def _number(scenario: Scenario, group: str) -> int:
    numbers = [number for number, flow in enumerate(scenario.flows) if _group(flow) == group]
    if len(numbers) != 1 or len(scenario.flows) != 2 or scenario.arrivals:
        raise ScenarioError(
            f'flows: a model needs one entry with group "{group}", no others than "migrated" and "main", and no '
            "arrivals",
            "flows",
        )
    return numbers[0]


def _group(flow: Flow) -> str | None:
    return flow.group or flow.name


def _plain(scenario: Scenario) -> dict[str, Any]:
    """The document of a scenario with one way of saying the same, and without what a setting says."""
    whole = scenario.model_dump(mode="json", by_alias=True)
    for name in _UNHEARD:
        whole.pop(name)
    flows = {group: whole["flows"][_number(scenario, group)] for group in GROUPS}
    names = {scenario.flows[_number(scenario, "migrated")].name, "migrated"}
    for flow in flows.values():
        # Their only way back.
        flow["ack_via"] = flow["ack_via"] or ["bypass"]
        flow["start"] = " to ".join(flow["start"]["uniform"]) if "uniform" in flow["start"] else str(flow["start"])
        for said in ("name", "group", "size", "count"):
            flow.pop(said)
        variant = flow["variant"]
        flow["variant"] = {} if isinstance(variant, str) else {k: v for k, v in variant.items() if k != "name"}
    whole["flows"] = flows
    line = whole["timelines"][0]
    moved = {name for name in [line.pop("group"), *line.pop("flows")] if name}
    line["moves"] = "migrated" if moved <= names else " ".join(sorted(moved))
    for said in ("name", "period", "night", "start", "downtime"):
        line.pop(said)
    for said in ("rate", "rtt", "queue"):
        whole["topology"].pop(said)
    whole["stack"].pop("hz")
    whole["stack"].pop("preset")
    return whole


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if items is None:
        yield path, value
        return
    for key, part in items:
        yield from _leaves(part, f"{path}.{key}" if path else str(key))


def _shown(value: Any) -> str:
    return "nothing" if value is None else f'"{value}"' if isinstance(value, str) else str(value).lower()
