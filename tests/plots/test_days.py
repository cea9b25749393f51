"""Day and night are where the gates are: of every ready schedule, circuit and program, in the table and in the figure.

Where circuits are open is found without the names of phases: from the packets that cross them, and from the gates that
the plan's actions leave open, of links that the topology calls circuits.
"""

from collections import defaultdict

import matplotlib.colors
import polars as pl
import pytest
from ready_files import ROOT

import daybreak
from daybreak import plots
from daybreak.figures.style import DAY, NIGHT
from daybreak.metrics import phases
from daybreak.plan import types as plan
from daybreak.scenario import Scenario
from daybreak.scenario.lowering import lower
from daybreak.scenario.schedules import REGISTRY

RACKS = {
    "kind": "hybrid", "racks": 4, "hosts": 1, "host_rate": "40 Gbit/s", "host_delay": "1 us",
    "packet_rate": "10 Gbit/s", "packet_delay": "5 us", "circuit_rate": "40 Gbit/s", "circuit_delay": "5 us",
    "voq": "32 packets",
}  # fmt: skip
LEAVES = {
    "kind": "leaf_spine", "leaves": 4, "spines": 3, "hosts_per_leaf": 1, "rate": "1 Gbit/s", "delay": "2 us",
    "queue": "30 packets", "direct": [[0, 1], [1, 2], [3, 0]],
}  # fmt: skip
PARALLEL = {
    "kind": "parallel_links", "pairs": 3, "access_rate": "1 Gbit/s",
    "between": [{"name": name, "rate": "1 Gbit/s", "delay": "2 us", "queue": "20 packets"} for name in ("c1", "c2")],
}  # fmt: skip
END_NS = 12_000_000
WEEK = {"day": "180 us", "night": "20 us"}
RESIZE = {"limit": "50 packets", "before": "70 us"}
STROBE = WEEK | {"kind": "strobe"}
ROTOR = WEEK | {"kind": "rotor"}
TURNS = {"kind": "direct_turns", "turn": "400 us"}
CIRCUIT = {"kind": "circuit", "day": "300 us", "night": "100 us"}


def _gate(kind, queue, link):
    return {"kind": f"{kind}_gate", "queue": queue, "link": link}


# A packet network that serves a VOQ whenever the circuit does not, day and night.
PROGRAM = {
    "kind": "program", "period": "500 us", "steps": [
        {"at": "0 us", "do": [_gate("close", "voq-0-1", "circuit-0-1")]},
        {"at": "100 us", "do": [_gate("close", "voq-0-1", "packet-0"), _gate("open", "voq-0-1", "circuit-0-1")]},
        {"at": "300 us", "do": [_gate("close", "voq-0-1", "circuit-0-1"), _gate("open", "voq-0-1", "packet-0")]},
    ],
}  # fmt: skip

CASES = {
    "strobe": (RACKS, {"schedule": STROBE}),
    "strobe of more racks": (
        RACKS, {"schedule": STROBE | {"as_racks": 7, "announce": {}, "resize": RESIZE}},
    ),
    "strobe of two racks": (RACKS | {"racks": 2}, {"schedule": STROBE}),
    "strobe without nights": (RACKS, {"schedule": STROBE | {"night": "0 us"}}),
    "rotor": (RACKS, {"schedule": ROTOR | {"switches": 2}}),
    "staggered rotor": (RACKS, {"schedule": ROTOR | {"switches": 2, "staggered": True}}),
    "rotor beside a packet network": (RACKS, {"schedule": ROTOR | {"switches": 1, "packet_network": True}}),
    "direct_turns": (LEAVES, {"schedule": TURNS}),
    "direct_turns with nights": (LEAVES, {"schedule": TURNS | {"night": "50 us"}}),
    "direct_turns in the dark": (LEAVES, {"schedule": TURNS | {"night": "50 us", "downtime": "hold"}}),
    "circuit": (PARALLEL, {"timelines": [CIRCUIT | {"matchings": ["c1", ["c1", "c2"], "c1", [], "c2"]}]}),
    "circuit from later on": (PARALLEL, {"timelines": [CIRCUIT | {"matchings": ["c1", "c2"], "start": "1 ms"}]}),
    "program": (RACKS, {"timelines": [PROGRAM]}),
}  # fmt: skip


def flows(topology):
    """Datagrams between all hosts, so that there is always one for every circuit."""
    sends = {"application": {"kind": "constant_rate", "rate": "400 Mbit/s", "payload": "1000 bytes"}}
    hosts = {
        "hybrid": [f"host-{rack}-0" for rack in range(topology.get("racks", 0))],
        "leaf_spine": [f"host-{leaf}" for leaf in range(topology.get("leaves", 0))],
    }.get(topology["kind"])
    if hosts:
        return [{"from": a, "to": b} | sends for a in hosts for b in hosts if a != b]
    return [
        {"from": f"sender-{k}", "to": f"receiver-{k}", "via": via, "ack_via": "c1.back"} | sends
        for k, via in enumerate(("c1", "c2", "c1"))
    ]


def is_circuit(link):
    return link.startswith(("circuit-", "direct-")) or link in ("c1", "c2")


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """The run, the circuits that its steps leave open as [(time_ns, names)], and the packets on circuits."""
    topology, more = CASES[request.param]
    document = {
        "name": "days", "duration": "12 ms", "stop": "duration", "topology": topology, "flows": flows(topology),
    }  # fmt: skip
    scenario = Scenario.parse(document | more)
    links = sorted(names(content := lower(scenario, 1).content, gates(content)))
    run = daybreak.run(scenario.with_({"records": {"packets": links, "bins": "10 us"}}))
    return run, opened(content, run), run.packets


def gates(content):
    """The gates that programs change."""
    return {
        (one.queue, one.link)
        for line in content.timelines for step in line.steps for one in step.actions
        if isinstance(one, plan.OpenGate | plan.CloseGate)
    }  # fmt: skip


def opened(content, run):
    """The circuits with an open gate from each step's time on, all timelines together, by replaying their actions."""
    open_gates = gates(content)
    found = {0: names(content, open_gates)}
    for time, timeline, step in run.circuits.select("time_ns", "timeline", "step").iter_rows():
        for one in content.timelines[timeline].steps[step].actions:
            if isinstance(one, plan.OpenGate):
                open_gates.add((one.queue, one.link))
            elif isinstance(one, plan.CloseGate):
                open_gates.discard((one.queue, one.link))
        found[time] = names(content, open_gates)
    return sorted(found.items())


def names(content, gates):
    return frozenset(content.links[link].name for _, link in gates if is_circuit(content.links[link].name))


def test_every_ready_schedule_has_a_case():
    kinds = {more["schedule"]["kind"] for _, more in CASES.values() if "schedule" in more}
    assert kinds == {schedule.model_fields["kind"].default for schedule in REGISTRY}


def test_the_table_says_night_while_no_circuit_is_open_and_one_name_for_each_matching(case):
    run, states, _ = case
    at = dict(states)
    by_name = defaultdict(set)
    for time, phase in run.circuits.select("time_ns", "phase").iter_rows():
        by_name[phase].add(at[time])
    assert by_name.pop("night", {frozenset()}) == {frozenset()}
    assert all(len(sets) == 1 for sets in by_name.values()), by_name
    assert len({next(iter(sets)) for sets in by_name.values()} - {frozenset()}) == len(by_name)
    for steps in run.circuits.partition_by("timeline"):
        assert steps["phase"][:-1].to_list() == steps["before"][1:].to_list()


def test_packets_cross_circuits_by_day_and_never_by_night(case):
    run, _, packets = case
    name = run.circuits["timeline_name"][-1]
    found = phases.intervals(run.circuits, timeline=name)
    crossed = packets.sort("time_ns").join_asof(
        found.select("phase", pl.col("start_ns").cast(pl.UInt64)).sort("start_ns"),
        left_on="time_ns", right_on="start_ns",
    )  # fmt: skip
    seen = set(crossed["phase"])
    assert "night" not in seen
    assert seen == set(found["phase"]) - {"night"}
    # No phase is there twice in a row.
    assert (found["phase"] != found["phase"].shift(1)).fill_null(True).all()


@pytest.mark.parametrize("fold", [None, "week"])
def test_the_figure_shades_the_nights_and_a_day_of_the_flow(case, fold):
    run, states, packets = case
    name = run.circuits["timeline_name"][-1]
    flow = packets["flow_name"].sort()[-1]
    figure = plots.draw([run], what=["throughput"], fold=fold, timeline=name, flows=flow).figure
    steps = run.circuits.filter(pl.col("timeline") == run.circuits["timeline"][-1])
    again = steps.filter(pl.col("step") == steps["step"][0])["time_ns"]
    start, end = (int(again[0]), int(again[1])) if fold else (0, END_NS)
    shown = {DAY: [], NIGHT: []}
    for patch in figure.axes[0].patches:
        left, width = round(patch.get_x() * 1e9), round(patch.get_width() * 1e9)
        shown[matplotlib.colors.to_hex(patch.get_facecolor())].append((left + start, left + width + start))
    label = next(text.get_text() for text in figure.legends[0].get_texts() if text.get_text().startswith("day"))
    shaded = set(label.partition("(")[2].rstrip(")").split(" + "))
    crossed = set(packets.filter(pl.col("flow_name") == flow)["link_name"])
    assert shaded <= crossed
    ends = [*(time for time, _ in states[1:]), END_NS]
    times = [(max(time, start), min(until, end), up) for (time, up), until in zip(states, ends, strict=True)]
    open_times = [one for one in times if one[0] < one[1]]
    assert merged(shown[NIGHT]) == merged([(low, high) for low, high, up in open_times if not up])
    days = [(low, high) for low, high, up in open_times if up & crossed == shaded]
    assert merged(shown[DAY]) == merged(days)


def test_a_circuit_from_later_on_is_one_timeline_and_is_shaded_unasked():
    topology, more = CASES["circuit from later on"]
    document = {"name": "later", "duration": "3 ms", "stop": "duration", "topology": topology, "flows": flows(topology)}
    run = daybreak.run(Scenario.parse(document | more | {"records": {"bins": "10 us"}}))
    assert run.circuits["timeline_name"].unique().to_list() == ["circuit-0"]
    drawn = plots.draw([run], what=["throughput"])
    assert not any("days and nights" in note for note in drawn.notes)
    nights = [
        (round(patch.get_x() * 1e6), round((patch.get_x() + patch.get_width()) * 1e6))
        for patch in drawn.figure.axes[0].patches
        if matplotlib.colors.to_hex(patch.get_facecolor()) == NIGHT
    ]
    assert nights == [(0, 1000), (1300, 1400), (1700, 1800), (2100, 2200), (2500, 2600), (2900, 3000)]
    # The week that is folded begins with the circuit's start.
    folded = plots.draw([run], what=["throughput"], fold="week").figure
    assert folded.axes[0].get_xlim() == pytest.approx((0, 8e-4))
    # A run that ends before the circuit's second day does not know how long its first one is.
    first = run.circuits.filter(pl.col("time_ns") <= 1_000_000)
    assert phases.intervals(first, timeline="circuit-0").rows() == [("night", 0, 1_000_000), ("day 0", 1_000_000, None)]


def test_packets_cross_a_controllers_circuit_by_day_and_never_by_night():
    scenario = daybreak.load(ROOT / "scenarios/10-offload.toml")
    run = daybreak.run(scenario.with_({"records.packets": ["circuit"], "duration": "20 ms"}))
    found = phases.of_controller(run.control).select("phase", pl.col("start_ns").cast(pl.UInt64), "end_ns")
    assert found["phase"].unique().sort().to_list() == ["day 0", "night"]
    crossed = run.packets.join_asof(found, left_on="time_ns", right_on="start_ns")
    assert crossed["phase"].unique().to_list() == ["day 0"]
    # Each day begins with the first packet that has waited for it.
    days = found.filter(pl.col("phase") == "day 0")
    first = crossed.group_by("start_ns").agg(pl.col("time_ns").min())
    assert len(first) == len(days) > 1


def merged(spans):
    """Spans that touch put together."""
    found = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found
